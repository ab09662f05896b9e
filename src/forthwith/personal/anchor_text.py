"""Whether a text says a string exactly: the one comparison behind required and forbidden anchors.

Case counts. Runs of white space and typographic quotes, dashes and spaces are alike on both sides. A string that
begins or ends with a letter or digit must not run on into another one, nor into a decimal: `$50` is not in `$500`, nor
in `$50.99`. Between Chinese characters there are no word boundaries, so none are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["absent", "anchor_pattern", "contains_anchor", "normalised", "present"]

_ALIKE = str.maketrans(
    {
        "‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "«": '"', "»": '"',
        "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "−": "-",
        "\u00a0": " ", "\u2007": " ", "\u2009": " ", "\u200a": " ", "\u202f": " ", "\u3000": " ",
        "\u200b": None, "\ufeff": None,
    }
)  # fmt: skip
_WORD = r"[^\W_\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]"  # letters and digits of scripts that put spaces between words


def normalised(text: str) -> str:
    """The text with white space collapsed and typographic quotes, dashes and spaces made plain."""
    return " ".join(text.translate(_ALIKE).split())


@lru_cache(maxsize=65_536)
def anchor_pattern(anchor: str) -> re.Pattern[str]:
    """The pattern that finds an anchor in a normalised text."""
    plain = normalised(anchor)
    before = rf"(?<!{_WORD})" + (r"(?<!\d[.,])" if plain[:1].isdigit() else "") if re.match(_WORD, plain) else ""
    after = rf"(?!{_WORD})(?![.,]\d)" if re.search(rf"{_WORD}$", plain) else ""
    return re.compile(before + re.escape(plain) + after)


def contains_anchor(text: str, anchor: str, *, is_normalised: bool = False) -> bool:
    """Whether the text says the anchor; set `is_normalised` when the text has been through `normalised`."""
    return anchor_pattern(anchor).search(text if is_normalised else normalised(text)) is not None


def absent(text: str, anchors: Iterable[str]) -> list[str]:
    """The anchors that the text does not say, in order."""
    plain = normalised(text)
    return [anchor for anchor in anchors if not contains_anchor(plain, anchor, is_normalised=True)]


def present(text: str, anchors: Iterable[str]) -> list[str]:
    """The anchors that the text says, in order."""
    plain = normalised(text)
    return [anchor for anchor in anchors if contains_anchor(plain, anchor, is_normalised=True)]
