"""What the pages show, run: Python with the default model, JSON through the parser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from forthwith.schema import Request, parse_json, parse_record, parse_request

ROOT = Path(__file__).parents[1]
PAGES = [page for page in (ROOT / "README.md", ROOT / "docs" / "tutorial.md") if page.is_file()]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in _BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


def is_request(value: object) -> bool:
    return isinstance(value, dict) and "questions" in value


def test_the_tutorial_shows_python_and_json() -> None:
    tutorial = ROOT / "docs" / "tutorial.md"
    assert blocks(tutorial, "python")
    assert blocks(tutorial, "json")


@pytest.mark.default_model
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_on_a_page_runs(page: Path) -> None:
    names: dict[str, Any] = {}
    for number, code in enumerate(blocks(page, "python"), start=1):
        exec(compile(code, f"{page.name}, block {number}", "exec"), names)
    if "decision" in names:
        answers = names["decision"].answers.values()
        assert all(answer.probabilities.sum() == pytest.approx(1.0) for answer in answers)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_json_on_a_page_is_json_and_its_requests_are_requests(page: Path) -> None:
    for text in blocks(page, "json"):
        value = parse_json(text)
        if is_request(value):
            assert isinstance(value, dict)
            assert isinstance(parse_request(value), Request)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.json")), ids=lambda path: path.name)
def test_example_files_are_records(path: Path) -> None:
    value = parse_json(path.read_bytes())
    assert isinstance(value, dict)
    assert parse_record(value).questions
