"""`forthwith report`: pages from evaluations that are on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    folders: Annotated[list[Path], typer.Argument(help="Folders that forthwith evaluate has made.")],
    out: Annotated[Path | None, typer.Option(help="Page of the leaderboard. Default: leaderboard.html.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
) -> None:
    """Write the report of one evaluation (DIR/report.html and .md), or one leaderboard over several."""
    from forthwith.evaluation.report import write_leaderboard, write_report

    if len(folders) == 1 and out is None:
        for path in write_report(folders[0], title=title):
            typer.echo(str(path))
        return
    typer.echo(str(write_leaderboard(folders, out or Path("leaderboard.html"), title=title or "Leaderboard")))
