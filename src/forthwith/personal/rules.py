"""The rules that label the benchmark and guard an agent at run time: pure functions of small typed values.

Each takes what is in force or lets `in_force` find it; none knows knowledge base, text or model. Money in cents,
levels as indices into the scales of `vocabulary`, hours 0 to 23, dates local to the user.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from forthwith.personal.vocabulary import (
    PRIVACY_LEVELS,
    SERVICE_OF_ENTITY,
    EntityKind,
    PrivacyLevel,
    RouteOption,
    Service,
)

__all__ = [
    "Dated",
    "EntityMeaning",
    "ForgetTerm",
    "MemoryUse",
    "connected_services",
    "deletion_needs_approval",
    "in_force",
    "in_quiet_hours",
    "may_share",
    "memory_counts",
    "message_needs_approval",
    "notify_level",
    "purchase_needs_approval",
    "route",
    "urgency_of_magnitude",
    "uses_forgotten",
]

T = TypeVar("T")

DIGEST = 1
"""Index of the highest level that quiet hours let through."""


@dataclass(frozen=True, slots=True)
class Dated(Generic[T]):
    """A value that holds from the start of the day `since` on; None: from the beginning."""

    value: T
    since: dt.date | None = None


def in_force(terms: Iterable[Dated[T]], on: dt.date) -> T | None:
    """The value of the latest term begun by `on` (of two of one day the later listed); None if none has begun."""
    latest: Dated[T] | None = None
    for term in terms:
        if term.since is not None and term.since > on:
            continue
        if latest is None or (term.since or dt.date.min) >= (latest.since or dt.date.min):
            latest = term
    return None if latest is None else latest.value


def purchase_needs_approval(amount_cents: int, limit_dollars: int | None) -> bool:
    """Whether a purchase lies strictly above the limit in force; exactly the limit may proceed. No limit: never."""
    return limit_dollars is not None and amount_cents > 100 * limit_dollars


def message_needs_approval(*, is_known: bool, rule_on: bool | None) -> bool:
    """Whether a message goes to somebody who is not among the contacts while the new-recipient rule is on."""
    return bool(rule_on) and not is_known


def deletion_needs_approval(*, is_reversible: bool, rule_on: bool | None) -> bool:
    """Whether an action cannot be undone while the irreversible-action rule is on."""
    return bool(rule_on) and not is_reversible


def may_share(fact_level: PrivacyLevel, clearance: PrivacyLevel) -> bool:
    """Whether a recipient cleared up to `clearance` may hear a fact of this level."""
    return PRIVACY_LEVELS.index(clearance) >= PRIVACY_LEVELS.index(fact_level)


def memory_counts(
    *, fact_category: str, fact_owner: str | None, request_category: str, request_for: str | None
) -> bool:
    """Whether a remembered opinion bears on a request: same kind of thing, and the taste of the person it is for."""
    return fact_category == request_category and fact_owner == request_for


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What an action relies on: an item, the note of a day, or an attribute of a category."""

    item_name: str | None = None
    note_date: dt.date | None = None
    attribute: str | None = None
    category: str | None = None


@dataclass(frozen=True, slots=True)
class ForgetTerm:
    """A request to forget (`allows` False) or a later permission (`allows` True) with its scope and day."""

    date: dt.date
    allows: bool
    item_name: str | None = None
    note_date: dt.date | None = None
    attribute: str | None = None
    category: str | None = None


def uses_forgotten(use: MemoryUse, terms: Sequence[ForgetTerm], on: dt.date) -> bool:
    """Whether an action uses what must be forgotten on that day.

    Of the terms that concern the use and are dated by `on`, the latest decides; of two of one day the later listed.
    """
    verdicts = [
        Dated(value=not term.allows, since=term.date) for term in terms if term.date <= on and _concerns(term, use)
    ]
    return bool(in_force(verdicts, on))


def _concerns(term: ForgetTerm, use: MemoryUse) -> bool:
    if use.item_name is not None and use.item_name == term.item_name:
        return True
    if use.note_date is not None and use.note_date == term.note_date:
        return True
    return use.attribute is not None and (use.attribute, use.category) == (term.attribute, term.category)


def in_quiet_hours(hour: int, start: int, end: int) -> bool:
    """Whether an hour lies in [start, end), which wraps midnight when start > end; start = end is empty."""
    if start <= end:
        return start <= hour < end
    return hour >= start or hour < end


def urgency_of_magnitude(magnitude: int, low: int, medium: int, high: int) -> int:
    """Urgency index 0 to 3: how many of the three bounds the magnitude reaches."""
    return (magnitude >= low) + (magnitude >= medium) + (magnitude >= high)


def notify_level(
    *, urgency: int, type_cap: int, is_vip: bool, in_quiet: bool, in_meeting: bool, meeting_cap: int | None
) -> int:
    """The level, 0 (silent) to 3 (interrupt), at which an event reaches the user.

    The type cap binds always; a VIP's message passes quiet hours and meetings.
    """
    level = min(urgency, type_cap)
    if is_vip:
        return level
    if in_quiet:
        level = min(level, DIGEST)
    if in_meeting and meeting_cap is not None:
        level = min(level, meeting_cap)
    return level


def connected_services(
    initial: Iterable[Service], changes: Sequence[tuple[dt.date, Service, bool]], on: dt.date
) -> frozenset[Service]:
    """The services connected on a day, after every dated change up to it, in order of date."""
    connected = set(initial)
    for date, service, is_on in sorted(changes, key=lambda change: change[0]):
        if date > on:
            break
        (connected.add if is_on else connected.discard)(service)
    return frozenset(connected)


@dataclass(frozen=True, slots=True)
class EntityMeaning:
    """One thing that a short name can stand for; cities differ by country."""

    kind: EntityKind
    refers_to: str
    country: str | None = None


def route(
    meanings: Sequence[EntityMeaning],
    detours: Sequence[tuple[EntityKind, Dated[Service]]],
    connected: frozenset[Service],
    on: dt.date,
) -> RouteOption:
    """The service that takes a request, or `ask_user` when its name is ambiguous or the service is not connected.

    Args:
        meanings: what the name in the request can stand for.
        detours: the user's routing rules by kind of thing.
        connected: services connected now.
        on: the day of the decision.
    """
    if len(set(meanings)) != 1:
        return "ask_user"
    kind = meanings[0].kind
    service = in_force([term for about, term in detours if about == kind], on) or SERVICE_OF_ENTITY[kind]
    return service if service in connected else "ask_user"
