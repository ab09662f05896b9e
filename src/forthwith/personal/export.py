"""Records in the layouts and file formats that others read: Pev's, Kev's and ours, as JSONL, gzipped JSONL or Parquet.

What is written reads back through `forthwith.schema.iter_records` as the same questions, targets and families; Kev's
layout keeps of the metadata only what it has members for.
"""

from __future__ import annotations

import gzip
import importlib
import io
import json
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from forthwith.errors import ConfigError, DataError
from forthwith.schema import Noul, Record, Score, Target, read_records

__all__ = ["LAYOUTS", "ExportReceipt", "Layout", "export_file", "record_payload", "write_records"]

Layout = Literal["pev", "kev", "forthwith"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
_PARQUET_ROWS = 1_000


@dataclass(frozen=True)
class ExportReceipt:
    """What was written."""

    path: str
    layout: Layout
    records: int
    questions: int
    soft: int


def export_file(source: str | Path, out: str | Path, layout: Layout, *, soft: bool = True) -> ExportReceipt:
    """Write the records of one file in another layout; the ending of `out` says the format.

    Args:
        source: JSONL, gzipped JSONL or Parquet in any of the three layouts.
        out: `.jsonl`, `.jsonl.gz` or `.parquet`.
        layout: whose record layout.
        soft: whether soft targets are written; without, only labels are.

    Raises:
        DataError: a bad record (path and line), or `out` cannot be written.
        ConfigError: an unknown layout or ending.
    """
    return write_records(read_records(source), out, layout, soft=soft)


def write_records(records: Iterable[Record], out: str | Path, layout: Layout, *, soft: bool = True) -> ExportReceipt:
    """Write records, streamed, by way of a temporary file.

    Raises:
        DataError: `out` cannot be written.
        ConfigError: an unknown layout or ending.
    """
    out = Path(out)
    if layout not in LAYOUTS:
        raise ConfigError(f"unknown layout {layout!r}; layouts are {', '.join(LAYOUTS)}", "layout")
    counts = [0, 0, 0]

    def payloads() -> Iterator[dict[str, Any]]:
        for record in records:
            counts[0] += 1
            counts[1] += len(record.questions)
            counts[2] += sum(target.distribution is not None for target in record.targets.values()) if soft else 0
            yield record_payload(record, layout, soft=soft)

    temporary = out.with_name(out.name + ".partial")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.suffix == ".parquet":
            _write_parquet(payloads(), temporary)
        elif out.name.endswith((".jsonl", ".jsonl.gz")):
            _write_lines(payloads(), temporary, zipped=out.suffix == ".gz")
        else:
            raise ConfigError(f"unknown ending {out.name!r}; use .jsonl, .jsonl.gz or .parquet", "out")
        temporary.replace(out)
    except OSError as error:
        raise DataError(f"cannot be written: {error}; make room or check permissions, then run again", out) from error
    finally:
        temporary.unlink(missing_ok=True)
    return ExportReceipt(str(out), layout, *counts)


def record_payload(record: Record, layout: Layout, *, soft: bool = True) -> dict[str, Any]:
    """One record as plain JSON values in a layout; criteria keep the order of the options."""
    if layout == "forthwith":
        return _ours(record, soft=soft)
    questions = {
        qid: _question(record, qid) | _answer(record, qid, layout, soft=soft) | {"src": f"pd/{record.family(qid)}"}
        for qid in record.questions
    }
    if layout == "kev":
        member = {"id": record.id, "group_id": record.cluster_id, "source": str(record.meta.get("source", "pd"))}
        return {"state": record.state, "questions": questions, "_meta": member}
    meta = {**record.meta, "families": {qid: record.family(qid) for qid in record.questions}}
    return {"id": record.id, "state": record.state, "questions": questions, "meta": meta}


def _ours(record: Record, *, soft: bool) -> dict[str, Any]:
    payload: dict[str, Any] = {"id": record.id}
    if "task" in record.meta:
        payload["task"] = record.meta["task"]
    payload["state"] = record.state
    payload["questions"] = {qid: _question(record, qid) for qid in record.questions}
    payload["targets"] = {qid: _target(target, soft=soft) for qid, target in record.targets.items()}
    payload["meta"] = {**record.meta, "families": {qid: record.family(qid) for qid in record.questions}}
    return payload


def _question(record: Record, qid: str) -> dict[str, Any]:
    return record.questions[qid].model_dump(exclude_none=True, exclude_unset=False) | _null_descriptions(record, qid)


def _null_descriptions(record: Record, qid: str) -> dict[str, Any]:
    """A choice keeps options without a description, which `exclude_none` would drop."""
    criteria = getattr(record.questions[qid], "criteria", None)
    return {"criteria": dict(cast("dict[str, Any]", criteria))} if isinstance(criteria, dict) else {}


def _target(target: Target, *, soft: bool) -> dict[str, Any]:
    members: dict[str, Any] = {"label": target.best_key()}
    if soft and target.distribution is not None:
        members["distribution"] = dict(target.distribution)
    return members


def _answer(record: Record, qid: str, layout: Layout, *, soft: bool) -> dict[str, Any]:
    target = record.targets.get(qid)
    if target is None:
        return {}
    key = target.best_key()
    question = record.questions[qid]
    label: object = key == "true" if isinstance(question, Noul) else int(key) if isinstance(question, Score) else key
    members: dict[str, Any] = {"label": label}
    if soft and target.distribution is not None:
        members["soft_label" if layout == "pev" else "target"] = dict(target.distribution)
    return members


def _write_lines(payloads: Iterable[dict[str, Any]], path: Path, *, zipped: bool) -> None:
    with _text_sink(path, zipped=zipped) as sink:
        for payload in payloads:
            sink.write(json.dumps(payload, ensure_ascii=False) + "\n")


@contextmanager
def _text_sink(path: Path, *, zipped: bool) -> Generator[io.TextIOBase]:
    if not zipped:
        with path.open("w", encoding="utf-8") as sink:
            yield sink
        return
    # No name and no time in the header: the same records give the same bytes.
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8") as sink,
    ):
        yield sink


def _write_parquet(payloads: Iterable[dict[str, Any]], path: Path) -> None:
    try:
        pa: Any = importlib.import_module("pyarrow")
        pq: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ConfigError("writing Parquet needs pyarrow; install forthwith[bench]", "out") from error
    names = ("id", "task", "state", "questions", "targets", "meta", "_meta")
    schema = pa.schema([*((name, pa.string()) for name in names), ("state_is_json", pa.bool_())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        rows: list[dict[str, Any]] = []
        for payload in payloads:
            rows.append(_row(payload))
            if len(rows) == _PARQUET_ROWS:
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
                rows.clear()
        writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _row(payload: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in payload.items()
    }
    row["state_is_json"] = not isinstance(payload["state"], str)
    return row
