"""One user of the knowledge base, as frozen values; written as JSON inside a Parquet column."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from dataclasses import dataclass
from typing import Any

from forthwith.personal.vocabulary import (
    Domain,
    EventType,
    Polarity,
    PrivacyLevel,
    RecipientType,
    Service,
)

__all__ = [
    "Fact",
    "Forgetting",
    "Habits",
    "LaterChoice",
    "Person",
    "Switch",
    "UserProfile",
    "profile_json",
    "read_profile",
]


@dataclass(frozen=True, slots=True)
class Fact:
    """One remembered opinion.

    Attributes:
        fact_id: "<user>/f<i>".
        date: local day of the review.
        evidence: verbatim words of the review, 12 to 200 characters; empty when the review has none.
        extractor: who chose the evidence ("rule").
    """

    fact_id: str
    date: dt.date
    item_id: str
    item_name: str
    domain: Domain
    category: str
    city: str | None
    polarity: Polarity
    rating: int
    evidence: str
    traits: tuple[str, ...]
    privacy: PrivacyLevel
    extractor: str = "rule"


@dataclass(frozen=True, slots=True)
class LaterChoice:
    """A choice after the memory side of the history; `when` is UTC."""

    item_id: str
    category: str
    rating: int
    when: dt.datetime


@dataclass(frozen=True, slots=True)
class Person:
    """A contact; all are invented."""

    name: str
    relationship: RecipientType
    email: str


@dataclass(frozen=True, slots=True)
class Forgetting:
    """The user asked on `date` to forget the fact of this index."""

    fact_index: int
    date: dt.date


@dataclass(frozen=True, slots=True)
class Switch:
    """A rule that is on or off, and the day it was turned over, if ever."""

    on: bool
    turned: dt.date | None = None


@dataclass(frozen=True, slots=True)
class Habits:
    """The invented rules of a user. Windows are (start hour, end hour); caps index `NOTIFY_LEVELS`.

    Attributes:
        limit: spending limit in dollars from the start; `limit_update` a later one with its day.
        clearance: highest level that each type of recipient may hear.
        caps: by event type; `cap_updates` later ones with their day.
    """

    limit: int
    limit_update: tuple[int, dt.date] | None
    new_recipient: Switch
    irreversible: Switch
    clearance: dict[RecipientType, PrivacyLevel]
    people: tuple[Person, ...]
    quiet: tuple[int, int]
    quiet_update: tuple[tuple[int, int], dt.date] | None
    vips: tuple[str, ...]
    caps: dict[EventType, int]
    cap_updates: dict[EventType, tuple[int, dt.date]]
    meeting_cap: int
    services: tuple[Service, ...]


@dataclass(frozen=True, slots=True)
class UserProfile:
    """Everything about one user.

    Attributes:
        facts: the memory side, oldest first, one fact an item.
        later: the choices after it, oldest first.
        first_day: day of the first fact; `cut_day` day of the last.
    """

    user_id: str
    domain: Domain
    city: str | None
    home_airport: str
    home_city: str
    time_zone: str
    facts: tuple[Fact, ...]
    later: tuple[LaterChoice, ...]
    forgets: tuple[Forgetting, ...]
    habits: Habits

    @property
    def first_day(self) -> dt.date:
        """Day of the first fact."""
        return self.facts[0].date

    @property
    def cut_day(self) -> dt.date:
        """Day of the last fact."""
        return self.facts[-1].date

    @property
    def good_later(self) -> tuple[LaterChoice, ...]:
        """The later choices rated 4 or 5: each is a possible present."""
        return tuple(choice for choice in self.later if choice.rating >= 4)


def profile_json(profile: UserProfile) -> str:
    """The profile as one line of JSON."""
    return json.dumps(dataclasses.asdict(profile), default=_iso, ensure_ascii=False, separators=(",", ":"))


def _iso(value: object) -> str:
    if isinstance(value, dt.date | dt.datetime):
        return value.isoformat()
    raise TypeError(f"{value!r} has no place in a profile")


def read_profile(text: str) -> UserProfile:
    """The profile of a line that `profile_json` wrote."""
    raw: dict[str, Any] = json.loads(text)
    raw["facts"] = tuple(_fact(fact) for fact in raw["facts"])
    raw["later"] = tuple(_later(choice) for choice in raw["later"])
    raw["forgets"] = tuple(Forgetting(item["fact_index"], _day(item["date"])) for item in raw["forgets"])
    raw["habits"] = _habits(raw["habits"])
    return UserProfile(**raw)


def _day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def _fact(raw: dict[str, Any]) -> Fact:
    values: dict[str, Any] = {**raw, "date": _day(raw["date"]), "traits": tuple(raw["traits"])}
    return Fact(**values)


def _later(raw: dict[str, Any]) -> LaterChoice:
    return LaterChoice(raw["item_id"], raw["category"], raw["rating"], dt.datetime.fromisoformat(raw["when"]))


def _switch(raw: dict[str, Any]) -> Switch:
    return Switch(raw["on"], None if raw["turned"] is None else _day(raw["turned"]))


def _habits(raw: dict[str, Any]) -> Habits:
    limit, quiet = raw["limit_update"], raw["quiet_update"]
    return Habits(
        limit=raw["limit"],
        limit_update=None if limit is None else (limit[0], _day(limit[1])),
        new_recipient=_switch(raw["new_recipient"]),
        irreversible=_switch(raw["irreversible"]),
        clearance=raw["clearance"],
        people=tuple(Person(**person) for person in raw["people"]),
        quiet=(raw["quiet"][0], raw["quiet"][1]),
        quiet_update=None if quiet is None else ((quiet[0][0], quiet[0][1]), _day(quiet[1])),
        vips=tuple(raw["vips"]),
        caps=raw["caps"],
        cap_updates={event: (cap, _day(day)) for event, (cap, day) in raw["cap_updates"].items()},
        meeting_cap=raw["meeting_cap"],
        services=tuple(raw["services"]),
    )
