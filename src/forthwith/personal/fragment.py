"""What one family contributes to a record, what was planned for the record, and the draft that a renderer gets."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Literal

from forthwith.personal.pending import ItemOption, Pending
from forthwith.personal.snapshot import (
    CalendarEvent,
    Contact,
    ForgetLine,
    MemoryFact,
    NoteLine,
    PreferenceLine,
    ProfileLine,
    RuleLine,
    Snapshot,
)
from forthwith.personal.steps import Step
from forthwith.personal.vocabulary import Family, RouteOption, Split, Variant

__all__ = [
    "Anchor",
    "AnchorKind",
    "DraftRecord",
    "Extent",
    "Fragment",
    "PlannedFamily",
    "PlannedRecord",
    "QuestionSpec",
]

Extent = Literal["full", "short", "brief"]
"""How much a state holds beside what its questions need."""

AnchorKind = Literal["text", "date", "datetime", "hour", "money", "number", "level", "word"]
"""How an anchor may be written: `text` verbatim; the others in any spelling that a reader takes for the same value."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A value that must (or must not) occur in the text.

    Attributes:
        text: the canonical writing: dates ISO, datetimes "YYYY-MM-DD HH:MM", hours "HH:00", money "$50" or "$61.98",
            levels, services and relationships by their vocabulary word.
        role: whose value it is, dotted: "spend_limit.amount", "type_cap.level", "pending.amount".
        line_id: the line of the snapshot that says it; anchors of one line belong together in the text.
        kind: which spellings count.
    """

    text: str
    role: str
    line_id: str
    kind: AnchorKind = "text"


@dataclass(frozen=True, slots=True)
class QuestionSpec:
    """One question without its wording.

    Attributes:
        type: noul, choice or score.
        pending: the label of the pending item that it asks about.
        note_date: the day of the memory line in question (apply_memory).
        options: the options of pick_option in displayed order; their ids are the keys of label and soft target.
        route_options: the options of route in displayed order.
    """

    family: Family
    type: Literal["noul", "choice", "score"]
    pending: str
    note_date: dt.date | None = None
    options: tuple[ItemOption, ...] = ()
    route_options: tuple[RouteOption, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The option keys in order: ("false", "true"); option ids; route options; ("0", "1", "2", "3")."""
        if self.type == "noul":
            return ("false", "true")
        if self.type == "score":
            return ("0", "1", "2", "3")
        return self.route_options or tuple(option.option_id for option in self.options)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A family's question, its answer, and the lines that decide it.

    Attributes:
        qid: the question id; equals the family.
        scenario: which situation of the family this is, for diagnosis ("purchase", "attribute", "quiet").
        label: the right key of `question.keys`.
        soft: key to share, sums to 1, where the state leaves the answer open; None for a hard label.
        required: anchors that must be in the text.
        forbidden: anchors that must not be in the text.
        rule_path: the steps from values to label, for people.
        steps: the same as questions, for training.
        needed_facts: facts that must be in memory; withheld_facts: facts that must not.
        memory, rules, ...: the lines that this fragment adds.
        distractors: line ids among them that must not change the answer.
        candidate: index of the option set that was chosen (pick_option).
        ranks: by feature, options before the target and options that share its value (pick_option).
    """

    family: Family
    qid: str
    variant: Variant
    scenario: str
    question: QuestionSpec
    label: str
    soft: tuple[tuple[str, float], ...] | None
    required: tuple[Anchor, ...]
    forbidden: tuple[Anchor, ...]
    rule_path: tuple[str, ...]
    pending: Pending
    steps: tuple[Step, ...] = ()
    needed_facts: frozenset[str] = frozenset()
    withheld_facts: frozenset[str] = frozenset()
    profile: tuple[ProfileLine, ...] = ()
    memory: tuple[MemoryFact, ...] = ()
    rules: tuple[RuleLine, ...] = ()
    preference_updates: tuple[PreferenceLine, ...] = ()
    forget_requests: tuple[ForgetLine, ...] = ()
    contacts: tuple[Contact, ...] = ()
    calendar: tuple[CalendarEvent, ...] = ()
    notes: tuple[NoteLine, ...] = ()
    distractors: frozenset[str] = frozenset()
    candidate: int = 0
    ranks: tuple[tuple[int, int], ...] = ()

    @property
    def is_hard(self) -> bool:
        """Whether the state decides the answer."""
        return self.soft is None


@dataclass(frozen=True, slots=True)
class PlannedFamily:
    """What one family shall contribute: everything that balance depends on is fixed here.

    Attributes:
        label: the scheduled key ("true", "2", a route option); None where the position is scheduled instead.
        is_hard: False where the variant leaves the answer open.
        position: place of the right option among the displayed ones, 0-based (choice), else None.
        size: number of options (pick_option), else 0.
        scenario: the scheduled situation.
        attempt: which random stream realises it.
        candidate: index of the option set among those sampled (pick_option), else 0.
        ranks: 0-based rank of the target by price, popularity, distance to medoid and centroid, and length of name.
    """

    family: Family
    variant: Variant
    scenario: str
    label: str | None
    is_hard: bool
    position: int | None = None
    size: int = 0
    attempt: int = 0
    candidate: int = 0
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedRecord:
    """Everything about one record that is decided before it is drafted.

    Attributes:
        record_id: "pd/<split>/<seed>/<index>".
        visit: which of the user's later choices is the present.
        style_id: the rendering style.
        buried_tokens: budget of unrelated documents to insert (3 characters a token); 0 for none.
        wording_split: whose share of phrasings may be used.
        extent: what the state holds beside what its questions need: further memories and lines that must not change an answer
            ("full"), the latter alone ("short"), or nothing ("brief").
        asks_steps: whether it also asks the steps of each question's rule.
        lookups: how many questions about single lines it also asks, at most.
    """

    record_id: str
    split: Split
    seed: int
    index: int
    user_id: str
    visit: int
    style_id: str
    families: tuple[PlannedFamily, ...]
    buried_tokens: int
    wording_split: Split
    extent: Extent = "full"
    asks_steps: bool = False
    lookups: int = 0


@dataclass(frozen=True, slots=True)
class DraftRecord:
    """A planned record with its snapshot, questions and documents to bury; a renderer needs nothing else.

    Attributes:
        documents: (heading kind "mail" or "review", date, text) to insert after rendering, already within the budget.
        is_synthetic: whether the record stems from the synthetic world.
    """

    planned: PlannedRecord
    snapshot: Snapshot
    fragments: tuple[Fragment, ...]
    documents: tuple[tuple[str, dt.date, str], ...] = ()
    is_synthetic: bool = True
    extra: dict[str, str] = field(default_factory=dict[str, str])
