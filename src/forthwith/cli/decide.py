"""`forthwith decide`: answer the questions of one request, or of every line of a JSONL file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from forthwith.cli.model_options import (
    Adapter,
    CacheDir,
    Calibration,
    Device,
    ModelName,
    Precision,
    Readout,
    Tokenizer,
    load,
)

if TYPE_CHECKING:
    from forthwith.deciding import Decided, Failed
    from forthwith.schema import BadLine, Record

__all__ = ["decide"]

_BATCH_TOKENS = 4096  # small enough that answers come as a stream on a CPU


def decide(
    file: Annotated[
        str, typer.Argument(help="A JSON request, a JSONL file of records (.gz too), or - for standard input.")
    ],
    model: ModelName = None,
    adapter: Adapter = None,
    readout: Readout = None,
    calibration: Calibration = None,
    device: Device = None,
    precision: Precision = None,
    cache_dir: CacheDir = None,
    tokenizer: Tokenizer = None,
    coherent: Annotated[
        float | None,
        typer.Option(min=0.0, help="Ask linked questions too and give the nearest coherent answers, with this weight."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line a record, also on a terminal.")] = False,  # noqa: FBT002
    keep_going: Annotated[  # noqa: FBT002
        bool, typer.Option("--keep-going", help="Report a bad line and go on with the next.")
    ] = False,
) -> None:
    """Answer typed questions about a state.

    On a terminal each distribution is drawn; with --json, and whenever the output is piped, each record gives one JSON line
    whose body is the System One response, extras under x_….
    """
    from forthwith.cli.drawing import draw_decision
    from forthwith.cli.terminal import record_counter
    from forthwith.deciding import CoherentDecider, Failed, decide_stream
    from forthwith.errors import DataError

    plain = as_json or not sys.stdout.isatty()
    records = _records(file)
    decider = load(model, adapter, readout, calibration, device, precision, cache_dir, tokenizer)
    if coherent is not None:
        decider = CoherentDecider(decider, coherent)
    failures = 0
    with record_counter(shown=plain and not sys.stdout.isatty()) as count:
        for outcome in decide_stream(decider, records, keep_going=keep_going, batch_tokens=_BATCH_TOKENS):
            count()
            if isinstance(outcome, Failed):
                failures += 1
                typer.echo(f"error: {outcome.error}", err=True)
            if plain:
                typer.echo(_line(outcome))
            elif not isinstance(outcome, Failed):
                draw_decision(outcome.record, outcome.decision)
    if failures:
        raise DataError(f"{failures} of the records could not be decided; their errors stand above", file)


def _line(outcome: Decided | Failed) -> str:
    """One JSON line: the System One response of a record, or its error."""
    from forthwith.deciding import Failed
    from forthwith.serving.systemone import render_response

    if isinstance(outcome, Failed):
        record = outcome.record.id if outcome.record is not None else None
        body: dict[str, object] = {"error": str(outcome.error), "x_id": record, "x_line": outcome.line}
    else:
        body = {**render_response(outcome.decision, outcome.record.request), "x_id": outcome.record.id}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _records(file: str) -> Iterator[Record | BadLine]:
    from forthwith.schema import iter_records, records_from_stream

    if file == "-":
        return records_from_stream(sys.stdin.buffer, Path("<standard input>"))
    path = Path(file)
    if path.suffix in (".gz", ".parquet"):
        return iter_records(path)
    return _opened(path)


def _opened(path: Path) -> Iterator[Record | BadLine]:
    from forthwith.errors import DataError
    from forthwith.schema import records_from_stream

    try:
        stream: BinaryIO = path.open("rb")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path) from error
    with stream:
        yield from records_from_stream(stream, path)
