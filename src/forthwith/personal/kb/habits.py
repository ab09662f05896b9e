"""The invented rules of each user: a pure function of the user id and the span of their history."""

from __future__ import annotations

import datetime as dt
import random

from forthwith.personal.determinism import seeded_rng
from forthwith.personal.kb.profile import Habits, Person, Switch
from forthwith.personal.vocabulary import (
    CLEARANCE_BASE,
    EVENT_TYPES,
    PRIVACY_LEVELS,
    RECIPIENT_TYPES,
    SERVICES,
    EventType,
    PrivacyLevel,
    RecipientType,
)
from forthwith.personal.world.names import FIRST_NAMES, LAST_NAMES

__all__ = ["LIMITS", "QUIET_LENGTHS", "between", "draw_habits", "draw_privacy"]

SALT = "pd-habits-v1"
LIMITS = (25, 40, 50, 75, 100, 150, 200, 300)
"""Spending limits in dollars."""

QUIET_LENGTHS = (5, 6, 7, 8, 9, 10)
"""Hours of quiet. Windows start at any hour, so that an hour alone never tells whether it is quiet."""

_PRIVACY_WEIGHTS = (2, 2, 3, 2, 2)
_JITTER = (-1, 0, 0, 0, 1)
_RELATIONSHIPS: tuple[RecipientType, ...] = (
    "family", "family", "close_friend", "close_friend", "coworker", "coworker", "service_provider",
)  # fmt: skip
_CAPS = (0, 1, 2, 2, 3, 3)


def between(rng: random.Random, first: dt.date, last: dt.date) -> dt.date:
    """A day at 20 to 80 % of the way from one day to another."""
    return first + dt.timedelta(days=round(rng.uniform(0.2, 0.8) * (last - first).days))


def draw_privacy(user: str, fact_index: int) -> PrivacyLevel:
    """The privacy level of a fact."""
    return seeded_rng(SALT, user, "privacy", fact_index).choices(PRIVACY_LEVELS, weights=_PRIVACY_WEIGHTS)[0]


def draw_habits(user: str, first: dt.date, cut: dt.date) -> Habits:
    """All rules of one user; changes are dated inside (first, cut)."""
    rng = seeded_rng(SALT, user, "habits")
    limit = rng.choice(LIMITS)
    people = _people(seeded_rng(SALT, user, "people"))
    quiet = _window(rng)
    caps: dict[EventType, int] = {event: rng.choice(_CAPS) for event in EVENT_TYPES}
    return Habits(
        limit=limit,
        limit_update=(_other_limit(rng, limit), between(rng, first, cut)) if rng.random() < 0.5 else None,
        new_recipient=_switch(rng, first, cut),
        irreversible=_switch(rng, first, cut),
        clearance=_clearance(rng),
        people=people,
        quiet=quiet,
        quiet_update=(_other_window(rng, quiet), between(rng, first, cut)) if rng.random() < 0.5 else None,
        vips=tuple(p.name for p in people if rng.random() < (0.7 if p.relationship == "family" else 0.25)),
        caps=caps,
        cap_updates={
            event: (rng.choice([cap for cap in range(4) if cap != caps[event]]), between(rng, first, cut))
            for event in EVENT_TYPES
            if rng.random() < 0.4
        },
        meeting_cap=rng.choice((0, 1, 1, 2)),
        services=tuple(service for service in SERVICES if rng.random() < 0.8) or ("email",),
    )


def _switch(rng: random.Random, first: dt.date, cut: dt.date) -> Switch:
    return Switch(rng.random() < 0.5, between(rng, first, cut) if rng.random() < 0.4 else None)


def _other_limit(rng: random.Random, limit: int) -> int:
    higher = [value for value in LIMITS if value > limit]
    lower = [value for value in LIMITS if value < limit]
    return rng.choice(higher if higher and (not lower or rng.random() < 0.6) else lower)


def _window(rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(24)
    return start, (start + rng.choice(QUIET_LENGTHS)) % 24


def _other_window(rng: random.Random, window: tuple[int, int]) -> tuple[int, int]:
    while (other := _window(rng)) == window:
        pass
    return other


def _clearance(rng: random.Random) -> dict[RecipientType, PrivacyLevel]:
    levels: dict[RecipientType, PrivacyLevel] = {}
    for kind in RECIPIENT_TYPES:
        index = min(3, max(0, CLEARANCE_BASE[kind] + rng.choice(_JITTER)))
        levels[kind] = PRIVACY_LEVELS[0 if kind == "public" else index]
    return levels


def _people(rng: random.Random) -> tuple[Person, ...]:
    count = rng.randint(4, 7)
    first = rng.sample(FIRST_NAMES, k=count)
    if rng.random() < 0.4:
        first[-1] = first[0]  # two people of one first name
    last = rng.sample(LAST_NAMES, k=count)
    return tuple(
        Person(f"{a} {b}", rng.choice(_RELATIONSHIPS), address(rng, a, b)) for a, b in zip(first, last, strict=True)
    )


def address(rng: random.Random, first: str, last: str) -> str:
    """An invented mail address; the domain says nothing about who it is."""
    domain = rng.choice(("example.com", "example.org", "example.net"))
    return f"{rng.choice((first, first[0] + '.' + last, last)).lower()}{rng.randint(1, 99)}@{domain}"
