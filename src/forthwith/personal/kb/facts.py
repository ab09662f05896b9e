"""From reviews to memory facts: the words that an opinion rests on, verbatim, and its polarity."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from forthwith.personal.vocabulary import Polarity

__all__ = ["MAX_EVIDENCE", "MIN_EVIDENCE", "evidence_of", "polarity_of", "traits_of"]

MIN_EVIDENCE, MAX_EVIDENCE = 12, 200
"""Shortest and longest evidence in characters."""

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")


def polarity_of(rating: int) -> Polarity:
    """4 and 5 likes, 1 and 2 dislikes, 3 mixed."""
    return "likes" if rating >= 4 else "dislikes" if rating <= 2 else "mixed"


def evidence_of(text: str) -> str:
    """The first sentence of 12 to 200 characters, else a prefix that ends at a word, else nothing.

    Always an exact substring of the text.
    """
    for match in _SENTENCE.finditer(text):
        sentence = match.group().strip()
        if MIN_EVIDENCE <= len(sentence) <= MAX_EVIDENCE:
            return sentence
    prefix = text.strip()[: MAX_EVIDENCE + 1]
    if len(prefix) > MAX_EVIDENCE:
        prefix = prefix.rsplit(None, 1)[0][:MAX_EVIDENCE]
    prefix = prefix.split("\n", 1)[0].strip()
    return prefix if len(prefix) >= MIN_EVIDENCE else ""


def traits_of(attributes: str | None, category: str) -> tuple[str, ...]:
    """Up to three things known of an item beside its category: its traits, else its other categories."""
    if not attributes:
        return ()
    raw: Any = json.loads(attributes)
    if not isinstance(raw, dict):
        return ()
    known = cast("dict[str, Any]", raw)
    words = cast("list[object]", known.get("traits") or known.get("categories") or [])
    names = [str(word) for word in words]
    return tuple(dict.fromkeys(name for name in names if name and name != category))[:3]
