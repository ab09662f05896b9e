"""Where a string stands alone in a text, not inside a longer word or number: the rule of `anchor_text` at speed.

Nearly every anchor is new, so compiling a pattern for each costs more than looking at the neighbours of a find.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["places_of", "stands_alone"]


def stands_alone(text: str, string: str) -> bool:
    """Whether the string occurs in the text without running on into a word or a number; both are normalised."""
    return next(places_of(text, string), None) is not None


def places_of(text: str, string: str) -> Iterator[int]:
    """The places at which the string stands alone, without overlaps."""
    if not string:
        return
    at = text.find(string)
    while at >= 0:
        if _runs_in(text, at, string[0]) or _runs_on(text, at + len(string), string[-1]):
            at = text.find(string, at + 1)
        else:
            yield at
            at = text.find(string, at + len(string))


def _runs_in(text: str, at: int, first: str) -> bool:
    before = text[max(0, at - 2) : at]
    if not _is_word(first) or not before:
        return False
    return _is_word(before[-1]) or (first.isdigit() and before[-1] in ".," and before[0].isdigit() and len(before) == 2)


def _runs_on(text: str, end: int, last: str) -> bool:
    after = text[end : end + 2]
    if not _is_word(last) or not after:
        return False
    return _is_word(after[0]) or (after[0] in ".," and after[1:].isdigit())


def _is_word(character: str) -> bool:
    """Whether the character belongs to a script that puts spaces between words, as a letter or digit."""
    return character.isalnum() and not ("\u3040" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7af")
