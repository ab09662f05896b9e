"""Reads the structured styles back: every line of named fields, in canonical spelling, from the text alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from forthwith.errors import DataError
from forthwith.personal.render.grammar import section_names, wording_share
from forthwith.personal.text_values import read_values
from forthwith.personal.vocabulary import (
    ENTITY_KINDS,
    EVENT_TYPES,
    NOTIFY_LEVELS,
    PRIVACY_LEVELS,
    RECIPIENT_TYPES,
    SERVICES,
    URGENCIES,
)

__all__ = ["Row", "read_rows"]

_MONEY = {"amount", "unit_price_cents", "delivery_fee_cents", "amount_cents", "price_cents"}
_DATES = {"date", "since", "note_date", "when"}
_SWITCHES = {"on", "connected", "reversible", "now_likes"}
_LISTS = {"levels", "services", "names", "airports"}
_COUNTS = {"rating", "low", "medium", "high", "positive", "total", "quantity", "magnitude"}
_YES = {"yes", "true", "on"}
_CLOSED: dict[str, tuple[str, ...]] = {
    "level": (*PRIVACY_LEVELS, *NOTIFY_LEVELS),
    "recipient_type": RECIPIENT_TYPES,
    "relationship": RECIPIENT_TYPES,
    "service": SERVICES,
    "event": EVENT_TYPES,
    "urgency": URGENCIES,
    "entity_kind": ENTITY_KINDS,
}
_CLOSED_LISTS: dict[str, tuple[str, ...]] = {"levels": PRIVACY_LEVELS, "services": SERVICES}


@dataclass(frozen=True, slots=True)
class Row:
    """One line: its kind and its fields.

    Values: money in cents and hours as int, dates and moments ISO text, switches bool, lists tuples, all else text.
    """

    kind: str
    fields: dict[str, Any]

    def get(self, name: str) -> Any:
        """The value of a field, None where it has none."""
        return self.fields.get(name)


@lru_cache(maxsize=1)
def _names() -> dict[tuple[str, str], str]:
    """(group, written name) to canonical name."""
    names: dict[tuple[str, str], str] = {}
    for section in section_names("en", "fields"):
        group, canonical = section.split(".", 1)
        for share in wording_share("en", "fields", section).values():
            for written in share:
                if names.setdefault((group, written), canonical) != canonical:
                    raise DataError(f"the name {written!r} means both {names[group, written]!r} and {canonical!r}")
    return names


_NOTATIONS: dict[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
    "key_value": (re.compile(r"^(\w+): (.*)$"), re.compile(r'(\w+)=("[^"]*"|[^;]*)')),
    "card": (re.compile(r"^- \*\*(\w+)\*\* · (.*)$"), re.compile(r'(\w+): ("[^"]*"|[^·]*)')),
    "table": (re.compile(r"^\| (\w+) \| (.*)$"), re.compile(r'(\w+) → ("[^"]*"|[^|]*)')),
}
_YAML_HEAD = re.compile(r"^- (\w+):$")
_YAML_FIELD = re.compile(r'^    (\w+): ("[^"]*"|.*)$')


def read_rows(text: str, layout: str) -> list[Row]:
    """The rows of a text in one of the structured layouts; lines of any other form are passed over.

    Raises:
        DataError: a line has the form of a row but cannot be understood.
    """
    reader = {"json_lines": _json_rows, "yaml": _yaml_rows}.get(layout)
    pairs = reader(text) if reader else _line_rows(text, layout)
    return [_row(kind, fields) for kind, fields in pairs if ("kind", kind) in _names()]


def _line_rows(text: str, layout: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    head, pair = _NOTATIONS[layout]
    for line in text.splitlines():
        match = head.match(line)
        if match:
            yield match[1], [(found[1], found[2]) for found in pair.finditer(match[2])]


def _json_rows(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for line in text.splitlines():
        if not line.startswith('{"type": '):
            continue
        try:
            members = cast("dict[str, str]", json.loads(line))
        except json.JSONDecodeError as error:
            raise DataError(f"a line of fields is not JSON: {line[:60]!r}; {error}") from error
        yield members.pop("type"), list(members.items())


def _yaml_rows(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    kind, fields = "", list[tuple[str, str]]()
    for line in [*text.splitlines(), "- end:"]:
        head, field = _YAML_HEAD.match(line), _YAML_FIELD.match(line)
        if head:
            yield kind, fields
            kind, fields = head[1], []
        elif field:
            fields.append((field[1], field[2]))


def _row(kind: str, fields: list[tuple[str, str]]) -> Row:
    names = _names()
    values: dict[str, Any] = {}
    for written, value in fields:
        name = names.get(("field", written))
        if name is None:
            raise DataError(f"unknown field {written!r} in a line of kind {kind!r}")
        values[name] = _value(names["kind", kind], name, value.strip().strip('"'))
    return Row(names["kind", kind], values)


def _value(kind: str, name: str, text: str) -> Any:
    if name in _MONEY:
        return int(_only(text, "money"))
    if name in _DATES:
        return _only(text, "date")
    if name in _SWITCHES:
        return text in _YES
    if name in _LISTS:
        return _members(name, text)
    if name in ("time", "arrival") or (name in ("start", "end") and kind == "calendar_event"):
        return f"{_only(text, 'date')} {_only(text, 'time')}"
    if name in ("start", "end"):
        return int(_only(text, "time").split(":")[0])
    if name in _COUNTS:
        return int(_only(text, "number"))
    return _closed(name, text, _CLOSED.get(name))


def _members(name: str, text: str) -> tuple[str, ...]:
    members = () if text == "none" else tuple(text.split(", "))
    return tuple(_closed(name, member, _CLOSED_LISTS.get(name)) for member in members)


def _closed(name: str, text: str, words: tuple[str, ...] | None) -> str:
    if words is not None and text not in words:
        raise DataError(f"the field {name!r} says {text!r}; it can be {', '.join(words)}")
    return text


def _only(text: str, kind: str) -> str:
    found = [value.canonical for value in read_values(text) if value.kind == kind]
    if len(found) != 1:
        raise DataError(f"expected one {kind} in the field value {text!r}, found {len(found)}")
    return found[0]
