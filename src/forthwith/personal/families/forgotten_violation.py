"""Does an action use what the user asked to forget? By item, by note, by attribute; permissions lift requests."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

from forthwith.personal.families.context import (
    Cell,
    FamilyContext,
    contact_line,
    forget_term,
    memory_line,
    other_person,
    required,
)
from forthwith.personal.fragment import Fragment, QuestionSpec
from forthwith.personal.kb.profile import Fact
from forthwith.personal.lines import ForgetLine, ForgetRequest, Repermission
from forthwith.personal.pending import ForgottenAction
from forthwith.personal.rules import MemoryUse, uses_forgotten
from forthwith.personal.steps import Step, yes_no

__all__ = ["DESIGN", "build"]

_TRUE = tuple(
    Cell("clean", "true", scenario)
    for scenario in ("item", "near", "note", "attribute", "reallowed", "attribute", "note", "item")
)
_REMOVED = tuple(Cell("removed", "false", scenario) for scenario in ("item", "note", "attribute"))
_CLEAN = tuple(Cell("clean", "false", scenario) for scenario in ("near", "reallowed", "attribute"))
_FALSE_A = (*_REMOVED, Cell("removed", "false", "item"), *_CLEAN, Cell("clean", "false", "note"))
_FALSE_B = (*_REMOVED, Cell("removed", "false", "note"), *_CLEAN, Cell("clean", "false", "item"))

DESIGN: tuple[Cell, ...] = (*_TRUE, *_FALSE_A, *_TRUE, *_FALSE_B)
"""Every scenario is true as often as false. Removed is a hard contrast pair: the same action without the request."""


@dataclass(frozen=True)
class _Case:
    """The lines and the use of one scenario."""

    use: MemoryUse
    terms: tuple[ForgetLine, ...]
    shown: tuple[Fact, ...] = ()
    withheld: tuple[Fact, ...] = ()


def build(ctx: FamilyContext) -> Fragment | None:
    """A fragment whose label is the one scheduled, or None when this user cannot give it."""
    case = _attribute_case(ctx) if ctx.slot.scenario == "attribute" else _item_case(ctx)
    if case is None:
        return None
    label = uses_forgotten(case.use, [forget_term(line) for line in case.terms if line.owner is None], ctx.today)
    if str(label).lower() != ctx.slot.label:
        return None
    return _fragment(ctx, case, label=str(label).lower())


def _fragment(ctx: FamilyContext, case: _Case, *, label: str) -> Fragment:
    mode = ctx.rng.choice(("recommend", "tell", "personalise"))
    contact = ctx.rng.choice(ctx.user.habits.people) if mode == "tell" else None
    body = ForgottenAction(
        mode=mode,  # pyright: ignore[reportArgumentType]  # a choice of literals is typed str
        item_name=case.use.item_name,
        note_date=case.use.note_date,
        attribute=case.use.attribute,
        category=case.use.category,
        contact=None if contact is None else contact.name,
    )
    pending = ctx.pending("Proposed action", body)
    noise = _foreign_request(ctx, case) if ctx.rng.random() < 0.4 else ()
    memory = tuple(memory_line(fact) for fact in case.shown)
    use = case.use.item_name or case.use.attribute or f"the note of {case.use.note_date}"
    return Fragment(
        family="forgotten_violation",
        qid="forgotten_violation",
        variant=ctx.slot.variant,
        scenario=ctx.slot.scenario,
        question=QuestionSpec("forgotten_violation", "noul", pending.label),
        label=label,
        soft=None,
        required=required((pending, *case.terms, *noise, *memory)),
        forbidden=(),
        rule_path=(
            *(f"{line.date}: {type(line).__name__} {line.item_name or line.attribute}" for line in case.terms),
            f"the action uses {use}",
            f"violates: {label}",
        ),
        pending=pending,
        steps=_steps(ctx, case, pending.label),
        needed_facts=frozenset(fact.fact_id for fact in case.shown),
        withheld_facts=frozenset(fact.fact_id for fact in case.withheld),
        memory=memory,
        forget_requests=(*case.terms, *noise),
        contacts=() if contact is None else (contact_line(contact),),
        distractors=frozenset(line.line_id for line in noise),
    )


def _steps(ctx: FamilyContext, case: _Case, label: str) -> tuple[Step, ...]:
    """Whether what is used was ever to be forgotten, and whether it was ever allowed again."""
    own = [forget_term(line) for line in case.terms if line.owner is None]
    asked = [term for term in own if not term.allows]
    lifted = [replace(term, allows=False) for term in own if term.allows]
    return (
        yes_no(
            "asked",
            f"Was there ever a request to forget what {label} uses?",
            uses_forgotten(case.use, asked, ctx.today),
        ),
        yes_no(
            "lifted", f"Did the user ever allow again what {label} uses?", uses_forgotten(case.use, lifted, ctx.today)
        ),
    )


def _item_case(ctx: FamilyContext) -> _Case | None:
    facts = ctx.user.facts
    forgets = [forget for forget in ctx.user.forgets if forget.date <= ctx.today]
    if not forgets:
        return None
    forget = ctx.rng.choice(forgets)
    fact = facts[forget.fact_index]
    if sum(other.date == fact.date for other in facts) > 1:
        return None  # the day of the note must tell which note it is
    request = ForgetRequest(f"forget:{fact.fact_id}", forget.date, fact.item_name, fact.date)
    if ctx.slot.variant == "removed":
        return _case(ctx, _use(ctx, fact), (), fact)
    match ctx.slot.scenario:
        case "reallowed":
            return _reallowed(ctx, fact, request)
        case "near":
            return _near(ctx, fact, request)
        case _:
            return _plain(ctx, fact, request)


def _case(ctx: FamilyContext, use: MemoryUse, terms: tuple[ForgetLine, ...], *facts: Fact) -> _Case:
    """Each fact stands among the memories or does not, by a coin: an agent may have erased it, and that tells no label."""
    shown = tuple(fact for fact in facts if ctx.rng.random() < 0.5)
    return _Case(use, terms, shown=shown, withheld=tuple(fact for fact in facts if fact not in shown))


def _use(ctx: FamilyContext, fact: Fact) -> MemoryUse:
    if ctx.slot.scenario == "note":
        return MemoryUse(note_date=fact.date)
    return MemoryUse(item_name=fact.item_name)


def _plain(ctx: FamilyContext, fact: Fact, request: ForgetRequest) -> _Case | None:
    if ctx.slot.label == "true":
        return _case(ctx, _use(ctx, fact), (request,), fact)
    others = [other for other in ctx.open_facts() if other.item_name != fact.item_name]
    alike = [other for other in others if other.category == fact.category] or others
    if not alike:
        return None
    other = ctx.rng.choice(alike)
    return _case(ctx, _use(ctx, other), (request,), other, fact)


def _reallowed(ctx: FamilyContext, fact: Fact, request: ForgetRequest) -> _Case | None:
    """False: allowed again since. True: allowed, and then forgotten once more."""
    allowed = ctx.day_after(request.date)
    if allowed is None:
        return None
    lift = Repermission(f"allow:{fact.fact_id}", allowed, fact.item_name, fact.date)
    if ctx.slot.label == "false":
        return _case(ctx, _use(ctx, fact), (request, lift), fact)
    again = ctx.day_after(allowed)
    if again is None:
        return None
    last = ForgetRequest(f"forget-again:{fact.fact_id}", again, fact.item_name, fact.date)
    return _case(ctx, _use(ctx, fact), (request, lift, last), fact)


def _near(ctx: FamilyContext, fact: Fact, request: ForgetRequest) -> _Case | None:
    """An item of nearly the same name: false, it is the one used; true, it alone is allowed again."""
    twin = _twin_name(ctx, fact)
    if twin is None:
        return None
    if ctx.slot.label == "false":
        return _Case(MemoryUse(item_name=twin), (request,), withheld=(fact,))
    allowed = ctx.day_after(request.date)
    if allowed is None:
        return None
    lift = Repermission(f"allow-twin:{fact.fact_id}", allowed, twin)
    return _Case(MemoryUse(item_name=fact.item_name), (request, lift), withheld=(fact,))


def _twin_name(ctx: FamilyContext, fact: Fact) -> str | None:
    """The name in the catalogue that shares most words with the fact's, at least its first two."""
    catalogue = ctx.kb.catalogue
    words = fact.item_name.split()
    seen = {other.item_name for other in ctx.user.facts}
    best: tuple[int, str] | None = None
    for row in catalogue.group_of(catalogue.index[fact.item_id]):
        name = catalogue.names[int(row)]
        if name in seen or name.split()[:2] != words[:2] or name in fact.item_name or fact.item_name in name:
            continue
        rank = (len(set(words) & set(name.split())), name)
        best = max(best, rank) if best else rank
    return None if best is None else best[1]


