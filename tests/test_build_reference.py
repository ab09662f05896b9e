from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import forthwith
from forthwith import errors

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_reference", DOCS / "build_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_page_that_the_code_left_behind_is_an_error_that_says_what_to_run(
    reference: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ["--folder", str(tmp_path)]
    assert reference.main(["--check", *folder]) == 1
    assert reference.main(folder) == 0
    assert reference.main(["--check", *folder]) == 0
    page = tmp_path / "errors.md"
    page.write_text(page.read_text().replace("Exit code 3.", "Exit code 5."))
    capsys.readouterr()
    assert reference.main(["--check", *folder]) == 1
    told = capsys.readouterr().err
    assert "-Exit code 5." in told
    assert "run: python docs/build_reference.py" in told


def test_every_public_name_command_and_error_has_its_heading(reference: ModuleType) -> None:
    pages = {page.path: page.text for page in reference.build()}
    for name in forthwith.__all__:
        assert f"\n## {name}\n" in pages["reference/python.md"]
    for name in errors.__all__:
        assert f"\n## {name}\n" in pages["errors.md"]
    for command in ("forthwith decide", "forthwith serve", "forthwith personal sources list"):
        assert f"# {command}\n" in pages["reference/cli.md"]
    assert "\x1b" not in pages["reference/cli.md"]
    assert max(map(len, pages["reference/cli.md"].splitlines())) <= 100


def test_docstring_sections_become_lists_and_examples_code(reference: ModuleType) -> None:
    doc = "What.\n\nArgs:\n    a: one\n        more\n    b: two\n\nExample:\n    x = 1\n\nEnd."
    assert reference.docstring_markdown(doc) == (
        "What.\n\n**Args**\n\n- `a`: one\n  more\n- `b`: two\n\n**Example**\n\n```python\nx = 1\n\n```\n\nEnd."
    )
