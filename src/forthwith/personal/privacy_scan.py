"""How much private data a file of records still holds, by kind, with redacted examples where asked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from forthwith.errors import DataError
from forthwith.personal.privacy import KINDS, PLACEHOLDERS, Kind, Protected, redact
from forthwith.personal.record_text import private_hits

__all__ = ["PrivacyReport", "iter_json_objects", "scan_records"]

_VERBATIM_CHARS = 40


@dataclass(frozen=True)
class PrivacyReport:
    """Counts over one file.

    Attributes:
        hits, distinct, records_with: detections, different strings, and records with at least one, by kind.
        placeholders: occurrences of each placeholder in states.
        verbatim: records with a required anchor of 40 characters or more (a span of a review, say).
        examples: redacted detections by kind; empty unless asked for.
    """

    path: str
    records: int
    users: int
    hits: dict[Kind, int]
    distinct: dict[Kind, int]
    records_with: dict[Kind, int]
    placeholders: dict[str, int]
    buried: int
    verbatim: int
    examples: dict[Kind, list[str]]

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not any(self.hits.values())


def scan_records(path: str | Path, protected: Protected | None = None, *, examples: int = 0) -> PrivacyReport:
    """Scan a JSONL file of records with the rules that a release applies.

    Args:
        path: the file.
        protected: names that are no private data: catalogue names, fictional contacts.
        examples: how many redacted examples to give for each kind.

    Raises:
        DataError: a line is not a record (path and line).
    """
    protected = protected or Protected()
    counts: Counter[Kind] = Counter()
    strings: dict[Kind, set[str]] = {kind: set() for kind in KINDS}
    records_with: Counter[Kind] = Counter()
    placeholders: Counter[str] = Counter()
    users: set[str] = set()
    records = buried = verbatim = 0
    for _, record in iter_json_objects(path):
        records += 1
        meta = cast("dict[str, Any]", record.get("meta") or {})
        users.add(str(meta.get("user_id")))
        buried += any("buried" in str(variant) for variant in dict(meta.get("variants") or {}).values())
        verbatim += any(len(anchor) >= _VERBATIM_CHARS for anchor in required_anchors(meta))
        placeholders.update({mark: str(record.get("state")).count(mark) for mark in PLACEHOLDERS.values()})
        hits = private_hits(record, protected)
        counts.update(hit.kind for hit in hits)
        records_with.update({hit.kind for hit in hits})
        for hit in hits:
            strings[hit.kind].add(hit.text)
    return PrivacyReport(
        path=Path(path).name,
        records=records,
        users=len(users - {"None"}),
        hits={kind: counts[kind] for kind in KINDS},
        distinct={kind: len(strings[kind]) for kind in KINDS},
        records_with={kind: records_with[kind] for kind in KINDS},
        placeholders=dict(placeholders),
        buried=buried,
        verbatim=verbatim,
        examples={kind: [redact(text) for text in sorted(strings[kind])[:examples]] for kind in KINDS if examples},
    )


def required_anchors(meta: dict[str, Any]) -> Iterable[str]:
    """The strings that the state of a record must contain, over all its questions."""
    for anchors in dict(meta.get("anchors") or {}).values():
        yield from (_anchor_text(anchor) for anchor in cast("dict[str, Any]", anchors).get("required", []))


def forbidden_anchors(meta: dict[str, Any]) -> Iterable[str]:
    """The strings that the state of a record must not contain, over all its questions."""
    for anchors in dict(meta.get("anchors") or {}).values():
        yield from (_anchor_text(anchor) for anchor in cast("dict[str, Any]", anchors).get("forbidden", []))


def _anchor_text(anchor: object) -> str:
    return str(cast("dict[str, object]", anchor)["text"]) if isinstance(anchor, dict) else str(anchor)


def iter_json_objects(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of every line of a JSONL file, members in their order.

    Raises:
        DataError: the file cannot be read, or a line is not a JSON object (path and line).
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8") as handle:
            for number, line in enumerate(handle, start=1):
                if line.strip():
                    yield number, _object(path, number, line)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}", path) from error


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value: object = json.loads(line)
    except ValueError as error:
        raise DataError(f"is not JSON: {error}", path, number) from error
    if not isinstance(value, dict):
        raise DataError("is not a record (a JSON object)", path, number)
    return cast("dict[str, Any]", value)
