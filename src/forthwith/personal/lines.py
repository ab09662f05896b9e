"""The typed lines of a state: one small frozen object for everything that a renderer may say.

A line's fields are the values that label functions read; a renderer phrases the line, a verifier looks for the values
in its phrase, a parser reads them back. Dates and times are local to the user. A line whose `owner` is not None is
about somebody else and never binds the user: it is a distractor.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Literal

from forthwith.personal.pending import Pending
from forthwith.personal.vocabulary import (
    Domain,
    EntityKind,
    EventType,
    NotifyLevel,
    Polarity,
    PrivacyLevel,
    RecipientType,
    Service,
    Urgency,
)

__all__ = [
    "ApprovalRule",
    "BudgetLimit",
    "CalendarEvent",
    "Clearance",
    "ConnectedServices",
    "Contact",
    "EntityNote",
    "FactMarking",
    "ForgetLine",
    "ForgetRequest",
    "HomeAirport",
    "HomeCity",
    "Line",
    "MeetingCap",
    "MemoryFact",
    "NoteLine",
    "OpinionFlip",
    "PastCases",
    "PreferenceLine",
    "PriorityCode",
    "PrivacyOrder",
    "ProfileLine",
    "QuietHours",
    "Repermission",
    "ReversibilityNote",
    "RoutingRule",
    "RuleLine",
    "ServiceChange",
    "SpendLimit",
    "TypeCap",
    "UrgencyScale",
    "VipList",
]


@dataclass(frozen=True, slots=True)
class HomeCity:
    """Where the user lives."""

    line_id: str
    city: str


@dataclass(frozen=True, slots=True)
class HomeAirport:
    """The airport the user flies from."""

    line_id: str
    iata: str
    city: str


@dataclass(frozen=True, slots=True)
class MemoryFact:
    """One remembered opinion with the words it rests on.

    Attributes:
        date: the day it was noted; unique among the memory lines of a snapshot.
        rating: 1 to 5.
        evidence: verbatim words of the review; may be empty.
        city: of a restaurant, else None.
        owner: None for the user; else the contact whose opinion this is.
        traits: what else is known of the item ("smoky", "decaf").
    """

    line_id: str
    fact_id: str
    date: dt.date
    item_id: str
    item_name: str
    domain: Domain
    category: str
    polarity: Polarity
    rating: int
    evidence: str
    city: str | None = None
    owner: str | None = None
    traits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SpendLimit:
    """Purchases strictly above `amount` (whole dollars) need approval, from `since` on (None: from the start)."""

    line_id: str
    amount: int
    since: dt.date | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """Whether approval is needed before a first message to somebody new, or before what cannot be undone."""

    line_id: str
    about: Literal["new_recipient", "irreversible"]
    on: bool
    since: dt.date | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class PrivacyOrder:
    """The privacy levels from the most open to the most closed."""

    line_id: str
    levels: tuple[PrivacyLevel, ...]


@dataclass(frozen=True, slots=True)
class Clearance:
    """Recipients of this type may hear facts up to and including `level`."""

    line_id: str
    recipient_type: RecipientType
    level: PrivacyLevel
    since: dt.date | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class FactMarking:
    """The fact about `item_name` is marked `level`, from `since` on."""

    line_id: str
    fact_id: str
    item_name: str
    level: PrivacyLevel
    since: dt.date | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectedServices:
    """Exactly these services are connected at the start."""

    line_id: str
    services: tuple[Service, ...]
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class ServiceChange:
    """On `date` a service was connected (`connected`) or disconnected."""

    line_id: str
    service: Service
    connected: bool
    date: dt.date
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class RoutingRule:
    """Requests about this kind of thing go to `service` instead of the obvious one."""

    line_id: str
    entity_kind: EntityKind
    service: Service
    since: dt.date | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From hour `start` to hour `end` (0-23, wraps midnight; `end` itself is outside) at most a digest."""

    line_id: str
    start: int
    end: int
    since: dt.date | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class MeetingCap:
    """While a calendar event runs, at most this level."""

    line_id: str
    level: NotifyLevel
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class TypeCap:
    """Events of this type reach at most this level, from `since` on."""

    line_id: str
    event: EventType
    level: NotifyLevel
    since: dt.date | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class VipList:
    """Messages of these contacts pass quiet hours and meetings (not the type cap). May be empty: nobody is a VIP."""

    line_id: str
    names: tuple[str, ...]
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class PriorityCode:
    """What a sender's priority mark means: events of this type marked `code` have this urgency."""

    line_id: str
    event: EventType
    code: str
    urgency: Urgency
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class UrgencyScale:
    """How urgent an event of this type is, by a magnitude in `unit`.

    Below `low` none, below `medium` low, below `high` medium, from `high` on high.
    """

    line_id: str
    event: EventType
    unit: str
    low: int
    medium: int
    high: int
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class OpinionFlip:
    """The user's view of a category turned around on `since`; `now_likes` is the present view."""

    line_id: str
    category: str
    since: dt.date
    now_likes: bool


