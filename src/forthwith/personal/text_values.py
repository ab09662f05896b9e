"""Numbers, dates, times and money as a reader finds them in English and Chinese text, in one canonical spelling.

Knows nothing of snapshots or styles: it reads. Canonical forms: dates "2021-03-09" (without a year "--03-09"), times
"15:35", money in cents ("6198"), numbers without grouping ("1200", "4.5"), e-mail addresses as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple

__all__ = ["TextValue", "ValueKind", "read_value_kinds", "read_values"]

ValueKind = Literal["date", "time", "money", "number", "email"]


class TextValue(NamedTuple):
    """One value in a text: its kind, canonical spelling and place."""

    kind: ValueKind
    canonical: str
    start: int
    end: int


_MONTH_NAMES = "january february march april may june july august september october november december".split()  # noqa: SIM905
_FULL_MONTHS = {name: index for index, name in enumerate(_MONTH_NAMES, start=1)}
_MONTHS = _FULL_MONTHS | {name[:3]: index for name, index in _FULL_MONTHS.items()} | {"sept": 9}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))

_UNITS = (  # noqa: SIM905
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_WORDS = {word: index for index, word in enumerate(_UNITS)} | {word: 10 * i for i, word in enumerate(_TENS, start=2)}
_WORD_NUMBER = rf"(?:(?:{'|'.join(_WORDS)}|hundred|thousand|and)(?:[ -](?=[a-z]))?)+"
_HAN_DIGITS = {digit: index for index, digit in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_NUMBER = "[零〇一二三四五六七八九十百千两]+"
_HAN_POWERS = {"十": 10, "百": 100, "千": 1000}


def _english_number(text: str) -> int | None:
    total, current = 0, 0
    words = [word for word in re.split(r"[ -]+", text.lower()) if word and word != "and"]
    for word in words:
        if word == "hundred":
            current = max(current, 1) * 100
        elif word == "thousand":
            total, current = total + max(current, 1) * 1000, 0
        else:
            current += _WORDS[word]
    return total + current if words else None


def _han_number(text: str) -> int:
    total, digit = 0, 0
    for character in text:
        if character in _HAN_POWERS:
            total, digit = total + max(digit, 1) * _HAN_POWERS[character], 0
        else:
            digit = _HAN_DIGITS[character]
    return total + digit


def _cents(digits: str) -> str:
    whole, _, rest = digits.replace(",", "").partition(".")
    return str(int(whole) * 100 + int((rest + "00")[:2] or 0))


def _day(year: str | None, month: str, day: str) -> str:
    number = _MONTHS.get(month.lower()) or int(month)
    return f"{int(year):04d}-{number:02d}-{int(day):02d}" if year else f"--{number:02d}-{int(day):02d}"


def _clock(hour: str, minute: str | None, half: str | None) -> str:
    number = int(hour)
    if half:
        number = number % 12 + (12 if half.lower().startswith("p") else 0)
    return f"{number:02d}:{int(minute or 0):02d}"


_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_RULES: tuple[tuple[ValueKind, str, re.Pattern[str], Callable[[re.Match[str]], str | None]], ...] = (
    ("email", "@", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), lambda m: m.group()),
    ("date", "0", re.compile(r"(?<!\d)(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)"), lambda m: _day(m[1], m[3], m[4])),
    ("date", "月", re.compile(r"(?:(\d{4})年)?(\d{1,2})月(\d{1,2})[日号]"), lambda m: _day(m[1], m[2], m[3])),
    (
        "date",
        "m",
        re.compile(
            rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b\.?,?(?: (\d{{4}})(?!\d))?", re.IGNORECASE
        ),
        lambda m: _day(m[3], m[2], m[1]),
    ),
    (
        "date",
        "m",
        re.compile(rf"\b({_MONTH})\b\.? (\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,? (\d{{4}})(?!\d))?", re.IGNORECASE),
        lambda m: _day(m[3], m[1], m[2]),
    ),
    ("money", "$", re.compile(rf"(?:US)?\$ ?({_DIGITS})"), lambda m: _cents(m[1])),
    (
        "money",
        "0",
        re.compile(rf"(?<![\d.])({_DIGITS}) ?(?:USD|dollars?|bucks|美元|美金|块钱|元)", re.IGNORECASE),
        lambda m: _cents(m[1]),
    ),
    (
        "money",
        "w",
        re.compile(rf"\b({_WORD_NUMBER})[ -](?:US )?(?:dollars?|bucks)", re.IGNORECASE),
        lambda m: None if (number := _english_number(m[1])) is None else str(100 * number),
    ),
    ("money", "元", re.compile(rf"({_HAN_NUMBER})(?:美元|美金|块钱|元)"), lambda m: str(100 * _han_number(m[1]))),
    (
        "time",
        "p",
        re.compile(r"(?<![\d:.])(\d{1,2})(?::(\d{2}))? ?([ap])\.?m\b\.?", re.IGNORECASE),
        lambda m: _clock(m[1], m[2], m[3]),
    ),
    ("time", "0", re.compile(r"(?<![\d:.])(\d{1,2})[:h](\d{2})(?!\d|:\d)"), lambda m: _clock(m[1], m[2], None)),
    ("time", "点", re.compile(r"(\d{1,2})点(?:(\d{1,2})分)?"), lambda m: _clock(m[1], m[2], None)),
    (
        "time",
        "点",
        re.compile(rf"(?:凌晨|早上|上午|中午|下午|晚上)({_HAN_NUMBER})点"),
        lambda m: f"{_han_number(m[1]):02d}:00",
    ),
    (
        "number",
        "w",
        re.compile(rf"\b({_WORD_NUMBER})[ -](?:percent|minutes?|hours?|days?|weeks?|months?|o'clock)", re.IGNORECASE),
        lambda m: None if (number := _english_number(m[1])) is None else str(number),
    ),
    ("number", "0", re.compile(rf"({_DIGITS})"), lambda m: _number(m[1])),
)
"""In order: a place that one rule has read is closed to the later ones.

