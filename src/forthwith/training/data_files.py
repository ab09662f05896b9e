"""Record files for a run: read whole, hashed, and checked for what would make its figures worthless."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from forthwith.default_model.source import file_sha256
from forthwith.errors import DataError
from forthwith.schema import BadLine, Record, iter_records

__all__ = ["RecordFiles", "check_disjoint", "read_files", "state_hash"]

_BY_LINE = re.compile(r"(line|row)-\d+")
"""Ids that `iter_records` gives where a record has none."""


@dataclass(frozen=True)
class RecordFiles:
    """Records of some files, in order.

    Attributes:
        records: all of them.
        sha256: hash of each file, by path.
    """

    records: tuple[Record, ...]
    sha256: dict[str, str]

    @property
    def digest(self) -> str:
        """One hash over the files, in order; their names do not count."""
        return hashlib.sha256("".join(self.sha256.values()).encode()).hexdigest()


def read_files(paths: Sequence[str | Path], on_progress: Callable[[int], None] = lambda _done: None) -> RecordFiles:
    """Every record of the files.

    Records that have no id of their own are told apart by file and line.

    Raises:
        DataError: a file cannot be read, a line holds no usable record, or two records have one id: with path and line.
    """
    records: list[Record] = []
    places: dict[str, str | Path] = {}
    for path in paths:
        for item in iter_records(path):
            if isinstance(item, BadLine):
                raise item.error
            record = _told_apart(item, path, places)
            places[record.id] = path
            records.append(record)
            on_progress(len(records))
    return RecordFiles(tuple(records), {str(path): file_sha256(Path(path)) for path in paths})


def _told_apart(record: Record, path: str | Path, places: dict[str, str | Path]) -> Record:
    """The record, under an id that no record before it has; augmentation is drawn by id, so a copy would teach twice the same."""
    if record.id not in places:
        return record
    longer = f"{path}:{record.id}"
    if _BY_LINE.fullmatch(record.id) and places[record.id] != path and longer not in places:
        return record.model_copy(update={"id": longer})
    raise DataError(
        f"the record id {record.id!r} stands in {places[record.id]} already; ids must be unique in all the files of a run,"
        " so give the copies ids of their own or take them out",
        path,
    )


def state_hash(record: Record) -> str:
    """Hash of a record's state: two records with one hash show the model the same evidence."""
    text = json.dumps(record.state, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check_disjoint(train: Iterable[Record], held_back: Iterable[Record], what: str) -> None:
    """Refuse data whose states stand in the training data too.

    Raises:
        DataError: says how many, and names the first.
    """
    known = {state_hash(record): record.id for record in train}
    shared = [(record.id, known[code]) for record in held_back if (code := state_hash(record)) in known]
    if shared:
        own, other = shared[0]
        raise DataError(
            f"{len(shared)} states of the {what} data stand in the training data too, first {own!r} as {other!r};"
            " figures on them would mean nothing, so take them out of one of the two"
        )
