"""The spellings under which an anchor may stand in a text of one record, and which of them its line used."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from functools import cache

from forthwith.personal.fragment import Anchor
from forthwith.personal.render.formats import Formats
from forthwith.personal.render.grammar import Language, section_names, wording_share

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
    for phrase in phrases:
        for text in candidates:
            if text in phrase and _stands_alone(phrase, text):
                return text, phrase
    return None


def _stands_alone(phrase: str, text: str) -> bool:
    """Whether the text occurs without running on into a word or a number.

    The rule of `contains_anchor` for one phrase of ours; without patterns, since nearly every anchor is new.
    """
    at = phrase.find(text)
    while at >= 0:
        before, after = phrase[max(0, at - 2) : at], phrase[at + len(text) : at + len(text) + 2]
        runs_on = _is_word(text[-1]) and (_is_word(after[:1]) or (after[:1] in (".", ",") and after[1:].isdigit()))
        runs_in = _is_word(text[0]) and (_is_word(before[-1:]) or (text[0].isdigit() and _is_decimal(before)))
        if not runs_on and not runs_in:
            return True
        at = phrase.find(text, at + 1)
    return False


def _is_decimal(before: str) -> bool:
    return before[-1:] in (".", ",") and before[:1].isdigit()


def _is_word(character: str) -> bool:
    return character.isalnum() and not "\u3040" <= character <= "\u9fff"
