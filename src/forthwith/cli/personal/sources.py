"""`forthwith personal sources`: public files fetched, checked and turned into tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forthwith.cli.personal.receipt import print_receipt

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["app"]

app = typer.Typer(help="Public files: list, download, verify, and turn into tables.", no_args_is_help=True)

Raw = Annotated[Path, typer.Option(help="The folder of raw files.")]
Only = Annotated[list[str] | None, typer.Option("--source", help="Only this source; may be given several times.")]


@app.command("list")
def list_sources() -> None:
    """Show every file, where it comes from, and under which terms."""
    from rich.console import Console
    from rich.table import Table

    from forthwith.personal.sources import licences, load_pins, source_files

    console = Console(highlight=False, width=None if Console().is_terminal else 120)
    pins = load_pins()
    table = Table("file", "pinned SHA-256", "address")
    for file in source_files():
        table.add_row(file.name, pins[file.name].sha256[:12] if file.name in pins else "–", file.url)
    console.print(table)
    for licence in licences():
        console.print(f"{licence.title}: {licence.terms} {licence.redistribution}")


@app.command()
def download(raw: Raw, source: Only = None) -> None:
    """Fetch the files, resuming what is there in part, and check every one against its pin or the lock file."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from forthwith.personal.sources import SOURCES, acquire, load_pins, source_files

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns) as progress:
        acquired = acquire(
            source_files(tuple(source) if source else SOURCES), raw, load_pins(), on_progress=_Bars(progress)
        )
    print_receipt(
        {
            "files": len(acquired),
            "downloaded": sum(file.downloaded for file in acquired),
            "bytes": sum(file.bytes for file in acquired),
            "checked_against": {file.name: file.checked_against for file in acquired},
        }
    )


@app.command()
def verify(raw: Raw, source: Only = None) -> None:
    """Check files that are in place; touches no network."""
    from forthwith.personal.sources import SOURCES, load_pins, source_files, verify_files

    checked = verify_files(source_files(tuple(source) if source else SOURCES), raw, load_pins())
    print_receipt({"files": len(checked), "sha256": {file.name: file.sha256 for file in checked}})


@app.command()
def tables(
    raw: Raw,
    out: Annotated[Path, typer.Option(help="Where the tables go.")],
    source: Only = None,
    amazon_category: Annotated[list[str] | None, typer.Option(help="Only these Amazon categories.")] = None,
    google_state: Annotated[list[str] | None, typer.Option(help="Only these states of Google Local.")] = None,
) -> None:
    """Turn raw files into the normalised tables; a run that was stopped goes on with the next source."""
    from typing import cast

    from rich.console import Console

    from forthwith.personal.sources import SOURCES, SourceOptions, normalise, source_files
    from forthwith.personal.sources.catalogue import AMAZON_CATEGORIES, GOOGLE_STATES, SourceName

    chosen = tuple(source) if source else SOURCES
    source_files(chosen)  # refuses unknown names before any work
    options = SourceOptions(
        sources=cast("tuple[SourceName, ...]", chosen),
        amazon_categories=tuple(amazon_category or AMAZON_CATEGORIES),
        google_states=tuple(google_state or GOOGLE_STATES),
    )
    console = Console(stderr=True, highlight=False)
    stats = normalise(raw, out, options, on_step=console.print)
    print_receipt({"rows": stats["rows"], "sources": stats["sources"]})


class _Bars:
    """One bar a file."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, int] = {}

    def __call__(self, name: str, done: int, total: int | None) -> None:
        from rich.progress import TaskID

        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total)
        self._progress.update(TaskID(self._tasks[name]), completed=done, total=total)
