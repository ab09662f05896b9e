"""`forthwith personal demo`: verified records from a fresh synthetic world, one of each kind shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forthwith.cli.personal.receipt import print_receipt

__all__ = ["demo"]


def demo(
    out: Annotated[Path | None, typer.Option(help="Keep world, knowledge base and records in this folder.")] = None,
    states: Annotated[int, typer.Option(min=1, help="How many records.")] = 200,
    seed: Annotated[int, typer.Option(help="Everything follows from it.")] = 20_260_930,
    page: Annotated[Path | None, typer.Option(help="Also write one record as a Markdown page.")] = None,
    record: Annotated[str | None, typer.Option(help="Which record that is, by its id.")] = None,
    whole: Annotated[  # noqa: FBT002
        bool, typer.Option("--whole", help="Show whole states, not only lines around the evidence.")
    ] = False,
) -> None:
    """Make verified records of an invented world and show one of each kind with its evidence marked."""
    import json
    import tempfile

    from rich.console import Console

    from forthwith.cli.personal.record_view import show_question
    from forthwith.personal.benchmark_record import benchmark_record
    from forthwith.personal.demo import make_demo
    from forthwith.personal.evidence import record_page

    console = Console(highlight=False, width=None if Console().is_terminal else 110)
    with tempfile.TemporaryDirectory() as scratch:
        made = make_demo(out or scratch, states=states, seed=seed, on_step=console.print)
    for family in made.families():
        if (pair := made.one_of(family)) is not None:
            show_question(console, *pair, family, whole=whole)
    if page is not None:
        page.write_text(record_page(*made.pair(record)), encoding="utf-8")
    if out is not None:
        lines = (json.dumps(benchmark_record(*pair), ensure_ascii=False) + "\n" for pair in made.pairs)
        (out / "demo.jsonl").write_text("".join(lines), encoding="utf-8")
    print_receipt(
        {
            "verified": len(made.pairs),
            "dropped": made.dropped,
            "questions": sum(len(draft.fragments) for draft, _ in made.pairs),
            "seconds": round(sum(made.seconds.values()), 1),
            "records": None if out is None else str(out / "demo.jsonl"),
        }
    )
