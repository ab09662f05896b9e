"""The page in a real Chromium, against a real server process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from serving_process import RunningServer

from forthwith.serving.keys import new_key

pytestmark = pytest.mark.browser

pytest.importorskip("selenium")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--window-size=1380,1080",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Generator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = shutil.which("chromedriver")
    assert driver is not None
    service = webdriver.ChromeService(executable_path=driver)
    chromium = webdriver.Chrome(options=options, service=service)
    yield chromium
    chromium.quit()


@pytest.fixture
def page(browser: webdriver.Chrome, server: RunningServer) -> webdriver.Chrome:
    browser.get(server.url)
    browser.execute_script("localStorage.clear()")
    browser.refresh()
    answered(browser)
    return browser


def wait(page: webdriver.Chrome, holds: Callable[[webdriver.Chrome], Any]) -> Any:
    return WebDriverWait(page, 10, poll_frequency=0.05).until(holds)


def answered(page: webdriver.Chrome, questions: int = 3) -> None:
    wait(page, lambda p: len(p.find_elements(By.CSS_SELECTOR, ".outcome:not([hidden])")) == questions)


def shares(page: webdriver.Chrome, card: int) -> list[str]:
    return [e.text for e in page.find_elements(By.CSS_SELECTOR, f".question:nth-child({card}) .share")]


def css(page: webdriver.Chrome, selector: str) -> Any:
    return page.find_element(By.CSS_SELECTOR, selector)


def test_the_first_example_is_answered_at_once(page: webdriver.Chrome) -> None:
    first = shares(page, 1)
    assert len(first) == 4
    assert sum(float(share.removesuffix(" %")) for share in first) == pytest.approx(100, abs=0.3)
    assert css(page, ".verdict").text in ("automate", "ask")
    assert css(page, "#model-name").text.startswith("tiny · ")
    assert css(page, "#calibrated").text.endswith("calibrated")
    assert "tokens" in css(page, "#status").text


def test_distributions_move_as_the_state_is_typed(page: webdriver.Chrome) -> None:
    before = [shares(page, card) for card in (1, 2, 3)]
    css(page, "#state").send_keys(" changed")
    wait(page, lambda p: all(shares(p, card) != before[card - 1] for card in (1, 2, 3)))


def test_a_question_is_added_filled_and_answered_by_keyboard_alone(page: webdriver.Chrome) -> None:
    css(page, "#add-choice").send_keys(Keys.ENTER)
    typing = page.switch_to.active_element
    assert "instructions" in typing.get_attribute("class")
    typing.send_keys("Which way?", Keys.TAB)
    page.switch_to.active_element.send_keys("left", Keys.ENTER)
    page.switch_to.active_element.send_keys("right", Keys.ENTER)  # Enter on the last option adds another
    page.switch_to.active_element.send_keys("back")
    answered(page, 4)
    assert len(shares(page, 4)) == 3
    wait(page, lambda p: "choice_1: " in css(p, "#spoken").get_attribute("textContent"))
    assert css(page, ".question:nth-child(4) .name").get_attribute("value") == "choice_1"


def test_incomplete_questions_say_what_is_missing_and_do_not_stop_the_others(page: webdriver.Chrome) -> None:
    css(page, "#add-score").click()
    css(page, ".question:nth-child(4) .instructions").send_keys("How far?")
    wait(page, lambda p: css(p, ".question:nth-child(4) .problem").text == "Describe two levels or more.")
    before = shares(page, 1)
    css(page, "#state").send_keys("more")
    wait(page, lambda p: shares(p, 1) != before)


@pytest.mark.parametrize("title", ["Support ticket", "Tool call", "Personal agent"])
def test_examples_load_and_are_answered(page: webdriver.Chrome, title: str) -> None:
    page.find_element(By.XPATH, f"//button[text()='{title}']").click()
    answered(page, 2 if title == "Tool call" else 3)
    assert css(page, "#state-kind").text == "JSON"


def test_an_example_names_families_until_its_question_is_changed(page: webdriver.Chrome) -> None:
    page.find_element(By.XPATH, "//button[text()='Personal agent']").click()
    wait(page, lambda p: '"x_family": "needs_approval"' in css(p, "#snippet").text)
    css(page, ".question:nth-child(1) .instructions").send_keys("?")
    wait(page, lambda p: '"x_family": "needs_approval"' not in css(p, "#snippet").text)
    assert '"x_family": "apply_memory"' in css(page, "#snippet").text


def test_questions_and_options_can_be_removed(page: webdriver.Chrome) -> None:
    css(page, ".question:nth-child(1) .option:nth-child(2) .remove-option").click()
    wait(page, lambda p: len(shares(p, 1)) == 3 and all(shares(p, 1)))
    css(page, ".question:nth-child(1) .remove").click()
    answered(page, 2)


def test_the_request_is_shown_as_code_that_runs(page: webdriver.Chrome, server: RunningServer, tmp_path: Path) -> None:
    import subprocess

    css(page, "#state").clear()
    css(page, "#state").send_keys('it\'s quoted \\ and "so"')
    wait(page, lambda p: "quoted" in css(p, "#snippet").text)
    curl = css(page, "#snippet").text
    ran = subprocess.run(["sh", "-c", f"exec {curl}"], capture_output=True, text=True, check=True)
    assert '"queue":{"type":"choice"' in ran.stdout
    css(page, "#tab-python").click()
    python = css(page, "#snippet").text
    compile(python, "snippet", "exec")
    assert server.url in python
    css(page, "#tab-python").send_keys(Keys.ARROW_RIGHT)
    assert page.switch_to.active_element.get_attribute("id") == "tab-javascript"
    module = tmp_path / "snippet.mjs"
    module.write_text(css(page, "#snippet").text)
    if shutil.which("node"):
        subprocess.run(["node", "--check", str(module)], check=True)


def test_light_and_dark_both_reach_readable_contrast(page: webdriver.Chrome) -> None:
    for theme in ("light", "dark"):
        Select(css(page, "#theme")).select_by_value(theme)
        for selector in ("#state", "#state-help", ".instructions", ".option-text", ".verdict", "#snippet", ".kind"):
            assert page.execute_script(CONTRAST, css(page, selector)) >= 4.5, (theme, selector)
    page.refresh()
    assert css(page, "html").get_attribute("data-theme") == "dark"


def test_every_control_has_a_name(page: webdriver.Chrome) -> None:
    nameless = page.execute_script(
        """return [...document.querySelectorAll('input, textarea, select, button, summary, meter')].filter((e) =>
             e.checkVisibility() && !e.textContent.trim() && !(e.labels && [...e.labels].some((l) => l.textContent.trim()))
             && !e.getAttribute('aria-label')).map((e) => e.outerHTML)"""
    )
    assert nameless == []


def test_server_messages_reach_the_page(page: webdriver.Chrome) -> None:
    css(page, "#state").clear()
    page.execute_script(
        "const s = document.getElementById('state'); s.value = 'word '.repeat(9000); s.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    wait(page, lambda p: "the model reads at most" in css(p, "#problem").text)


def test_a_key_is_asked_for_where_one_is_needed(
    browser: webdriver.Chrome, start_server: Callable[..., RunningServer]
) -> None:
    key, lines = new_key("alice")
    server = start_server(keys=[{"name": "alice", "sha256": lines.split('"')[3]}])
    browser.get(server.url)
    wait(browser, lambda p: css(p, "#key").is_displayed())
    css(browser, "#key").send_keys(key)
    answered(browser)
    assert "$TYPESAFE_API_KEY" in css(browser, "#snippet").text
    assert key not in css(browser, "#snippet").text


def test_the_page_asks_nobody_else_and_complains_of_nothing(page: webdriver.Chrome, server: RunningServer) -> None:
    import json

    page.get_log("performance")
    page.get_log("browser")
    page.get(server.url)
    answered(page)
    sent = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    urls = {m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"}
    assert urls
    assert all(url.startswith((server.url, "data:")) for url in urls), urls
    assert [entry for entry in page.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")] == []


CONTRAST = """
const parse = (text) => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const light = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
let node = arguments[0], ground = null;
while (node && !ground) {
  const colour = parse(getComputedStyle(node).backgroundColor);
  if (colour[3] === 255) ground = colour;
  node = node.parentElement;
}
const [a, b] = [light(parse(getComputedStyle(arguments[0]).color)), light(ground ?? [255, 255, 255])].sort((x, y) => y - x);
return (a + 0.05) / (b + 0.05);
"""
