"""Take the picture of the playground: `python docs/picture.py http://127.0.0.1:8000 docs/images/playground.png`.

Needs selenium, Chromium and a running `forthwith serve`. The picture is taken when every question of the example has its answer.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

WIDTH = 1280
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={WIDTH},1000")


def main(url: str, out: Path) -> None:
    """Open the page, wait for its answers, and write the picture."""
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={tempfile.mkdtemp()}"):
        options.add_argument(flag)
    page = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver") or ""))
    try:
        page.get(url)
        cards = "document.querySelectorAll('.outcome').length"
        answered = "document.querySelectorAll('.outcome:not([hidden])').length"
        WebDriverWait(page, 120).until(lambda p: p.execute_script(f"return {cards} > 0 && {cards} === {answered}"))
        page.find_element(By.TAG_NAME, "body").click()
        height = page.execute_script("return document.documentElement.scrollHeight")
        page.set_window_size(WIDTH, min(int(height) + 90, 1500))
        out.write_bytes(page.get_screenshot_as_png())
    finally:
        page.quit()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
