"""The same text in two places: requests normalised so that spelling, spacing and letter case do not hide a repeat."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

__all__ = ["normalised_text", "seen_texts"]


def normalised_text(text: str) -> str:
    """The text in Unicode form NFKC, case-folded, with runs of spaces as one."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def seen_texts(texts: Iterable[str]) -> frozenset[str]:
    """Normalised texts, to ask whether another is among them."""
    return frozenset(normalised_text(text) for text in texts)
