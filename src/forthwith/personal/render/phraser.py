"""The voice of one record: which patterns it may use, in which language and person, with which spellings."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from forthwith.personal.render.formats import Formats
from forthwith.personal.render.grammar import Language, expand, patterns, section_names
from forthwith.personal.render.rendered import Wording

__all__ = ["Phraser", "TermSet"]

TermSet = Literal[
    "relation", "relations", "event", "event_one", "kinds", "privacy", "level", "urgency", "service", "polarity"
]
"""A closed set of words that a language may say in its own way."""

_THIRD: dict[Language, str] = {"en": "the user", "zh": "用户"}


@dataclass(frozen=True, slots=True)
class Phraser:
    """Says things in one voice.

    Attributes:
        rng: decides among patterns and parts.
        today: the day of the decision; what is dated later is said to come.
        subject: who the rules are about, in the third person; None: the user.
    """

    rng: random.Random
    language: Language
    first_person: bool
    wording: Wording
    formats: Formats
    today: dt.date
    subject: str | None = None

    def about(self, owner: str) -> Phraser:
        """The same voice, speaking of somebody else in the third person."""
        return dataclasses.replace(self, first_person=False, subject=owner)

    def say(self, file: str, section: str, **values: str) -> str:
        """A sentence of a section with its slots filled."""
        choices = patterns(self.language, file, section, self.wording)
        subject = self.subject or _THIRD[self.language]
        values["the"] = subject
        values["The"] = subject[:1].upper() + subject[1:]
        pattern = choices[int(self.rng.random() * len(choices))]
        return expand(pattern, self.rng, values, first_person=self.first_person)

    def term(self, kind: TermSet, word: str) -> str:
        """How this language says a word of a closed set; where the language has no own word, the word itself."""
        section = f"{kind}.{word}"
        if section not in section_names(self.language, "terms"):
            return word
        choices = patterns(self.language, "terms", section, "seen")
        return expand(choices[int(self.rng.random() * len(choices))], self.rng, {}, first_person=False)

    def date(self, day: dt.date) -> str:
        """A day in the record's spelling."""
        return self.formats.date(day)

    def dollars(self, amount: int) -> str:
        """Whole dollars in the record's spelling."""
        return self.formats.money(100 * amount)

    def cents(self, amount: int) -> str:
        """Cents in the record's spelling."""
        return self.formats.money(amount)

    def listing(self, members: Sequence[str]) -> str:
        """Names in a row: "a, b and c"; "none" where there are none."""
        if not members:
            return self.term_text("list_none")
        if self.language == "zh":
            return "、".join(members)
        if len(members) == 1:
            return members[0]
        return ", ".join(members[:-1]) + " and " + members[-1]

    def term_text(self, section: str) -> str:
        """A word of the language that stands alone."""
        return self.say("terms", section)

    def window(self, start: int, end: int) -> str:
        """Hours from start to end, with one of the usual joints."""
        joints = ("-", "–", "到", "至") if self.language == "zh" else ("-", "–", " to ", " until ")
        return self.formats.window(start, end, self.rng.choice(joints))
