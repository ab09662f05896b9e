"""May a recipient hear a fact? Yes when the clearance of that kind of recipient reaches the fact's privacy level."""

from __future__ import annotations

from dataclasses import dataclass

from forthwith.personal.families.anchors import anchors_of
from forthwith.personal.families.context import (
    Cell,
    FamilyContext,
    contact_line,
    memory_line,
    other_person,
    required,
)
from forthwith.personal.fragment import Fragment, QuestionSpec
from forthwith.personal.kb.profile import Fact, Person
from forthwith.personal.lines import Clearance, Contact, FactMarking, PastCases, PrivacyOrder, RuleLine
from forthwith.personal.pending import ShareAction
from forthwith.personal.rules import Dated, in_force, may_share
from forthwith.personal.steps import Step, one_of, yes_no
from forthwith.personal.vocabulary import PRIVACY_LEVELS, RECIPIENT_TYPES, PrivacyLevel, RecipientType

__all__ = ["DESIGN", "build"]

_LABELS = ("true", "false")
DESIGN: tuple[Cell, ...] = (
    *(Cell("clean", label, kind) for kind in RECIPIENT_TYPES for label in _LABELS),
    *(Cell("override", label, kind) for kind in RECIPIENT_TYPES for label in _LABELS),
    *(Cell("clean", label, kind) for kind in RECIPIENT_TYPES for label in _LABELS),
    *(Cell("removed", None, kind, is_hard=False) for kind in (*RECIPIENT_TYPES, *RECIPIENT_TYPES)),
)
"""Each kind of recipient may hear in half of the hard questions, so that the recipient alone says nothing."""


@dataclass(frozen=True)
class _Case:
    fact: Fact
    person: Person | None
    clearance: PrivacyLevel
    markings: tuple[FactMarking, ...]


def build(ctx: FamilyContext) -> Fragment | None:
    """A fragment whose label is the one scheduled, or None when this user cannot give it."""
    case = _case(ctx)
    if case is None:
        return None
    terms: list[Dated[PrivacyLevel]] = [Dated(line.level, line.since) for line in case.markings]
    level = in_force(terms, ctx.today)
    if level is None:
        return None
    label = may_share(level, case.clearance)
    if ctx.slot.label is not None and str(label).lower() != ctx.slot.label:
        return None
    return _fragment(ctx, case, level, label=str(label).lower())


def _case(ctx: FamilyContext) -> _Case | None:
    kind = _recipient_type(ctx)
    people = [person for person in ctx.user.habits.people if person.relationship == kind]
    if kind != "public" and not people:
        return None
    person = None if kind == "public" else ctx.rng.choice(people)
    clearance = ctx.user.habits.clearance[kind]
    facts = ctx.open_facts()
    ctx.rng.shuffle(facts)
    for fact in facts:
        markings = _markings(ctx, fact, clearance)
        if markings is not None:
            return _Case(fact, person, clearance, markings)
    return None


def _recipient_type(ctx: FamilyContext) -> RecipientType:
    return ctx.slot.scenario  # pyright: ignore[reportReturnType]  # the design holds recipient types only


def _markings(ctx: FamilyContext, fact: Fact, clearance: PrivacyLevel) -> tuple[FactMarking, ...] | None:
    """The fact's marking, for override a later one that turns the answer over; None when the label cannot be had."""
    first = FactMarking(f"marking:{fact.fact_id}:0", fact.fact_id, fact.item_name, fact.privacy)
    if ctx.slot.label is None:
        return (first,)
    wants = ctx.slot.label == "true"
    if ctx.slot.variant == "clean":
        return (first,) if may_share(fact.privacy, clearance) == wants else None
    if may_share(fact.privacy, clearance) == wants:
        return None
    levels: list[PrivacyLevel] = [level for level in PRIVACY_LEVELS if may_share(level, clearance) == wants]
    date = ctx.day_after(fact.date)
    if not levels or date is None:
        return None
    later = FactMarking(f"marking:{fact.fact_id}:1", fact.fact_id, fact.item_name, ctx.rng.choice(levels), date)
    return (first, later)


