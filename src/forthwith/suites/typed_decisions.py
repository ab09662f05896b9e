"""The typed-decisions set: cases of four workflows, five typed questions each, gold distributions from a teacher.

A row holds a case id, its workflow, a state, questions, and a gold answer a question: a label, or shares over the options. Objects may
come as JSON text, as columns of a Parquet file do. Scores on it measure agreement with the teacher.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from forthwith.errors import DataError, RequestError
from forthwith.schema import Record, parse_json, parse_record
from forthwith.suites.splits import split_by_group

__all__ = ["SPLIT_SIZES", "convert_typed_decisions", "split_typed_decisions"]

SPLIT_SIZES = (240, 30, 30)
"""Train, dev and calibration cases of each workflow."""

_ID, _WORKFLOW, _GOLD = ("id", "case_id"), ("workflow", "task"), ("targets", "gold", "labels")


def convert_typed_decisions(rows: Iterable[Mapping[str, Any]]) -> Iterator[Record]:
    """One record a case, with the gold distribution as target where there is one; `task` is the workflow.

    Raises:
        DataError: a row lacks a field, or a gold answer is none of the options; names the case.
    """
    for number, row in enumerate(rows, start=1):
        name = str(_field(row, _ID, number))
        gold = _object(_field(row, _GOLD, number))
        payload = {
            "id": name,
            "task": str(_field(row, _WORKFLOW, number)),
            "state": _object(_field(row, ("state",), number)),
            "questions": _object(_field(row, ("questions",), number)),
            "targets": {qid: _target(answer) for qid, answer in gold.items()},
        }
        try:
            yield parse_record(payload)
        except RequestError as error:
            raise DataError(f"the case {name!r} cannot be read: {error}", line=number) from error


def split_typed_decisions(records: list[Record], key: str) -> tuple[list[Record], list[Record], list[Record]]:
    """Train, dev and calibration records: 240, 30 and 30 of each workflow, in the order of a keyed hash of the id."""
    train, dev, calibration = split_by_group(
        records, key, SPLIT_SIZES, group=lambda record: str(record.meta["task"]), identity=lambda record: record.id
    )
    return train, dev, calibration


def _field(row: Mapping[str, Any], names: tuple[str, ...], number: int) -> Any:
    for name in names:
        if row.get(name) is not None:
            return row[name]
    raise DataError(f"the row has none of the fields {', '.join(names)}; it has {', '.join(sorted(row))}", line=number)


def _object(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in "{[":
        return parse_json(value)
    return value


def _target(answer: Any) -> dict[str, Any]:
    answer = _object(answer)
    if not isinstance(answer, Mapping):
        return {"label": answer}
    given = cast("Mapping[str, Any]", answer)
    if "label" in given or "distribution" in given:
        return {name: given[name] for name in ("label", "distribution") if given.get(name) is not None}
    return {"distribution": dict(given)}
