"""The documents say what the stored results say."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_tables_and_pictures_are_made_from_the_stored_results() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/results.py", "check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_changed_number_is_noticed(tmp_path) -> None:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import results
    finally:
        sys.path.pop(0)
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- results:public -->\n| 0.999 |\n<!-- /results -->\nafter\n", encoding="utf-8")
    made = results.documents([page])[page]
    assert "0.999" not in made
    assert "macro accuracy" in made
    assert made.startswith("before\n")
    assert made.endswith("after\n")
