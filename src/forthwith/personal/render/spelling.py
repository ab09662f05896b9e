"""The spellings under which an anchor may stand in a text of one record, and which of them its line used."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from functools import cache

from forthwith.personal.anchor_text import normalised
from forthwith.personal.fragment import Anchor
from forthwith.personal.render.formats import Formats
from forthwith.personal.render.grammar import Language, section_names, wording_share
from forthwith.personal.standing import stands_alone

__all__ = ["find_spelling", "spellings"]

_LANGUAGES: tuple[Language, ...] = ("en", "zh")


@cache
def _word_spellings(word: str) -> tuple[str, ...]:
    found = dict.fromkeys([word, word.replace("_", " ")])
    for language in _LANGUAGES:
        for section in section_names(language, "terms"):
            if section.split(".", 1)[-1] == word:
                found.update(dict.fromkeys(wording_share(language, "terms", section)["seen"]))
    return (*found, *(text[:1].upper() + text[1:] for text in found))


def spellings(anchor: Anchor, formats: Formats) -> tuple[str, ...]:
    """What may stand for the anchor in a record with these formats, likeliest first."""
    match anchor.kind:
        case "date":
            return (formats.date(dt.date.fromisoformat(anchor.text)),)
        case "datetime":
            moment = dt.datetime.fromisoformat(anchor.text)
            return (formats.moment(moment), formats.time(moment.hour, moment.minute))
        case "hour":
            hour, minute = anchor.text.split(":")
            return (formats.time(int(hour), int(minute)),)
        case "money":
            if not anchor.text.strip("$"):
                return (anchor.text,)
            return (formats.money(round(100 * float(anchor.text.lstrip("$").replace(",", "")))),)
        case "level" | "word":
            return _word_spellings(anchor.text)
        case "text" | "number":
            return (anchor.text,)


def find_spelling(anchor: Anchor, formats: Formats, phrases: Iterable[str]) -> tuple[str, str] | None:
    """The spelling that one of the phrases uses, and that phrase; None where no phrase says the anchor."""
    candidates = spellings(anchor, formats)
    told = tuple(phrases)
    for phrase in told:
        for text in candidates:
            if stands_alone(phrase, text):
                return text, phrase
    for phrase in told if anchor.kind == "text" else ():
        if stands_alone(normalised(phrase), normalised(anchor.text)):
            return anchor.text, phrase
    return None