The second member says what a text must hold for the rule to be tried: a digit ("0"), a month ("m"), a half of the day ("p"), a
unit ("w"), or that very character.
"""

_DIGIT = re.compile(r"\d")
_MONTH_HINT = re.compile(rf"\b(?:{_MONTH})\b", re.IGNORECASE)
_HALF_HINT = re.compile(r"[ap]\.?m\b", re.IGNORECASE)
_WORD_HINT = re.compile(r"dollar|buck|percent|minute|hour|day|week|month|o'clock", re.IGNORECASE)

_ANY_HINT = re.compile(rf"[\d@点元月]|{_WORD_HINT.pattern}", re.IGNORECASE)


def _hints_in(text: str) -> frozenset[str]:
    """Which rules are worth trying on a text."""
    hints = {character for character in "@$月元点" if character in text}
    if _DIGIT.search(text):
        hints.add("0")
        hints.update(mark for mark in ":-/." if mark in text)
        hints.update(name for name, pattern in (("m", _MONTH_HINT), ("p", _HALF_HINT)) if pattern.search(text))
    if _WORD_HINT.search(text):
        hints.add("w")
    return frozenset(hints)


@lru_cache(maxsize=65_536)
def read_value_kinds(text: str) -> tuple[tuple[ValueKind, str], ...]:
    """Kind and canonical spelling of the values of a short string, kept for the next time it is seen."""
    return tuple((value.kind, value.canonical) for value in read_values(text))


def _number(digits: str) -> str:
    plain = digits.replace(",", "")
    return plain.rstrip("0").rstrip(".") if "." in plain else str(int(plain))


def read_values(text: str) -> list[TextValue]:
    """The values of a text in order of place."""
    if not _ANY_HINT.search(text):
        return []
    found: list[TextValue] = []
    rest = text
    hints = _hints_in(text)
    for kind, hint, pattern, canonical in _RULES:
        if hint not in hints:
            continue
        closed: list[tuple[int, int]] = []
        for match in pattern.finditer(rest):
            value = canonical(match)
            if value is not None:
                found.append(TextValue(kind, value, match.start(), match.end()))
                closed.append(match.span())
        for start, end in closed:
            rest = rest[:start] + "\x00" * (end - start) + rest[end:]
    return sorted(found, key=lambda value: value.start)
