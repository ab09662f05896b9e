"""Record files for a run: read whole, hashed, and checked for what would make its figures worthless."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from forthwith.default_model.source import file_sha256
from forthwith.errors import DataError
from forthwith.schema import BadLine, Record, iter_records

__all__ = ["RecordFiles", "check_disjoint", "read_files", "state_hash"]


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

    Raises:
        DataError: a file cannot be read, or a line holds no usable record: with path and line.
    """
    records: list[Record] = []
    for path in paths:
        for item in iter_records(path):
            if isinstance(item, BadLine):
                raise item.error
            records.append(item)
            on_progress(len(records))
    return RecordFiles(tuple(records), {str(path): file_sha256(Path(path)) for path in paths})


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
