"""How strongly should an event reach the user? Urgency, type cap, VIPs, quiet hours, meetings, at the event's arrival.

The urgency stands nowhere in the event: it is looked up in the state, from the sender's priority mark or from a
magnitude on the user's own scale, so that the event alone says nothing about the level.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from forthwith.personal.families.context import Cell, FamilyContext, other_person, required
from forthwith.personal.fragment import Fragment, QuestionSpec
from forthwith.personal.lines import (
    CalendarEvent,
    MeetingCap,
    PriorityCode,
    QuietHours,
    RuleLine,
    TypeCap,
    UrgencyScale,
    VipList,
)
from forthwith.personal.pending import IncomingEvent, Pending
from forthwith.personal.rules import in_quiet_hours, notify_level
from forthwith.personal.steps import Step, one_of, yes_no
from forthwith.personal.vocabulary import EVENT_TYPES, NOTIFY_LEVELS, URGENCIES, EventType
from forthwith.personal.world.names import person_name

__all__ = ["DESIGN", "UNITS", "build"]

_SOURCES = ("code", "scale")
DESIGN: tuple[Cell, ...] = (
    *(Cell("clean", str(level), source) for level in range(4) for source in _SOURCES),
    *(Cell("override", str(level), _SOURCES[level % 2]) for level in range(4)),
    *(Cell("removed", None, source, is_hard=False) for source in (*_SOURCES, *_SOURCES)),
    *(Cell("clean", str(level), source) for level in range(4) for source in _SOURCES),
    *(Cell("override", str(level), _SOURCES[1 - level % 2]) for level in range(4)),
    *(Cell("removed", None, source, is_hard=False) for source in (*_SOURCES, *_SOURCES)),
)
"""Four levels alike; half clean, a quarter each override (a changed cap or window decides) and removed (urgency unknown)."""

UNITS: dict[EventType, str] = {
    "flight_change": "minutes",
    "price_drop": "percent",
    "package_delivery": "hours",
    "message": "unread",
    "calendar_conflict": "minutes",
    "bill_due": "days",
}
"""What a magnitude counts, by type of event."""

_TITLES = (
    "Stand-up",
    "Dentist",
    "Piano lesson",
    "Budget review",
    "Yoga class",
    "School visit",
    "Interview",
    "Tax advice",
)
_CODES = tuple(f"{letter}{digit}" for letter in "BCDFGHJKLMNPQRSTVWXZ" for digit in range(1, 10))


class _Moment(NamedTuple):
    """What holds when the event arrives."""

    event: EventType
    sender: str | None
    is_vip: bool
    cap: int
    hour: int
    in_quiet: bool
    in_meeting: bool
    urgency: int


def build(ctx: FamilyContext) -> Fragment | None:
    """A fragment whose label is the one scheduled, or None when this user cannot give it."""
    events = list(EVENT_TYPES)
    ctx.rng.shuffle(events)
    for event in events:
        moments = _moments(ctx, event)
        if ctx.slot.variant == "removed":
            moments = [moment for moment in moments if len(_reachable(ctx, moment)) > 1]
        if moments:
            # first the situation, then the hour: an hour of a long window is not likelier than one of a short window
            situations = sorted({moment._replace(hour=0) for moment in moments})
            chosen = ctx.rng.choice(situations)
            moment = ctx.rng.choice([moment for moment in moments if moment._replace(hour=0) == chosen])
            return _fragment(ctx, moment)
    return None


def _level(ctx: FamilyContext, moment: _Moment, urgency: int) -> int:
    return notify_level(
        urgency=urgency,
        type_cap=moment.cap,
        is_vip=moment.is_vip,
        in_quiet=moment.in_quiet,
        in_meeting=moment.in_meeting,
        meeting_cap=ctx.user.habits.meeting_cap,
    )


def _reachable(ctx: FamilyContext, moment: _Moment) -> set[int]:
    return {_level(ctx, moment, urgency) for urgency in range(4)}


def _sender(ctx: FamilyContext, event: EventType) -> str | None:
    if event != "message":
        return None
    people = [person.name for person in ctx.user.habits.people]
    return ctx.rng.choice(people) if ctx.rng.random() < 0.8 else person_name(ctx.rng)


def _cap(ctx: FamilyContext, event: EventType) -> tuple[int, int]:
    """The cap of a type as first stated and as in force today."""
    first = ctx.user.habits.caps[event]
    update = ctx.user.habits.cap_updates.get(event)
    return first, update[0] if update is not None and update[1] <= ctx.today else first


def _windows(ctx: FamilyContext) -> tuple[tuple[int, int], tuple[int, int]]:
    """The quiet window as first stated and as in force today."""
    first = ctx.user.habits.quiet
    update = ctx.user.habits.quiet_update
    return first, update[0] if update is not None and update[1] <= ctx.today else first


def _moments(ctx: FamilyContext, event: EventType) -> list[_Moment]:
    """All situations and hours of one type of event that give the scheduled level (any, when none is scheduled)."""
    sender = _sender(ctx, event)
    is_vip = sender is not None and sender in ctx.user.habits.vips
    (old_cap, cap), (old_window, window) = _cap(ctx, event), _windows(ctx)
    found: list[_Moment] = []
    for urgency, hour, in_meeting in product(range(4), range(24), (False, True)):
        in_quiet = in_quiet_hours(hour, *window)
        if in_quiet and in_meeting:
            continue
        moment = _Moment(event, sender, is_vip, cap, hour, in_quiet, in_meeting, urgency)
        level = _level(ctx, moment, urgency)
        if ctx.slot.label is not None and str(level) != ctx.slot.label:
            continue
        if ctx.slot.variant == "override":
            before = moment._replace(cap=old_cap, in_quiet=in_quiet_hours(hour, *old_window))
            if _level(ctx, before, urgency) == level:
                continue
        found.append(moment)
    return found


# ---- the fragment -------------------------------------------------------------------------------------------------


def _fragment(ctx: FamilyContext, moment: _Moment) -> Fragment:
    arrival = _arrival(ctx, moment.hour)
    body, urgency_lines = _urgency(ctx, moment, arrival)
    is_removed = ctx.slot.variant == "removed"
    pending = ctx.pending("Incoming event", body)
    rules = _rules(ctx, moment)
    noise = _noise(ctx, moment)
    told = () if is_removed else urgency_lines
    calendar = _calendar(ctx, arrival, in_meeting=moment.in_meeting)
    level = _level(ctx, moment, moment.urgency)
    return Fragment(
        family="notify_level",
        qid="notify_level",
        variant=ctx.slot.variant,
        scenario=ctx.slot.scenario,
        question=QuestionSpec("notify_level", "score", pending.label),
        label=str(level),
        soft=_soft(ctx, moment) if is_removed else None,
        required=required((pending, *rules, *told, *calendar[:1])),
        forbidden=(),
        rule_path=(
            f"urgency {URGENCIES[moment.urgency]}, cap of {moment.event} {NOTIFY_LEVELS[moment.cap]}",
            f"VIP {moment.is_vip}, quiet {moment.in_quiet}, meeting {moment.in_meeting}",
            f"level {NOTIFY_LEVELS[level]}",
        ),
        pending=pending,
        steps=_steps(ctx, moment, pending, told, calendar),
        rules=(*rules, *told, *noise),
        calendar=tuple(sorted(calendar, key=lambda line: line.start)),
        distractors=frozenset(line.line_id for line in noise),
    )


def _steps(
    ctx: FamilyContext, moment: _Moment, pending: Pending, told: Sequence[RuleLine], calendar: Sequence[CalendarEvent]
) -> tuple[Step, ...]:
    """Urgency and cap of the event, what holds when it arrives, and the comparisons that these rest on."""
    label, cap = pending.label, moment.cap
    capped = NOTIFY_LEVELS[min(moment.urgency, cap)]
    return (
        *(_urgency_steps(moment, pending, told) if told else ()),
        one_of(
            "cap", f"How strongly may an event like {label} reach the user at most?", NOTIFY_LEVELS, NOTIFY_LEVELS[cap]
        ),
        *(
            (
                one_of(
                    "capped",
                    f"How strongly does {label} reach the user by its urgency and the cap of its kind alone?",
                    NOTIFY_LEVELS,
                    capped,
                ),
            )
            if told
            else ()
        ),
        yes_no("vip", f"Does {label} come from somebody who always gets through?", moment.is_vip),
        *_window_steps(ctx, moment, label),
        yes_no("entry", f"Is {calendar[0].title} running when {label} arrives?", moment.in_meeting),
        yes_no("meeting", f"Is an entry of the calendar running when {label} arrives?", moment.in_meeting),
    )


def _urgency_steps(moment: _Moment, pending: Pending, told: Sequence[RuleLine]) -> tuple[Step, ...]:
    """The mark and its meaning, or the bounds that the magnitude reaches; then the urgency."""
    label, body = pending.label, pending.body
    urgency = URGENCIES[moment.urgency]
    steps = [one_of("urgency", f"How urgent is {label}?", URGENCIES, urgency)]
    codes = sorted(line.code for line in told if isinstance(line, PriorityCode))
    if isinstance(body, IncomingEvent) and body.code is not None:
        steps.append(one_of("mark", f"Which mark does {label} carry?", codes, body.code))
        steps.append(one_of("meaning", f"Which urgency does the mark {body.code} stand for?", URGENCIES, urgency))
    else:
        steps += [
            yes_no(f"reaches{level}", f"Is {label} at least of {URGENCIES[level]} urgency?", moment.urgency >= level)
            for level in (1, 2, 3)
        ]
    return tuple(steps)


def _window_steps(ctx: FamilyContext, moment: _Moment, label: str) -> tuple[Step, ...]:
    """Which quiet hours hold, whether the event's hour lies between their ends, and whether the event falls into them."""
    old, (start, end) = _windows(ctx)
    near = {(start, (end + 2) % 24), ((start + 2) % 24, end)}
    names = [f"{first:02}:00 to {last:02}:00" for first, last in sorted({old, (start, end)} | near)]
    held = f"{start:02}:00 to {end:02}:00"
    inside = f"Does {moment.hour:02}:30 lie between {start:02}:00 and {end:02}:00?"
    return (
        one_of("window", "Which quiet hours hold today?", names, held),
        yes_no("inside", inside, moment.in_quiet),
        yes_no("quiet", f"Does {label} arrive in the quiet hours that hold today?", moment.in_quiet),
    )


