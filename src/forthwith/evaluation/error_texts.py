"""What confident errors were about: a few records found again in a large file without parsing the rest of it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, cast

from pydantic import BaseModel, ConfigDict

from forthwith.errors import DataError
from forthwith.schema import Record, parse_json, parse_record, read_records

__all__ = ["ErrorText", "error_texts"]

_EXCERPT = 700


class ErrorText(BaseModel):
    """Excerpts of the question and the state of one confident error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    qid: str
    question: str
    state: str


def error_texts(data: str | Path, wanted: Sequence[tuple[str, str]]) -> list[ErrorText]:
    """The texts of questions, in the order of the file.

    Args:
        data: a file of records that has been read without an error before.
        wanted: (record id, question id) of each.

    Raises:
        DataError: the file cannot be read.
    """
    questions = set(wanted)
    ids = {record_id for record_id, _ in wanted}
    return [
        ErrorText(id=record.id, qid=qid, question=_excerpt(question.instructions), state=_excerpt(record.state))
        for record in (_find(Path(data), ids) if ids else ())
        if record.id in ids
        for qid, question in record.questions.items()
        if (record.id, qid) in questions
    ]


def _find(path: Path, ids: set[str]) -> Iterator[Record]:
    """Records that may have one of the ids: those whose line holds it, and those that are numbered for want of one."""
    if path.suffix == ".parquet":
        yield from read_records(path)
        return
    plain = {json.dumps(name)[1:-1].encode() for name in ids}
    needles = plain | {json.dumps(name, ensure_ascii=False)[1:-1].encode() for name in ids}
    try:
        with _open(path) as lines:
            for number, line in enumerate(lines, start=1):
                fallback = f"line-{number}"
                if fallback in ids or any(needle in line for needle in needles):
                    payload = parse_json(line)
                    if isinstance(payload, dict):
                        yield parse_record(payload, fallback_id=fallback)
    except (OSError, EOFError) as error:
        raise DataError(f"cannot be read: {error}", path) from error


def _open(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _excerpt(content: object) -> str:
    if content is None:
        return ""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=1)
    return text if len(text) <= _EXCERPT else text[:_EXCERPT].rstrip() + " …"
