"""The page about an evaluation: complete, self-contained, escaped; and seen in a real browser, light and dark."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from forthwith.evaluation.document import Evaluation
from forthwith.evaluation.report.build import report_page
from forthwith.evaluation.report.leaderboard import leaderboard_page
from forthwith.evaluation.report.page import render_leaderboard, render_report


@pytest.fixture(scope="module")
def html(evaluation: Evaluation) -> str:
    return render_report(report_page(evaluation))


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(tag, value or "") for name, value in attrs if name in ("src", "href", "srcset", "action")]


def test_nothing_is_fetched_when_the_page_is_read(html: str) -> None:
    links = Links()
    links.feed(html)
    assert all(value.startswith(("#", "data:")) for _, value in links.found)
    assert "http" not in re.sub(r'http-equiv="[^"]+"', "", html)
    assert "@import" not in html
    assert "url(" not in html
    assert len(html) < 500_000


def test_text_from_records_cannot_become_markup(html: str) -> None:
    assert "<script>alert(1)</script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in html
    assert "Which &lt;i&gt;one&lt;/i&gt;?" in html
    assert "strong &amp; tuned" in html


def test_numbers_are_those_of_the_evaluation(html: str, evaluation: Evaluation) -> None:
    report = evaluation.models[0].report
    assert f"{100 * (report.macro.accuracy or 0):.1f} %" in html
    assert f"{100 * evaluation.comparisons[0].macro.difference:+.1f}" in html
    for scores in report.families.values():
        assert f"{scores.nll:.3f}" in html
    assert evaluation.data_sha256 in html
    assert html.count('class="error"') == len(report.worst_errors)


def test_equal_evaluations_give_equal_pages(evaluation: Evaluation, html: str) -> None:
    again = Evaluation.model_validate_json(evaluation.model_dump_json())
    assert render_report(report_page(again)) == html


def test_a_single_model_without_thresholds_gets_a_page_too(evaluation: Evaluation) -> None:
    alone = evaluation.model_copy(update={"models": evaluation.models[1:], "comparisons": [], "texts": []})
    html = render_report(report_page(alone, title="Only one"))
    assert "<h1>Only one</h1>" in html
    assert "Paired differences" not in html
    assert "Could be automated" in html


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(html: str, tmp_path: Path, chromium: Any, scheme: str) -> None:
    path = tmp_path / "report.html"
    path.write_text(html, encoding="utf-8")
    chromium.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    chromium.get_log("performance")
    chromium.get(path.as_uri())

    assert chromium.get_log("browser") == []
    requests = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    urls = [entry["params"]["request"]["url"] for entry in requests if entry["method"] == "Network.requestWillBeSent"]
    assert [url for url in urls if not url.startswith(("file:", "data:"))] == []

    background = chromium.execute_script("return getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in re.findall(r"\d+", background)[:3]) / 3
    assert brightness > 200 if scheme == "light" else brightness < 60
    faint = chromium.execute_script(CONTRAST)
    assert faint == []
    assert chromium.execute_script("return document.documentElement.scrollWidth") <= 1200
    visible = chromium.execute_script(
        "return [...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().width > 200).length"
    )
    assert visible >= 5


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_leaderboard_in_a_browser(evaluation: Evaluation, tmp_path: Path, chromium: Any, scheme: str) -> None:
    path = tmp_path / "board.html"
    path.write_text(render_leaderboard(leaderboard_page([evaluation])), encoding="utf-8")
    chromium.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    chromium.get(path.as_uri())
    assert chromium.get_log("browser") == []
    assert chromium.execute_script(CONTRAST) == []
    assert len(chromium.find_elements("css selector", "svg .dot")) == 2


@pytest.mark.browser
def test_the_controls_of_the_page(html: str, tmp_path: Path, chromium: Any) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    path = tmp_path / "report.html"
    path.write_text(html, encoding="utf-8")
    chromium.get(path.as_uri())
    theme = chromium.find_element(By.CSS_SELECTOR, "button.theme")
    theme.click()
    theme.click()
    assert theme.text == "Theme: dark"
    assert chromium.execute_script("return document.documentElement.dataset.theme") == "dark"

    chooser = Select(chromium.find_element(By.CSS_SELECTOR, "select.families"))
    chooser.select_by_visible_text("pick")
    shown = [
        e.get_attribute("data-family") for e in chromium.find_elements(By.CSS_SELECTOR, ".error") if e.is_displayed()
    ]
    assert set(shown) == {"pick"}

    table = chromium.find_element(By.CSS_SELECTOR, "#families ~ .card table.sortable")
    heads = table.find_elements(By.CSS_SELECTOR, "thead th button")
    place = [head.text for head in heads].index("accuracy")
    heads[place].click()
    values = [
        float(cell.get_attribute("data-value"))
        for cell in table.find_elements(By.CSS_SELECTOR, f"tbody td:nth-child({place + 1})")
        if cell.get_attribute("data-value")
    ]
    assert values == sorted(values, reverse=True)

    chromium.set_window_size(400, 900)
    assert chromium.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    chromium.set_window_size(1200, 1600)


# Text whose contrast with what lies behind it is below 4.5 : 1 (3 : 1 if large), by the formulas of WCAG 2.
CONTRAST = """
const rgb = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; })
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const over = (top, under) => { const a = top.length > 3 ? top[3] : 1; return [0, 1, 2].map(i => top[i] * a + under[i] * (1 - a)); };
const behind = (e) => { const chain = []; for (let n = e; n; n = n.parentElement) chain.push(rgb(getComputedStyle(n).backgroundColor));
  return chain.reverse().reduce((under, top) => over(top, under), [255, 255, 255]); };
const faint = [];
for (const e of document.querySelectorAll("main *, header *")) {
  if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
  if (["title", "desc", "TITLE", "OPTION"].includes(e.tagName) || !e.getClientRects().length) continue;
  const style = getComputedStyle(e);
  const ink = light(rgb(e.closest("svg") ? style.fill : style.color)), ground = light(behind(e));
  const ratio = (Math.max(ink, ground) + .05) / (Math.min(ink, ground) + .05);
  const large = parseFloat(style.fontSize) >= 24;
  if (ratio < (large ? 3 : 4.5)) faint.push([e.tagName, e.textContent.slice(0, 30), ratio.toFixed(2)].join(" "));
}
return [...new Set(faint)].slice(0, 12);
"""
