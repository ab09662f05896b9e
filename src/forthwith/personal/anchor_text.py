"""Whether a text says a string exactly: the one comparison behind required and forbidden anchors.

Case counts. Runs of white space and typographic quotes, dashes and spaces are alike on both sides. A string that
begins or ends with a letter or digit must not run on into another one, nor into a decimal: `$50` is not in `$500`, nor
in `$50.99`. Between Chinese characters there are no word boundaries, so none are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["absent", "contains_anchor", "normalised", "present"]

_ALIKE = str.maketrans(
    {
        "‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "«": '"', "»": '"',
        "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "−": "-",
        "\u00a0": " ", "\u2007": " ", "\u2009": " ", "\u200a": " ", "\u202f": " ", "\u3000": " ",
        "\u200b": None, "\ufeff": None,
    }
)  # fmt: skip
_SPACELESS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def normalised(text: str) -> str:
    """The text with white space collapsed and typographic quotes, dashes and spaces made plain."""
    return " ".join(text.translate(_ALIKE).split())


def contains_anchor(text: str, anchor: str, *, is_normalised: bool = False) -> bool:
    """Whether the text says the anchor; set `is_normalised` when the text has been through `normalised`."""
    plain = _plain(anchor)
    if not plain:
        return True
    text = text if is_normalised else normalised(text)
    at = text.find(plain)
    while at >= 0:
        if _stands_alone(text, at, plain):
            return True
        at = text.find(plain, at + 1)
    return False


@lru_cache(maxsize=65_536)
def _plain(anchor: str) -> str:
    return normalised(anchor)


def _stands_alone(text: str, at: int, plain: str) -> bool:
    before, after = text[max(0, at - 2) : at], text[at + len(plain) : at + len(plain) + 2]
    if _is_word(plain[-1]) and (_is_word(after[:1]) or (after[:1] in (".", ",") and after[1:].isdigit())):
        return False
    if not _is_word(plain[0]):
        return True
    is_decimal = plain[0].isdigit() and before[-1:] in (".", ",") and before[:-1].isdigit()
    return not _is_word(before[-1:]) and not is_decimal


def _is_word(character: str) -> bool:
    """Whether it is a letter or digit of a script that puts spaces between words."""
    return character.isalnum() and not _SPACELESS.match(character)


def absent(text: str, anchors: Iterable[str]) -> list[str]:
    """The anchors that the text does not say, in order."""
    plain = normalised(text)
    return [anchor for anchor in anchors if not contains_anchor(plain, anchor, is_normalised=True)]


def present(text: str, anchors: Iterable[str]) -> list[str]:
    """The anchors that the text says, in order."""
    plain = normalised(text)
    return [anchor for anchor in anchors if contains_anchor(plain, anchor, is_normalised=True)]
