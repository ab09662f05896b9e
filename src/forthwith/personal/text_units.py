"""Cuts a state into the pieces in which values belong together: sentences, runs of sentences, pending items."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from forthwith.personal.anchor_text import normalised
from forthwith.personal.standing import stands_alone
from forthwith.personal.text_values import read_values

__all__ = ["TextUnit", "UnitIndex"]

_SENTENCE_END = re.compile(
    r"(?<![ap]\.m\.)(?<=[.!?])[\"')\]”]*\s+|(?<=[ap]\.m\.)\s+(?=[A-Z])|(?<=[\u3002\uff01\uff1f])|\n"
)
_REFERS_BACK = re.compile(
    r"(?:(?:It|This|That|They|These|He|She|Now|Since then|From then on|After that)\b|这|它|现在|此后)"
)
_GLUE = "\ue000"
"""Stands for a space that no sentence ends at; from the private use area, so no text holds it."""

_CUTTABLE = re.compile(r"[.!?]\S*\s")


@dataclass(slots=True)
class TextUnit:
    """A piece of text with the values read in it (kind, canonical), counted."""

    text: str
    values: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def __add__(self, other: TextUnit) -> TextUnit:
        return TextUnit(f"{self.text} {other.text}", self.values + other.values)


def _unit(text: str) -> TextUnit:
    return TextUnit(text, Counter((value.kind, value.canonical) for value in read_values(text)))


class UnitIndex:
    """The pieces of one state.

    Attributes:
        pending: the piece of every pending item, by its label; a label that the text lacks is missing.
    """

    def __init__(self, text: str, labels: Sequence[str], whole: Iterable[str]) -> None:
        """Cuts the text; strings in `whole` (quotations, names) are never cut."""
        self.pending: dict[str, TextUnit] = {}
        self._lines: list[list[TextUnit]] = []
        kept = [string for string in whole if _CUTTABLE.search(string)]
        for paragraph in re.split(r"\n\s*\n", text):
            joined = re.sub(r"\n    (?! *[-.~])", " ", paragraph)
            lines = "\n".join(normalised(line) for line in joined.split("\n"))
            for line in self._take_pending(_glue(lines, kept), labels).split("\n"):
                parts = [part.replace(_GLUE, " ").strip() for part in _SENTENCE_END.split(line)]
                self._lines.append([_unit(part) for part in parts if part])

    def _take_pending(self, paragraph: str, labels: Sequence[str]) -> str:
        """Files the pending items of a paragraph, returns what stands before the first."""
        flat = paragraph.replace(_GLUE, " ")
        places = sorted((flat.find(label), label) for label in labels if stands_alone(flat, label))
        if not places:
            return paragraph
        ends = [place for place, _ in places[1:]] + [len(flat)]
        for (start, label), end in zip(places, ends, strict=True):
            piece = _unit(normalised(flat[start:end]))
            self.pending[label] = self.pending[label] + piece if label in self.pending else piece
        return paragraph[: places[0][0]]

    def sentences(self) -> Iterable[TextUnit]:
        """Every sentence, and every two of which the second refers back ("It is now ...")."""
        for line in self._lines:
            yield from line
            for first, second in itertools.pairwise(line):
                if _REFERS_BACK.match(second.text):
                    yield first + second


def _glue(text: str, strings: Iterable[str]) -> str:
    for string in strings:
        if string in text:
            text = text.replace(string, string.replace(" ", _GLUE))
    return text
