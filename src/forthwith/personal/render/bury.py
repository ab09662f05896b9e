"""Documents that have nothing to do with a record, put between its paragraphs."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence

from forthwith.personal.render.formats import Formats

__all__ = ["Document", "bury", "document_block"]

Document = tuple[str, dt.date, str]
"""Kind ("mail", "review"), day, text."""

_HEADINGS = {
    "mail": (
        "[archived mail, {date}]",
        "--- old e-mail from the archive ({date}) ---",
        "Mail archive, {date}:",
        "(an e-mail kept from {date})",
        "===== stored message {date} =====",
    ),
    "review": (
        "[review by another person, {date}]",
        "--- what somebody else wrote, {date} ---",
        "A stranger's review of {date}:",
        "(review by another user, {date})",
        "===== someone else's review {date} =====",
    ),
}


def document_block(kind: str, date: dt.date, text: str, formats: Formats, rng: random.Random) -> str:
    """A document with the heading that says what it is."""
    heading = rng.choice(_HEADINGS["review" if kind == "review" else "mail"])
    return f"{heading.format(date=formats.date(date))}\n{text.strip()}"


def bury(paragraphs: Sequence[str], documents: Sequence[Document], formats: Formats, rng: random.Random) -> list[str]:
    """The paragraphs in order with the documents at seeded places between, before and after them."""
    slots: list[list[str]] = [[] for _ in range(len(paragraphs) + 1)]
    for kind, date, text in documents:
        slots[int(rng.random() * len(slots))].append(document_block(kind, date, text, formats, rng))
    out: list[str] = []
    for index, blocks in enumerate(slots):
        out.extend(blocks)
        if index < len(paragraphs):
            out.append(paragraphs[index])
    return out