@dataclass(frozen=True, slots=True)
class BudgetLimit:
    """At most `amount` dollars, or at most `price_level` dollar signs, for this category, from `since` on.

    One of the two is None.
    """

    line_id: str
    category: str
    amount: int | None
    price_level: int | None
    since: dt.date


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """The user asked on `date` to forget something.

    One of two scopes. An item: `item_name`, with the day of the note about it (`note_date`); what relies on that note
    counts, too. One attribute (`attribute`) of a `category`: the taste for it must not be used, other memories of
    the category may.
    """

    line_id: str
    date: dt.date
    item_name: str | None = None
    note_date: dt.date | None = None
    attribute: str | None = None
    category: str | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Repermission:
    """The user allowed on `date` to use something again; scopes as in `ForgetRequest`."""

    line_id: str
    date: dt.date
    item_name: str | None = None
    note_date: dt.date | None = None
    attribute: str | None = None
    category: str | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Contact:
    """Somebody the user knows."""

    line_id: str
    name: str
    relationship: RecipientType
    email: str


@dataclass(frozen=True, slots=True)
class CalendarEvent:
    """An entry of the calendar; `start` and `end` are naive local times."""

    line_id: str
    title: str
    start: dt.datetime
    end: dt.datetime


@dataclass(frozen=True, slots=True)
class EntityNote:
    """What the user means by a short name.

    Attributes:
        name: the short name as requests use it.
        entity_kind: what it is.
        refers_to: the full name of the thing (an airport city, a restaurant, a product, a person, an event title).
        country: of a city, else None.
        airports: IATA codes of a city, else empty.
    """

    line_id: str
    name: str
    entity_kind: EntityKind
    refers_to: str
    country: str | None = None
    airports: tuple[str, ...] = ()
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class ReversibilityNote:
    """Whether undoing is possible: a refundable booking, notes with a backup, an event kept in the archive."""

    line_id: str
    object_kind: Literal["booking", "notes", "event"]
    object_name: str
    reversible: bool
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class PastCases:
    """In how many of `total` like cases the user said yes: wanted to be asked, or agreed to share."""

    line_id: str
    about: Literal["approval", "sharing"]
    positive: int
    total: int


ProfileLine = HomeCity | HomeAirport
RuleLine = (
    SpendLimit
    | ApprovalRule
    | PrivacyOrder
    | Clearance
    | FactMarking
    | ConnectedServices
    | ServiceChange
    | RoutingRule
    | QuietHours
    | MeetingCap
    | TypeCap
    | VipList
    | PriorityCode
    | UrgencyScale
)
PreferenceLine = OpinionFlip | BudgetLimit
ForgetLine = ForgetRequest | Repermission
NoteLine = EntityNote | ReversibilityNote | PastCases
Line = ProfileLine | MemoryFact | RuleLine | PreferenceLine | ForgetLine | Contact | CalendarEvent | NoteLine | Pending
