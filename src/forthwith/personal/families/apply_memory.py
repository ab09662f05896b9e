"""Should the note of a day count for a request? Yes when it is about the same kind of thing and the right person."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from forthwith.personal.families.context import Cell, FamilyContext, contact_line, memory_line, required
from forthwith.personal.fragment import Fragment, QuestionSpec
from forthwith.personal.kb.profile import Fact
from forthwith.personal.lines import MemoryFact
from forthwith.personal.pending import TasteRequest
from forthwith.personal.rules import memory_counts
from forthwith.personal.steps import one_of, yes_no
from forthwith.personal.vocabulary import Domain

__all__ = ["DESIGN", "build"]

DESIGN: tuple[Cell, ...] = (
    Cell("clean", "true", "own"),
    Cell("clean", "false", "own"),
    Cell("clean", "true", "own"),
    Cell("clean", "false", "own"),
    Cell("clean", "true", "person"),
    Cell("clean", "false", "person"),
)
"""A third of the questions turn on whose opinion it is."""

_WHOSE = ("the user", "somebody else")


def build(ctx: FamilyContext) -> Fragment | None:
    """A fragment whose label is the one scheduled, or None when this user cannot give it."""
    facts = [fact for fact in ctx.open_facts() if len(fact.evidence) > 0]
    if not facts:
        return None
    fact = ctx.rng.choice(facts)
    if ctx.slot.scenario == "own":
        note, request = memory_line(fact), _own_request(ctx, fact)
        lines: tuple[MemoryFact, ...] = ()
    else:
        found = _person_case(ctx, fact)
        if found is None:
            return None
        note, request, lines = found
    label = memory_counts(
        fact_category=note.category,
        fact_owner=note.owner,
        request_category=request.category,
        request_for=request.for_whom,
    )
    if str(label).lower() != ctx.slot.label:
        return None
    return _fragment(ctx, _Case(fact, note, request, lines), label=str(label).lower())


class _Case(NamedTuple):
    """The user's fact, the note in question, the request, and other notes shown."""

    fact: Fact
    note: MemoryFact
    request: TasteRequest
    lines: tuple[MemoryFact, ...]


def _fragment(ctx: FamilyContext, case: _Case, *, label: str) -> Fragment:
    fact, note, request, lines = case
    pending = ctx.pending("Request", request)
    whom = request.for_whom or note.owner
    contacts = tuple(contact_line(person) for person in ctx.user.habits.people if person.name == whom)
    return Fragment(
        family="apply_memory",
        qid="apply_memory",
        variant="clean",
        scenario=ctx.slot.scenario,
        question=QuestionSpec("apply_memory", "noul", pending.label, note_date=note.date),
        label=label,
        soft=None,
        required=required((note, pending, *lines)),
        forbidden=(),
        rule_path=(
            f"the note of {note.date} is about {note.category}, owner {note.owner or 'user'}",
            f"the request is about {request.category}, for {request.for_whom or 'user'}",
            f"counts: {label}",
        ),
        pending=pending,
        steps=(
            yes_no(
                "category", f"Is the note of {note.date} about {request.category}?", note.category == request.category
            ),
            one_of("owner", f"Whose taste does the note of {note.date} tell?", _WHOSE, _WHOSE[note.owner is not None]),
            one_of("whom", f"For whom is {pending.label}?", _WHOSE, _WHOSE[request.for_whom is not None]),
        ),
        needed_facts=frozenset({fact.fact_id}),
        memory=(*lines, note) if note.owner is not None else (note, *lines),
        contacts=contacts,
        distractors=frozenset(line.line_id for line in lines),
    )


def _own_request(ctx: FamilyContext, fact: Fact) -> TasteRequest:
    if ctx.slot.label == "true":
        return TasteRequest(fact.domain, fact.category, fact.city)
    # false: domains in the proportions in which true requests come, so that the kind of request tells nothing
    domain: Domain = "product" if ctx.rng.random() < ctx.kb.product_share else "restaurant"
    if not ctx.kb.catalogue.categories.get(domain):
        domain = fact.domain
    return TasteRequest(domain, _other_category(ctx, domain, fact.category), _city(ctx, domain))


def _other_category(ctx: FamilyContext, domain: Domain, category: str) -> str:
    names = [name for name in ctx.kb.catalogue.categories[domain][:40] if name != category]
    return ctx.rng.choice(names) if names else category


def _city(ctx: FamilyContext, domain: Domain) -> str | None:
    return (ctx.user.city or ctx.user.home_city) if domain == "restaurant" else None


def _person_case(ctx: FamilyContext, fact: Fact) -> tuple[MemoryFact, TasteRequest, tuple[MemoryFact, ...]] | None:
    """Four cases: note and request of the user or of a contact; two of them count."""
    day = ctx.free_day()
    if day is None:
        return None
    who = ctx.rng.choice(ctx.user.habits.people).name
    own = memory_line(fact)
    theirs = _foreign_note(ctx, fact, who, day)
    request_for = who if ctx.rng.random() < 0.5 else None
    note_is_theirs = (request_for is not None) == (ctx.slot.label == "true")
    request = TasteRequest(fact.domain, fact.category, fact.city, request_for)
    return (theirs, request, (own,)) if note_is_theirs else (own, request, (theirs,))


def _foreign_note(ctx: FamilyContext, fact: Fact, who: str, day: dt.date) -> MemoryFact:
    catalogue = ctx.kb.catalogue
    rows = catalogue.group_of(catalogue.index[fact.item_id])
    row = int(rows[ctx.rng.randrange(len(rows))])
    rating = ctx.rng.choice((1, 2, 4, 5))
    option = catalogue.option(row)
    return MemoryFact(
        line_id=f"memory:{who}:{day}",
        fact_id=f"{who}/{day}",
        date=day,
        item_id=option.option_id,
        item_name=option.name,
        domain=fact.domain,
        category=fact.category,
        polarity="likes" if rating >= 4 else "dislikes",
        rating=rating,
        evidence="",
        city=option.city,
        owner=who,
        traits=option.traits,
    )