def _attribute_case(ctx: FamilyContext) -> _Case | None:
    facts = [fact for fact in ctx.open_facts() if len(fact.traits) > 1]
    if not facts:
        return None
    fact = ctx.rng.choice(facts)
    forgotten, other = ctx.rng.sample(fact.traits, k=2)
    use = MemoryUse(attribute=forgotten, category=fact.category)
    if ctx.slot.variant == "removed":
        return _Case(use, (), shown=(fact,))
    date = ctx.day_after(fact.date)
    if date is None:
        return None
    if ctx.slot.label == "false":
        use = MemoryUse(attribute=other, category=fact.category)
    request = ForgetRequest(f"forget:{fact.category}:{forgotten}", date, attribute=forgotten, category=fact.category)
    return _Case(use, (request,), shown=(fact,))


def _foreign_request(ctx: FamilyContext, case: _Case) -> tuple[ForgetRequest, ...]:
    """Somebody else's request about the very thing that is used: it binds only the assistant of that person."""
    owner = other_person(ctx)
    date: dt.date | None = ctx.recent_day()
    if date is None or case.use.note_date is not None:
        return ()
    use = case.use
    line = ForgetRequest(f"forget:{owner}", date, use.item_name, None, use.attribute, use.category, owner=owner)
    return (line,)
