"""The plan of one text before it is laid out: sentences by section, pending items, and which line said what."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from forthwith.personal.lines import Line, MemoryFact
from forthwith.personal.render.phraser import Phraser
from forthwith.personal.snapshot import Snapshot, line_kind

__all__ = ["Paragraphs", "PendingText", "SectionText", "Sheet", "ordered_sections"]


@dataclass(frozen=True, slots=True)
class Paragraphs:
    """A laid-out text: its paragraphs, and the phrase of every snapshot line (by line id) as it stands in them."""

    texts: list[str]
    contexts: dict[str, str]


@dataclass(frozen=True, slots=True)
class SectionText:
    """The sentences of one section of the snapshot."""

    name: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PendingText:
    """One pending item in words: the labelled sentence and the lines of its options."""

    text: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a layout puts on the page.

    Attributes:
        voice: for headings and connecting words.
    """

    voice: Phraser
    now: str
    sections: tuple[SectionText, ...]
    pending: tuple[PendingText, ...]


def ordered_sections(snapshot: Snapshot, voice: Phraser) -> list[tuple[str, list[Line]]]:
    """The sections with their lines in the order of this record, pending items apart.

    Sections are shuffled; within rules, groups of one kind are shuffled and each keeps its own order, since of two
    lines of one day the later listed counts. Memory stays in order of date.
    """
    sections: list[tuple[str, list[Line]]] = [
        ("profile", list(snapshot.profile)),
        ("memory", [*sorted(snapshot.memory, key=_day)]),
        ("rules", _grouped(list(snapshot.rules), voice)),
        ("preference_updates", list(snapshot.preference_updates)),
        ("forget_requests", list(snapshot.forget_requests)),
        ("contacts", _shuffled(list(snapshot.contacts), voice)),
        ("calendar", list(snapshot.calendar)),
        ("notes", _shuffled(list(snapshot.notes), voice)),
    ]
    filled = [section for section in sections if section[1]]
    voice.rng.shuffle(filled)
    return filled


def _day(fact: MemoryFact) -> dt.date:
    return fact.date


def _shuffled(lines: list[Line], voice: Phraser) -> list[Line]:
    voice.rng.shuffle(lines)
    return lines


def _grouped(lines: list[Line], voice: Phraser) -> list[Line]:
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(line_kind(line), []).append(line)
    kinds = list(groups)
    voice.rng.shuffle(kinds)
    return [line for kind in kinds for line in groups[kind]]
