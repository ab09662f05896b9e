"""Take the picture of the playground: `python docs/picture.py http://127.0.0.1:8000 docs/images/playground.png "Personal agent"`.

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


def main(url: str, out: Path, example: str) -> None:
    """Open the page, choose an example, wait for its answers, and write the picture."""
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={tempfile.mkdtemp()}"):
        options.add_argument(flag)
    page = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver") or ""))
    try:
        page.get(url)
        WebDriverWait(page, 120).until(_is_answered)
        page.find_element(By.XPATH, f"//button[text()={example!r}]").click()
        page.execute_script("document.querySelectorAll('.outcome').forEach((one) => (one.hidden = true))")
        WebDriverWait(page, 120).until(_is_answered)
        page.find_element(By.TAG_NAME, "body").click()
        height = page.execute_script("return document.documentElement.scrollHeight")
        page.set_window_size(WIDTH, min(int(height) + 90, 1500))
        out.write_bytes(page.get_screenshot_as_png())
    finally:
        page.quit()


def _is_answered(page: webdriver.Chrome) -> bool:
    outcomes, shown = ".outcome", ".outcome:not([hidden])"
    counts = [len(page.find_elements(By.CSS_SELECTOR, selector)) for selector in (outcomes, shown)]
    return counts[0] > 0 and counts[0] == counts[1]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
