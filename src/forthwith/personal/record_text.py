"""The texts of a benchmark record in which private data can stand, found and replaced by one set of rules.

A record is one JSON object `{id, state, questions, meta}`. Looked at are the state, the instructions of the questions
and every string of `meta` except ids; never the options, their descriptions, labels or soft labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from forthwith.personal.privacy import Hit, Protected, find_private, option_texts

__all__ = ["private_hits", "protected_in", "replace_texts", "rewrite"]

_META_LEFT_ALONE = frozenset(
    {"user_id", "state_id", "shard", "families", "render", "variants", "option_features", "release"}
)


def protected_in(record: Mapping[str, Any], protected: Protected) -> Protected:
    """What is protected in this record: the given names, and everything in its options."""
    return protected.with_inside(option_texts(cast("Mapping[str, Any]", record.get("questions") or {})))


def private_hits(record: Mapping[str, Any], protected: Protected) -> list[Hit]:
    """All detections in a record, options protected."""
    shield = protected_in(record, protected)
    return [hit for text in _texts(record) for hit in find_private(text, shield)]


def replace_texts(record: Mapping[str, Any], replacements: Mapping[str, str]) -> dict[str, Any]:
    """A copy of the record with whole strings replaced, wherever private data can stand."""
    if not replacements:
        return dict(record)
    longest_first = sorted(replacements, key=lambda text: (-len(text), text))
    joined = "|".join(re.escape(text) for text in longest_first)
    # A Latin word must not be cut out of a longer one; Chinese characters stand without spaces.
    pattern = re.compile(rf"(?<![A-Za-zÀ-ÿ0-9])(?:{joined})(?![A-Za-zÀ-ÿ0-9])")

    def replaced(text: str) -> str:
        return pattern.sub(lambda match: replacements[match.group()], text)

    return rewrite(record, replaced)


def rewrite(record: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """A copy of the record with `change` applied to every text in which private data can stand."""
    questions = cast("dict[str, dict[str, Any]]", record.get("questions") or {})
    changed = dict(record)
    changed["state"] = _mapped(record.get("state"), change)
    changed["questions"] = {
        qid: question | {"instructions": _mapped(question["instructions"], change)}
        if "instructions" in question
        else question
        for qid, question in questions.items()
    }
    if "meta" in record:
        meta = cast("dict[str, Any]", record["meta"])
        changed["meta"] = {
            name: value if name in _META_LEFT_ALONE else _mapped(value, change) for name, value in meta.items()
        }
    return changed


def _texts(record: Mapping[str, Any]) -> Iterator[str]:
    found: list[str] = []

    def collect(text: str) -> str:
        found.append(text)
        return text

    rewrite(record, collect)
    yield from found


def _mapped(value: object, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(item, change) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {name: _mapped(item, change) for name, item in cast("dict[str, object]", value).items()}
    return value
