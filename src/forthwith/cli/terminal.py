"""How commands print tables: plain rules, and a fixed width where the output is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["new_table", "open_console", "record_counter"]

PIPED_WIDTH = 120


def open_console() -> Console:
    """A console on standard output; as wide as the terminal, or `PIPED_WIDTH` columns."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPED_WIDTH)


def new_table(*heads: str, title: str, text: Collection[int] = (0,)) -> Table:
    """An empty table; the columns in `text` (by place) are flush left, the others hold numbers."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place in text else "right")
    return table


@contextmanager
def record_counter(*, shown: bool) -> Generator[Callable[[], None]]:
    """A call that counts one record; records, speed and time stand on standard error while they are `shown` and it is a terminal."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.completed:.0f} records"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not (shown and console.is_terminal)) as progress:
        task = progress.add_task("records", total=None, rate="")

        def count() -> None:
            progress.advance(task)
            speed = progress.tasks[0].speed
            progress.update(task, rate=f"{speed:.1f}/s" if speed else "")

        yield count
