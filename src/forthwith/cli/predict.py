"""`forthwith predict`: a file of records to a file of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forthwith.cli.model_options import Adapter, CacheDir, Device, ModelName, Precision, Readout, Tokenizer, load

__all__ = ["predict"]


def predict(
    data: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="Records: JSONL, JSONL.gz or Parquet.")],
    out: Annotated[Path, typer.Option(help="Prediction file; begun or gone on with.")],
    model: ModelName = None,
    adapter: Adapter = None,
    readout: Readout = None,
    device: Device = None,
    precision: Precision = None,
    cache_dir: CacheDir = None,
    tokenizer: Tokenizer = None,
    batch_tokens: Annotated[int, typer.Option(min=1, help="Most tokens decided together.")] = 16_384,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after this many records.")] = None,
    keep_going: Annotated[  # noqa: FBT002
        bool, typer.Option("--keep-going", help="List records that cannot be answered instead of stopping.")
    ] = False,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Requests in flight. Default: 1, remote 4.")] = None,
    usd_per_million_tokens: Annotated[float | None, typer.Option(min=0, help="Price, to tell the cost.")] = None,
) -> None:
    """Answer every question of a file, one JSON line each, before temperature.

    Stop it at any moment and run it again: it goes on from there, and asks no question twice. OUT.meta.json says which
    data and which model the lines belong to.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from forthwith.evaluation.predict import PredictOptions, PredictProgress
    from forthwith.evaluation.predict import predict as run

    decider = load(model, adapter, readout, None, device, precision, cache_dir, tokenizer)
    options = PredictOptions(
        batch_tokens=batch_tokens,
        limit=limit,
        keep_going=keep_going,
        concurrency=concurrency,
        usd_per_million_tokens=usd_per_million_tokens,
    )
    total = _record_count(data)
    total = total if limit is None or total is None else min(limit, total)
    columns = (
        TextColumn("records"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[questions]} questions"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True, highlight=False)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("records", total=total, questions=0)

        def show(done: PredictProgress) -> None:
            progress.update(task, completed=done.records, questions=done.questions)

        meta = run(data, decider, out, options=options, on_progress=show)
    for refusal in meta.refusals:
        typer.echo(f"no answer: {refusal.where}: {refusal.reason}", err=True)
    cost = "" if meta.cost_usd is None else f", {meta.cost_usd:.4f} USD"
    typer.echo(
        f"{out}: {meta.questions} questions of {meta.records} records, {meta.refused} without an answer, "
        f"{meta.input_tokens} tokens ({meta.cached_tokens} cached){cost}, {meta.seconds:.1f} s"
    )


def _record_count(data: Path) -> int | None:
    """Number of lines, where that is cheap to know."""
    if data.suffix == ".gz" or not data.is_file():
        return None
    if data.suffix == ".parquet":
        from pyarrow.parquet import ParquetFile  # pyright: ignore[reportUnknownVariableType]

        return int(ParquetFile(data).metadata.num_rows)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    with data.open("rb") as file:
        return sum(1 for line in file if line.strip())
