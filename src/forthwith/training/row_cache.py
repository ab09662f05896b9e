"""Rows built once: a file of rows known by the hash of everything they depend on, with a manifest of what was left out and why."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from forthwith.encoding import Read, Segment, TokenTree
from forthwith.errors import ArtifactError, DataError
from forthwith.schema import Record
from forthwith.training.planning import Planner
from forthwith.training.rows import RowQuestion, TrainingRow, Unusable

__all__ = ["CachedRows", "RowManifest", "build_rows", "rows_key"]

_ROWS, _INDEX, _MANIFEST = "rows.jsonl", "index.npy", "manifest.json"


@dataclass(frozen=True)
class RowManifest:
    """What a row file holds.

    Attributes:
        key: hash of the data, tokenizer, template, readout and rules.
        rows_sha256: of the file's bytes.
        records: records read.
        rows: rows written.
        questions: supervised questions.
        tokens: over all rows.
        longest_path: tokens.
        skipped: record id to reason.
    """

    key: str
    rows_sha256: str
    records: int
    rows: int
    questions: int
    tokens: int
    longest_path: int
    skipped: dict[str, str] = field(default_factory=dict[str, str])


class CachedRows:
    """The rows of a cache folder, read one by one from disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = RowManifest(**json.loads((folder / _MANIFEST).read_text(encoding="utf-8")))
        self._offsets = np.load(folder / _INDEX)
        self._bytes = (
            np.memmap(folder / _ROWS, dtype=np.uint8, mode="r") if self.manifest.rows else np.zeros(0, np.uint8)
        )

    def __len__(self) -> int:
        """Number of records, skipped ones included."""
        return len(self._offsets) - 1

    def row(self, index: int) -> TrainingRow | None:
        """The row of a record by its place in the data; None where it gave none."""
        start, end = int(self._offsets[index]), int(self._offsets[index + 1])
        return None if start == end else _decoded(json.loads(self._bytes[start:end].tobytes()))


def rows_key(data_sha256: str, planner: Planner) -> str:
    """Hash of all that rows depend on."""
    rules = asdict(planner.rules)
    parts = [data_sha256, planner.encoder.fingerprint, planner.readout.template_sha256, planner.readout.name, rules]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def build_rows(
    records: Sequence[Record],
    planner: Planner,
    cache: Path,
    key: str,
    *,
    overlong: str = "refuse",
    on_progress: Callable[[int], None] = lambda _done: None,
) -> CachedRows:
    """The rows of records without augmentation, from the cache or built into it.

    Args:
        records: with targets.
        planner: makes rows.
        cache: folder of row folders.
        key: from `rows_key`.
        overlong: refuse, or skip and count, records that give no row.
        on_progress: told the number of records done.

    Raises:
        DataError: a record gives no row and none may be skipped; or none gives one.
        ArtifactError: the cache cannot be written.
    """
    folder = cache / f"{key[:24]}-{overlong}"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / f"{folder.name}.lock"):  # the processes of a run all come here
            if not (folder / _MANIFEST).is_file():
                _build(records, planner, folder, key, overlong, on_progress)
    except OSError as error:
        raise ArtifactError(
            f"the rows cannot be written to {folder}: {error}; free some space or name another cache"
        ) from error
    return CachedRows(folder)


def _build(
    records: Sequence[Record],
    planner: Planner,
    folder: Path,
    key: str,
    overlong: str,
    on_progress: Callable[[int], None],
) -> None:
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir()
        _write(records, planner, partial, key, overlong, on_progress)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write(
    records: Sequence[Record],
    planner: Planner,
    folder: Path,
    key: str,
    overlong: str,
    on_progress: Callable[[int], None],
) -> None:
    skipped: dict[str, str] = {}
    offsets = np.zeros(len(records) + 1, dtype=np.int64)
    digest = hashlib.sha256()
    rows = questions = tokens = longest = 0
    with (folder / _ROWS).open("wb") as file:
        for number, record in enumerate(records):
            row = planner.row(record, 0)
            line = b""
            if isinstance(row, Unusable):
                if overlong == "refuse":
                    raise DataError(row.refusal)
                skipped[row.record_id] = row.reason
            else:
                line = (json.dumps(_encoded(row), separators=(",", ":")) + "\n").encode()
                rows, questions, tokens = rows + 1, questions + len(row.questions), tokens + row.size
                longest = max(longest, row.tree.depth)
            file.write(line)
            digest.update(line)
            offsets[number + 1] = offsets[number] + len(line)
            on_progress(number + 1)
    if not rows:
        raise DataError(f"none of the {len(records)} records gives a row; check that they carry targets")
    np.save(folder / _INDEX, offsets)
    manifest = RowManifest(key, digest.hexdigest(), len(records), rows, questions, tokens, longest, skipped)
    (folder / _MANIFEST).write_text(json.dumps(asdict(manifest), indent=1), encoding="utf-8")


def _encoded(row: TrainingRow) -> dict[str, Any]:
    return {
        "id": row.record_id,
        "segments": [[segment.parent, list(segment.ids)] for segment in row.tree.segments],
        "reads": [[read.segment, read.offset, list(read.candidates)] for read in row.tree.reads],
        "questions": [list(question) for question in row.questions],
    }


def _decoded(value: dict[str, Any]) -> TrainingRow:
    segments = tuple(Segment(tuple(ids), parent) for parent, ids in value["segments"])
    reads = tuple(Read(segment, offset, tuple(candidates)) for segment, offset, candidates in value["reads"])
    questions = tuple(
        RowQuestion(kind, tuple(read), branched, tuple(target), label, weight, family)
        for kind, read, branched, target, label, weight, family in value["questions"]
    )
    return TrainingRow(value["id"], TokenTree(segments, reads), questions)
