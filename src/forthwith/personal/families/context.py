"""What a family sees when it builds a fragment, and the lines that several families share."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from forthwith.personal.families.anchors import anchors_of
from forthwith.personal.fragment import Anchor, PlannedFamily
from forthwith.personal.kb.habits import address
from forthwith.personal.kb.knowledge import KnowledgeBase
from forthwith.personal.kb.profile import Fact, LaterChoice, Person, UserProfile
from forthwith.personal.lines import Contact, ForgetLine, Line, MemoryFact, Repermission
from forthwith.personal.pending import Pending, PendingBody
from forthwith.personal.rules import ForgetTerm
from forthwith.personal.vocabulary import EventType, RecipientType, Variant
from forthwith.personal.world.names import FIRST_NAMES, LAST_NAMES, person_name

__all__ = ["Cell", "FamilyContext", "RankTally"]

Heading = Literal["Request", "Proposed action", "Incoming event"]


class Cell(NamedTuple):
    """One cell of a family's design: a variant, a scheduled label (None: scheduled by position) and a scenario."""

    variant: Variant
    label: str | None
    scenario: str
    is_hard: bool = True
    size: int = 0


class RankTally:
    """How often the target of a pick took each rank of each feature, by number of options, hard questions apart.

    The plan asks for the option set whose ranks have been rarest so far, so that no feature gives the target away.
    """

    def __init__(self) -> None:
        self.counts: dict[tuple[int, bool, str], list[float]] = {}

    def of(self, size: int, feature: str, *, is_hard: bool) -> list[float]:
        """Counts by rank; the list is live."""
        return self.counts.setdefault((size, is_hard, feature), [0.0] * size)


@dataclass(frozen=True)
class FamilyContext:
    """One attempt at one fragment.

    Attributes:
        now: naive local time of the decision.
        target: the later choice that the present belongs to.
        letter: of the pending item.
        rng: the stream of this attempt; a family draws from no other.
        tally: rank counts while planning; None when a plan is being realised.
    """

    kb: KnowledgeBase
    user: UserProfile
    now: dt.datetime
    target: LaterChoice
    slot: PlannedFamily
    letter: str
    rng: random.Random
    tally: RankTally | None = None

    @property
    def today(self) -> dt.date:
        """The day of the decision."""
        return self.now.date()

    @property
    def forgotten(self) -> frozenset[str]:
        """Facts that the user asked to forget by today."""
        facts = self.user.facts
        return frozenset(facts[f.fact_index].fact_id for f in self.user.forgets if f.date <= self.today)

    def open_facts(self) -> list[Fact]:
        """The facts that may be remembered, one a day, oldest first."""
        forgotten = self.forgotten
        by_day = {fact.date: fact for fact in reversed(self.user.facts) if fact.fact_id not in forgotten}
        return sorted(by_day.values(), key=lambda fact: fact.date)

    def free_day(self) -> dt.date | None:
        """A day within the history on which nothing was noted."""
        taken = {fact.date for fact in self.user.facts}
        span = (self.user.cut_day - self.user.first_day).days
        for _ in range(12):
            day = self.user.first_day + dt.timedelta(days=self.rng.randrange(1, max(2, span)))
            if day not in taken:
                return day
        return None

    def recent_day(self) -> dt.date | None:
        """A day strictly between the last fact and today, None when there is none."""
        span = (self.today - self.user.cut_day).days
        return None if span < 2 else self.user.cut_day + dt.timedelta(days=self.rng.randrange(1, span))

    def day_after(self, first: dt.date) -> dt.date | None:
        """A day after `first` and before today, None when there is none."""
        span = (self.today - first).days
        return None if span < 2 else first + dt.timedelta(days=self.rng.randrange(1, span))

    def contacts(self) -> tuple[Contact, ...]:
        """All contacts as lines."""
        return tuple(contact_line(person) for person in self.user.habits.people)

    def stranger(self) -> Person:
        """Somebody who is not a contact; half of them share a first or last name with one."""
        known = {person.name for person in self.user.habits.people}
        like = self.rng.choice(self.user.habits.people).name.split()
        for _ in range(50):
            first, last = person_name(self.rng).split()
            if self.rng.random() < 0.5:
                first, last = (like[0], last) if self.rng.random() < 0.5 else (first, like[1])
            if f"{first} {last}" not in known:
                return Person(f"{first} {last}", "coworker", address(self.rng, first, last))
        raise AssertionError("two lists of dozens of names must hold a new pair")

    def pending(self, heading: Heading, body: PendingBody) -> Pending:
        """The pending item of this fragment."""
        return Pending(f"pending:{self.letter}", heading, self.letter, body)


def contact_line(person: Person) -> Contact:
    """A contact as a line."""
    return Contact(f"contact:{person.name}", person.name, person.relationship, person.email)


def memory_line(fact: Fact) -> MemoryFact:
    """A fact as a line."""
    return MemoryFact(
        line_id=f"memory:{fact.fact_id}",
        fact_id=fact.fact_id,
        date=fact.date,
        item_id=fact.item_id,
        item_name=fact.item_name,
        domain=fact.domain,
        category=fact.category,
        polarity=fact.polarity,
        rating=fact.rating,
        evidence=fact.evidence,
        city=fact.city,
        traits=fact.traits,
    )


def required(lines: Iterable[Line]) -> tuple[Anchor, ...]:
    """The anchors of the lines that decide."""
    return anchors_of(lines)


def other_person(ctx: FamilyContext) -> str:
    """Whose rules a distractor states: a contact, or anybody."""
    people = [person.name for person in ctx.user.habits.people]
    if ctx.rng.random() < 0.6:
        return ctx.rng.choice(people)
    return f"{ctx.rng.choice(FIRST_NAMES)} {ctx.rng.choice(LAST_NAMES)}"


EVENT_NEEDS_SENDER: frozenset[EventType] = frozenset({"message"})
RECIPIENTS_WITH_NAME: tuple[RecipientType, ...] = ("family", "close_friend", "coworker", "service_provider")


def forget_term(line: ForgetLine) -> ForgetTerm:
    """What a line about forgetting means to the rule."""
    return ForgetTerm(
        line.date, isinstance(line, Repermission), line.item_name, line.note_date, line.attribute, line.category
    )
