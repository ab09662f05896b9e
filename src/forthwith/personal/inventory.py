"""What a text says against what its snapshot holds: numbers, dates, times, amounts, addresses and names of people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from forthwith.personal.anchor_text import normalised
from forthwith.personal.privacy_names import CJK_HONORIFICS, CJK_SURNAMES, FIRST_NAMES
from forthwith.personal.standing import places_of
from forthwith.personal.text_values import TextValue, read_value_kinds, read_values

__all__ = ["Holdings", "holdings_of", "strays"]

_CENT_FIELDS = ("unit_price_cents", "delivery_fee_cents", "amount_cents", "price_cents")
_CAPITALISED = re.compile(r"(?<![\w@.])[A-Z][a-z]+(?![\w@])")
_HAN_NAME = re.compile(rf"[{CJK_SURNAMES}][\u4e00-\u9fff]{{0,2}}(?:{'|'.join(CJK_HONORIFICS)})")
_SHORT = 3


@dataclass(frozen=True, slots=True)
class Holdings:
    """The values of a snapshot, as a reader would write them down.

    Attributes:
        values: (kind, canonical) of everything typed or mentioned in a string.
        strings: its texts, longest first, which a rendered text may quote.
        words: all words of the texts.
    """

    values: frozenset[tuple[str, str]]
    strings: tuple[str, ...]
    words: frozenset[str]


def holdings_of(payload: dict[str, Any]) -> Holdings:
    """The holdings of a snapshot's payload (`snapshot_payload`)."""
    values: set[tuple[str, str]] = set()
    strings: set[str] = set()
    for name, value in _members(payload):
        if isinstance(value, str):
            strings.add(_plain(value))
            values.update(read_value_kinds(value))
        elif not isinstance(value, bool):
            values.update(_typed(name, value))
    values.update(
        ("date", f"-{text[4:]}") for kind, text in list(values) if kind == "date" and not text.startswith("-")
    )
    words = frozenset(word for string in strings for word in re.findall(r"\w+", string))
    return Holdings(frozenset(values), tuple(sorted(strings, key=len, reverse=True)), words)


@lru_cache(maxsize=65_536)
def _plain(text: str) -> str:
    return normalised(text)


def _members(value: object, name: str = "") -> Iterator[tuple[str, str | int | bool]]:
    if isinstance(value, dict):
        for key, member in cast("dict[str, object]", value).items():
            if key not in ("fact_id", "item_id", "popularity", "kind", "time_zone"):
                yield from _members(member, key)
    elif isinstance(value, list):
        for member in cast("list[object]", value):
            yield from _members(member, name)
    elif isinstance(value, str | int):
        yield name, value


def _typed(name: str, value: int) -> Iterator[tuple[str, str]]:
    yield "number", str(value)
    if name in _CENT_FIELDS:
        yield "money", str(value)
    if name == "amount":
        yield "money", str(100 * value)
    if name in ("start", "end"):
        yield "time", f"{value:02d}:00"


def strays(text: str, holdings: Holdings, labels: Sequence[str] = ()) -> list[str]:
    """What the text says beyond the holdings, as it is spelled there: values first, then names of people."""
    masked = normalised(text)
    for string in (*labels, *holdings.strings):
        if len(string) >= _SHORT:
            masked = _blanked(masked, string)
    values = read_values(masked)
    found = [masked[value.start : value.end] for value in values if not _is_held(value, holdings)]
    for value in values:  # the name of a month is no person's name
        masked = masked[: value.start] + "\x00" * (value.end - value.start) + masked[value.end :]
    return found + _stray_names(masked, holdings)


def _blanked(text: str, string: str) -> str:
    """The text without the string; where it would cut a number or word in two it stays."""
    kept, end = list[str](), 0
    for place in places_of(text, string):
        kept.append(text[end:place])
        end = place + len(string)
    return " \x00 ".join([*kept, text[end:]]) if kept else text


def _is_held(value: TextValue, holdings: Holdings) -> bool:
    if (value.kind, value.canonical) in holdings.values:
        return True
    return value.kind == "money" and value.canonical == "0"


def _stray_names(masked: str, holdings: Holdings) -> list[str]:
    names = [
        word
        for word in dict.fromkeys(_CAPITALISED.findall(masked))
        if word.lower() in FIRST_NAMES and word not in holdings.words
    ]
    return names + list(dict.fromkeys(_HAN_NAME.findall(masked)))