def _arrival(ctx: FamilyContext, hour: int) -> dt.datetime:
    """The next time after now that it is this hour."""
    minute = ctx.rng.choice((5, 20, 35, 50))
    arrival = ctx.now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return arrival if arrival > ctx.now else arrival + dt.timedelta(days=1)


def _urgency(
    ctx: FamilyContext, moment: _Moment, arrival: dt.datetime
) -> tuple[IncomingEvent, tuple[PriorityCode | UrgencyScale, ...]]:
    """The event, and the lines that tell its urgency."""
    event = moment.event
    if ctx.slot.scenario == "code":
        codes = ctx.rng.sample(_CODES, k=4)
        lines = tuple(
            PriorityCode(f"code:{event}:{code}", event, code, urgency)
            for code, urgency in zip(codes, URGENCIES, strict=True)
        )
        body = IncomingEvent(event, arrival, moment.sender, code=codes[moment.urgency])
        return body, tuple(ctx.rng.sample(lines, k=4))
    magnitude = ctx.rng.randint(12, 88)
    reached = sorted(ctx.rng.sample(range(1, magnitude + 1), k=moment.urgency))
    if reached and ctx.rng.random() < 0.2:
        reached[-1] = magnitude  # exactly at a bound
    low, medium, high = (*reached, *sorted(ctx.rng.sample(range(magnitude + 1, 101), k=3 - moment.urgency)))
    scale = UrgencyScale(f"scale:{event}", event, UNITS[event], low, medium, high)
    return IncomingEvent(event, arrival, moment.sender, magnitude=magnitude, unit=UNITS[event]), (scale,)


