"""What single lines of a state say, as questions of their own: the lookups that every rule begins with.

They are asked in training records alone, where a plan says so (`lookups`). A rule is applied to what was found among lines that
look alike (which mark means what, whose note is whose, what a short name stands for); a small model learns to find from
many such questions about one state sooner than from one label a state.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from forthwith.personal.families.context import forget_term
from forthwith.personal.lines import (
    Clearance,
    ConnectedServices,
    EntityNote,
    FactMarking,
    MeetingCap,
    MemoryFact,
    PastCases,
    PriorityCode,
    QuietHours,
    RoutingRule,
    ServiceChange,
    SpendLimit,
    TypeCap,
    UrgencyScale,
    VipList,
)
from forthwith.personal.rules import (
    Dated,
    MemoryUse,
    connected_services,
    in_force,
    in_quiet_hours,
    may_share,
    notify_level,
    purchase_needs_approval,
    urgency_of_magnitude,
    uses_forgotten,
)
from forthwith.personal.snapshot import Snapshot
from forthwith.personal.steps import Step, one_of, words_of, yes_no
from forthwith.personal.vocabulary import (
    ENTITY_KINDS,
    NOTIFY_LEVELS,
    PRIVACY_LEVELS,
    RECIPIENT_TYPES,
    SERVICE_OF_ENTITY,
    SERVICES,
    URGENCIES,
    EntityKind,
    EventType,
    Service,
)

__all__ = ["lookups"]

_VIEWS = ("likes", "dislikes", "mixed")
_USER = "the user"
_SHARES = (0.3, 0.5, 0.8, 0.95, 1, 1.05, 1.2, 1.6, 2.5)
"""Of the limit: what purchases cost that are compared with it."""
T = TypeVar("T")
Lookup = Callable[[Snapshot, random.Random], Iterator[Step]]
"""Questions about the lines of one kind."""


def lookups(snapshot: Snapshot, count: int, rng: random.Random) -> tuple[Step, ...]:
    """Up to `count` questions about lines of the state, each answered by the lines alone.

    Kinds of lines come up evenly: one question of each kind in turn, so that many memories do not drown one limit.

    Args:
        snapshot: the state.
        count: how many questions, at least 0.
        rng: decides which.
    """
    pools = [[step for step in kind(snapshot, rng) if len(step.options) != 1] for kind in _KINDS]
    for pool in pools:
        rng.shuffle(pool)
    rng.shuffle(pools)
    chosen: list[Step] = []
    while len(chosen) < count and any(pools):
        for pool in pools:
            if pool and len(chosen) < count:
                chosen.append(pool.pop())
    return tuple(chosen)


def _names(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """What a short name stands for, and which name stands for a thing."""
    notes = _own(snapshot.notes, EntityNote)
    alone = [note for note in notes if sum(other.name == note.name for other in notes) == 1]
    for note in alone:
        yield one_of("name_kind", f"What kind of thing does {note.name} stand for?", ENTITY_KINDS, note.entity_kind)
        things = _few({other.refers_to for other in notes}, note.refers_to, rng)
        if len(things) > 1:
            yield one_of("name_thing", f"What is meant by {note.name}?", things, note.refers_to)


def _marks(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """What a priority mark means, and which mark has a meaning."""
    codes = _own(snapshot.rules, PriorityCode)
    for line in codes:
        words = rng.choice(("Which urgency does the mark {} stand for?", "{} is a mark: of which urgency?"))
        yield one_of("mark", words.format(line.code), URGENCIES, line.urgency)
        alike = [other.code for other in codes if other.event == line.event]
        if len(alike) > 1:
            yield one_of("mark_of", f"Which mark stands for {line.urgency} urgency?", sorted(alike), line.code)


def _scales(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """Where an urgency begins."""
    for line in _own(snapshot.rules, UrgencyScale):
        bounds = {"low": line.low, "medium": line.medium, "high": line.high}
        for level, bound in bounds.items():
            numbers = sorted({str(value) for value in bounds.values()}, key=int)
            ask = f"From which number of {line.unit} on is a {words_of(line.event)} of {level} urgency?"
            yield one_of("bound", ask, numbers, str(bound))
        number = rng.randint(1, 100)
        level = URGENCIES[urgency_of_magnitude(number, line.low, line.medium, line.high)]
        ask = f"How urgent would a {words_of(line.event)} of {number} {line.unit} be?"
        yield one_of("bound_urgency", ask, URGENCIES, level)


def _contacts(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """Who somebody is to the user."""
    for line in snapshot.contacts:
        words = rng.choice(("Who is {} to the user?", "How is the user related to {}?"))
        yield one_of("contact", words.format(line.name), RECIPIENT_TYPES, line.relationship)


def _always_through(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """Whether a contact always gets through."""
    for line in _own(snapshot.rules, VipList):
        others = [contact.name for contact in snapshot.contacts if contact.name not in line.names]
        for name in (*rng.sample(line.names, k=min(1, len(line.names))), *others[:1]):
            yield yes_no("vip", f"Do messages of {name} always get through?", name in line.names)


def _quiet(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """Whether an hour is quiet today."""
    own = _own(snapshot.rules, QuietHours)
    held = in_force([Dated((line.start, line.end), line.since) for line in own], snapshot.now.date())
    if held is not None:
        start, end = held
        hour = rng.randrange(24)
        ask = f"Is {hour:02}:30 within the quiet hours that hold today?"
        yield yes_no("quiet", ask, in_quiet_hours(hour, start, end))


def _arrivals(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """How strongly further events would reach the user, where caps, quiet hours and the cap in meetings are all stated."""
    caps = list(_today(snapshot, _own(snapshot.rules, TypeCap), "event", "level"))
    meetings = _own(snapshot.rules, MeetingCap)
    quiet = [Dated((line.start, line.end), line.since) for line in _own(snapshot.rules, QuietHours)]
    window = in_force(quiet, snapshot.now.date())
    if not (caps and meetings and window):
        return
    named = [name for line in _own(snapshot.rules, VipList) for name in line.names]
    for _ in range(6):
        event, cap = rng.choice(caps)
        urgency, told = _told_urgency(snapshot, event, rng)
        sender = rng.choice(named) if named and event == "message" and rng.random() < 0.4 else None
        in_quiet, in_meeting = rng.choice(((False, False), (True, False), (False, True)))
        hour = rng.choice([hour for hour in range(24) if in_quiet_hours(hour, *window) == in_quiet] or [window[0]])
        level = notify_level(
            urgency=urgency,
            type_cap=NOTIFY_LEVELS.index(cap),
            is_vip=sender is not None,
            in_quiet=in_quiet_hours(hour, *window),
            in_meeting=in_meeting,
            meeting_cap=NOTIFY_LEVELS.index(meetings[0].level),
        )
        of = f" of {sender}" if sender else ""
        when = (
            f"at {hour:02}:{rng.choice((5, 20, 35, 50)):02}, {'in a meeting' if in_meeting else 'outside of meetings'}"
        )
        words = rng.choice(("How strongly may a {} reach the user {}?", "Which level has a {} that arrives {}?"))
        ask = words.format(f"{words_of(event)}{of} {told}", when)
        yield one_of("arrival", ask, NOTIFY_LEVELS, NOTIFY_LEVELS[level])


def _told_urgency(snapshot: Snapshot, event: EventType, rng: random.Random) -> tuple[int, str]:
    """An urgency and how an event shows it: by a mark or a number where the state explains them, else by name."""
    marks = [line for line in _own(snapshot.rules, PriorityCode) if line.event == event]
    scales = [line for line in _own(snapshot.rules, UrgencyScale) if line.event == event]
    if marks and rng.random() < 0.6:
        line = rng.choice(marks)
        return URGENCIES.index(line.urgency), f"with the mark {line.code}"
    if scales and rng.random() < 0.6:
        number = rng.randint(1, 100)
        return urgency_of_magnitude(number, scales[0].low, scales[0].medium, scales[0].high), (
            f"of {number} {scales[0].unit}"
        )
    urgency = rng.randrange(len(URGENCIES))
    return urgency, f"of {URGENCIES[urgency]} urgency"


def _tellings(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """Who may be told what: markings and clearances that are both stated."""
    markings = list(_today(snapshot, _own(snapshot.rules, FactMarking), "item_name", "level"))
    clearances = dict(_today(snapshot, _own(snapshot.rules, Clearance), "recipient_type", "level"))
    names = [(line.name, line.relationship) for line in snapshot.contacts]
    who = [(f"a {words_of(kind)}" if kind != "public" else "the public", kind) for kind in clearances]
    pairs = [(name, kind) for name, kind in (*names, *who) if kind in clearances]
    for item, level in markings if pairs else ():
        for name, kind in rng.sample(pairs, k=min(len(pairs), 3)):
            ask = rng.choice(("May {} be told what is known about {} today?", "Is {} allowed to hear about {}?"))
            yield yes_no("telling", ask.format(name, item), may_share(level, clearances[kind]))


def _limits(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """Which amount has to be asked about today."""
    lines = [line for line in snapshot.rules if isinstance(line, SpendLimit)]
    held = in_force([Dated(line.amount, line.since) for line in lines if line.owner is None], snapshot.now.date())
    if held is None:
        return
    amounts = {line.amount for line in lines} | {held + step for step in rng.sample((-20, -10, 10, 20, 30), k=2)}
    shown = [f"${amount}" for amount in sorted(amounts) if amount > 0]
    yield one_of("limit", "Above which amount does the user have to be asked today?", shown, f"${held}")
    for share in rng.sample(_SHARES, k=6):
        cents = round(100 * held * share) + rng.choice((-1, 0, 0, 1, 37))
        price = f"${cents // 100}.{cents % 100:02}"
        ask = rng.choice(
            ("Would a purchase of {} need the user's approval?", "Is {} more than the user's limit of today?")
        )
        yield yes_no("over", ask.format(price), purchase_needs_approval(cents, held))


def _past(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """What the user mostly said in like cases, and how often."""
    for line in _own(snapshot.notes, PastCases):
        said = {"approval": "want to be asked", "sharing": "agree to share"}[line.about]
        yield yes_no("mostly", f"Did the user {said} in most of the like cases?", 2 * line.positive > line.total)
        counts = {str(line.positive), str(line.total), *(str(value) for value in rng.sample(range(line.total), k=2))}
        yield one_of(
            "often", f"In how many like cases did the user {said}?", sorted(counts, key=int), str(line.positive)
        )


def _services(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """Which services are connected today, and which takes care of what."""
    listed = _own(snapshot.rules, ConnectedServices)
    if not listed:
        return
    changes = _own(snapshot.rules, ServiceChange)
    dated: list[tuple[dt.date, Service, bool]] = [(line.date, line.service, line.connected) for line in changes]
    connected = connected_services(listed[0].services, dated, snapshot.now.date())
    for service in SERVICES:
        yield yes_no("connected", f"Is {service} connected today?", service in connected)
    held: dict[EntityKind, Service] = dict(
        _today(snapshot, _own(snapshot.rules, RoutingRule), "entity_kind", "service")
    )
    usual: EntityKind = rng.choice([kind for kind in SERVICE_OF_ENTITY if kind not in held])
    for kind, service in (*held.items(), (usual, SERVICE_OF_ENTITY[usual])):
        yield one_of("service", f"Which service does the user want for a {kind}?", SERVICES, service)


def _owners(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """Whose taste a note tells."""
    people = {line.name for line in snapshot.contacts} | {line.owner for line in snapshot.memory if line.owner}
    foreign = [line for line in snapshot.memory if line.owner is not None]
    own = _own(snapshot.memory, MemoryFact)
    for line in (*foreign, *rng.sample(own, k=min(len(own), 1 + len(foreign)))):
        owner = line.owner or _USER
        yield one_of(
            "owner", f"Whose taste does the note of {line.date} tell?", _few({_USER, *people}, owner, rng), owner
        )


def _memories(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """What a remembered note is about and how the thing was found; asked by day and by name."""
    for line in snapshot.memory:
        match rng.randrange(4):
            case 0:
                yield one_of("view", f"What was thought of {line.item_name} on {line.date}?", _VIEWS, line.polarity)
            case 1:
                names = _few({other.item_name for other in snapshot.memory}, line.item_name, rng)
                yield one_of("subject", f"What is the note of {line.date} about?", names, line.item_name)
            case 2:
                categories = _few({other.category for other in snapshot.memory}, line.category, rng)
                ask = f"Of which kind is what the note of {line.date} is about?"
                yield one_of("category", ask, categories, line.category)
            case _:
                days = _few({str(other.date) for other in snapshot.memory}, str(line.date), rng)
                yield one_of("day", f"On which day was {line.item_name} noted?", days, str(line.date))


def _forgotten(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """Whether a thing is to be forgotten as of today: each that was ever asked about, and one that never was."""
    today = snapshot.now.date()
    terms = [forget_term(line) for line in snapshot.forget_requests if line.owner is None]
    asked = sorted({term.item_name for term in terms if term.item_name is not None and term.date <= today})
    named = {line.item_name for line in snapshot.forget_requests}
    others = [line.item_name for line in snapshot.memory if line.item_name not in named]
    for item in (*asked, *(rng.sample(others, k=1) if terms and others else ())):
        use = MemoryUse(item_name=item)
        yield yes_no("forgotten", f"As of today, is {item} to be forgotten?", uses_forgotten(use, terms, today))


def _calendar(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
    """When an entry begins."""
    starts = {f"{line.start:%Y-%m-%d %H:%M}" for line in snapshot.calendar}
    for line in snapshot.calendar:
        start = f"{line.start:%Y-%m-%d %H:%M}"
        near = {f"{line.start + dt.timedelta(hours=step):%Y-%m-%d %H:%M}" for step in rng.sample((-2, -1, 1, 2), k=2)}
        yield one_of("begins", f"When does {line.title} begin?", _few(starts | near, start, rng), start)


def _levels(kind: type[T], name: str, key: str, scale: Sequence[str], words: Sequence[str]) -> Lookup:
    """Questions about the level in force today for each key of a kind of dated rule."""

    def ask(snapshot: Snapshot, rng: random.Random) -> Iterator[Step]:
        for about, level in _today(snapshot, _own(snapshot.rules, kind), key, "level"):
            yield one_of(name, rng.choice(words).format(words_of(about)), scale, level)

    return ask


_markings = _levels(FactMarking, "marking", "item_name", PRIVACY_LEVELS,
                    ("How private is what is known about {} today?", "Which privacy level does {} have today?"))  # fmt: skip
_clearances = _levels(Clearance, "clearance", "recipient_type", PRIVACY_LEVELS,
                      ("Up to which level may a recipient of the kind {} be told today?", "What may {} hear at most?"))  # fmt: skip
_caps = _levels(TypeCap, "cap", "event", NOTIFY_LEVELS,
                ("How strongly may a {} reach the user at most today?", "Which level caps every {} as of today?"))  # fmt: skip

_KINDS: tuple[Lookup, ...] = (
    _names, _marks, _scales, _markings, _clearances, _contacts, _always_through, _caps, _quiet, _arrivals, _tellings, _limits, _past,
    _services, _owners, _memories, _forgotten, _calendar,
)  # fmt: skip


def _own(lines: Iterable[object], kind: type[T]) -> list[T]:
    """The lines of a kind that are not about somebody else."""
    return [line for line in lines if isinstance(line, kind) and getattr(line, "owner", None) is None]


def _today(snapshot: Snapshot, lines: Sequence[object], key: str, value: str) -> Iterator[tuple[Any, Any]]:
    """Each key of dated lines with its value in force today; `key` and `value` name fields."""
    for name in dict.fromkeys(getattr(line, key) for line in lines):
        terms = [
            Dated(getattr(line, value), getattr(line, "since", None)) for line in lines if getattr(line, key) == name
        ]
        held = in_force(terms, snapshot.now.date())
        if held is not None:
            yield name, held


def _few(pool: set[str], answer: str, rng: random.Random, most: int = 4) -> list[str]:
    """The answer among up to `most` - 1 others, in random order."""
    others = sorted(pool - {answer})
    chosen = [answer, *rng.sample(others, k=min(len(others), most - 1))]
    rng.shuffle(chosen)
    return chosen