def _fragment(ctx: FamilyContext, case: _Case, level: PrivacyLevel, *, label: str) -> Fragment:
    kind = _recipient_type(ctx)
    name = None if case.person is None else case.person.name
    body = ShareAction(case.fact.fact_id, case.fact.item_name, name, kind)
    pending = ctx.pending("Proposed action", body)
    is_removed = ctx.slot.variant == "removed"
    past = _past_cases(ctx) if is_removed and ctx.rng.random() < 0.5 else ()
    noise = _noise(ctx, case, kind)
    deciding: tuple[RuleLine, ...] = (
        PrivacyOrder("privacy_order", PRIVACY_LEVELS),
        Clearance(f"clearance:{kind}", kind, case.clearance),
        *(() if is_removed else case.markings),
    )
    contacts: tuple[Contact, ...] = () if case.person is None else (contact_line(case.person),)
    memory = (memory_line(case.fact),)
    shown = (pending, *deciding, *contacts, *memory, *past)
    share = past[0].positive / past[0].total if past else 0.5
    return Fragment(
        family="share_ok",
        qid="share_ok",
        variant=ctx.slot.variant,
        scenario=kind,
        question=QuestionSpec("share_ok", "noul", pending.label),
        label=label,
        soft=(("false", 1 - share), ("true", share)) if is_removed else None,
        required=required((*shown, *noise)),
        forbidden=tuple(a for a in anchors_of(case.markings) if is_removed and a.kind == "date"),
        rule_path=(
            f"{kind} is cleared up to {case.clearance}",
            f"the fact about {case.fact.item_name} is marked {level} on {ctx.today}",
            f"may share: {label}",
        ),
        pending=pending,
        steps=_steps(case, kind, level, pending.label, is_marked=not is_removed),
        needed_facts=frozenset({case.fact.fact_id}),
        memory=memory,
        rules=(*deciding, *noise),
        contacts=contacts,
        notes=past,
        distractors=frozenset(line.line_id for line in noise),
    )


def _steps(case: _Case, kind: RecipientType, level: PrivacyLevel, label: str, *, is_marked: bool) -> tuple[Step, ...]:
    """Who hears it, what they may hear, how it is marked, and which of the two levels is higher."""
    item, clearance = case.fact.item_name, case.clearance
    marking = one_of("marking", f"How private is what is known about {item} today?", PRIVACY_LEVELS, level)
    return (
        one_of("recipient", f"Who would hear it by {label}?", RECIPIENT_TYPES, kind),
        one_of(
            "clearance", f"Up to which level may the one who hears it by {label} be told?", PRIVACY_LEVELS, clearance
        ),
        yes_no("order", f"Does the level {level} lie above the level {clearance}?", not may_share(level, clearance)),
        *((marking,) if is_marked else ()),
    )


def _noise(ctx: FamilyContext, case: _Case, kind: RecipientType) -> tuple[RuleLine, ...]:
    """The clearances of other recipients, another fact's marking, and now and then somebody else's clearance."""
    habits = ctx.user.habits
    lines: list[RuleLine] = [
        Clearance(f"clearance:{other}", other, habits.clearance[other])
        for other in RECIPIENT_TYPES
        if other != kind and ctx.rng.random() < 0.6
    ]
    others = [fact for fact in ctx.open_facts() if fact.item_name != case.fact.item_name]
    if others:
        fact = ctx.rng.choice(others)
        lines.append(FactMarking(f"marking:{fact.fact_id}:0", fact.fact_id, fact.item_name, fact.privacy))
    if ctx.rng.random() < 0.3:
        owner = other_person(ctx)
        lines.append(Clearance(f"clearance:{kind}:{owner}", kind, ctx.rng.choice(PRIVACY_LEVELS[:4]), owner=owner))
    return tuple(lines)


def _past_cases(ctx: FamilyContext) -> tuple[PastCases, ...]:
    total = ctx.rng.choice((5, 8, 10, 20))
    positive = ctx.rng.choice([count for count in range(1, total) if 2 * count != total])
    return (PastCases("past:sharing", "sharing", positive, total),)