def _rules(ctx: FamilyContext, moment: _Moment) -> tuple[RuleLine, ...]:
    habits = ctx.user.habits
    lines: list[RuleLine] = [QuietHours("quiet:0", *habits.quiet)]
    if habits.quiet_update is not None and habits.quiet_update[1] <= ctx.today:
        (start, end), date = habits.quiet_update
        lines.append(QuietHours("quiet:1", start, end, date))
    lines += _cap_lines(ctx, moment.event)
    lines.append(MeetingCap("meeting_cap", NOTIFY_LEVELS[habits.meeting_cap]))
    if moment.sender is not None or ctx.rng.random() < 0.5:
        lines.append(VipList("vips", habits.vips))
    return tuple(lines)


def _cap_lines(ctx: FamilyContext, event: EventType) -> list[TypeCap]:
    habits = ctx.user.habits
    lines = [TypeCap(f"cap:{event}:0", event, NOTIFY_LEVELS[habits.caps[event]])]
    update = habits.cap_updates.get(event)
    if update is not None and update[1] <= ctx.today:
        lines.append(TypeCap(f"cap:{event}:1", event, NOTIFY_LEVELS[update[0]], update[1]))
    return lines


def _noise(ctx: FamilyContext, moment: _Moment) -> tuple[RuleLine, ...]:
    """Caps of other types, and now and then somebody else's cap or quiet hours."""
    others: list[EventType] = [event for event in EVENT_TYPES if event != moment.event]
    lines: list[RuleLine] = [line for event in ctx.rng.sample(others, k=2) for line in _cap_lines(ctx, event)]
    if ctx.rng.random() < 0.4:
        owner = other_person(ctx)
        if ctx.rng.random() < 0.5:
            level = ctx.rng.choice(NOTIFY_LEVELS)
            lines.append(TypeCap(f"cap:{moment.event}:{owner}", moment.event, level, owner=owner))
        else:
            start = ctx.rng.randrange(24)
            lines.append(QuietHours(f"quiet:{owner}", start, (start + 8) % 24, owner=owner))
    return tuple(lines)


