"""Evaluations on disk to pages on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from forthwith.errors import ArtifactError
from forthwith.evaluation.document import read_evaluation
from forthwith.evaluation.gates import GateReport
from forthwith.evaluation.report.build import report_page
from forthwith.evaluation.report.leaderboard import leaderboard_page
from forthwith.evaluation.report.markdown import render_markdown
from forthwith.evaluation.report.page import render_leaderboard, render_report

__all__ = ["write_leaderboard", "write_report"]

GATE_NAME = "gate.json"


def write_report(folder: str | Path, *, title: str | None = None) -> tuple[Path, Path]:
    """Write `report.html` and `report.md` beside an evaluation, and return their paths; `gate.json` there is shown too.

    Raises:
        ArtifactError: the folder holds no evaluation, or a gate.json that is no verdict.
    """
    page = report_page(read_evaluation(folder), gate=_gate(Path(folder) / GATE_NAME), title=title)
    html, markdown = Path(folder) / "report.html", Path(folder) / "report.md"
    html.write_text(render_report(page), encoding="utf-8")
    markdown.write_text(render_markdown(page), encoding="utf-8")
    return html, markdown


def _gate(path: Path) -> GateReport | None:
    if not path.exists():
        return None
    try:
        return GateReport.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ArtifactError(f"{path} cannot be read as a gate's verdict: {error}") from error


def write_leaderboard(folders: Sequence[str | Path], out: str | Path, *, title: str = "Leaderboard") -> Path:
    """Write one page over the evaluations of many folders, and return its path.

    Raises:
        ArtifactError: a folder holds no evaluation.
        ConfigError: two different models of one data set share a name.
    """
    page = leaderboard_page([read_evaluation(folder) for folder in folders], title=title)
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_leaderboard(page), encoding="utf-8")
    return path