def _calendar(ctx: FamilyContext, arrival: dt.datetime, *, in_meeting: bool) -> list[CalendarEvent]:
    """First the entry that decides (running at arrival, or the next one), then entries of other days."""
    titles = ctx.rng.sample(_TITLES, k=4)
    if in_meeting:
        start = arrival - dt.timedelta(minutes=ctx.rng.choice((5, 15, 25)))
    else:
        start = arrival + dt.timedelta(minutes=ctx.rng.choice((120, 150, 180, 210, 240)))
    lines = [CalendarEvent(f"calendar:{titles[0]}", titles[0], start, start + dt.timedelta(minutes=45))]
    for title in titles[1 : ctx.rng.randint(2, 4)]:
        day = dt.datetime.combine(arrival.date() + dt.timedelta(days=ctx.rng.randint(2, 6)), dt.time())
        begin = day + dt.timedelta(hours=ctx.rng.randint(8, 18), minutes=ctx.rng.choice((0, 15, 30)))
        length = dt.timedelta(minutes=ctx.rng.choice((30, 45, 60, 90)))
        lines.append(CalendarEvent(f"calendar:{title}", title, begin, begin + length))
    return lines


def _soft(ctx: FamilyContext, moment: _Moment) -> tuple[tuple[str, float], ...]:
    """The levels that the four urgencies, equally likely, lead to: graded, not only tied."""
    levels = [_level(ctx, moment, urgency) for urgency in range(4)]
    return tuple((str(level), levels.count(level) / 4) for level in range(4) if level in levels)
