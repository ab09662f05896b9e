"""What waits for a decision: requests, proposed actions and incoming events, each with typed contents."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Literal

from forthwith.personal.vocabulary import Domain, EventType, RecipientType

__all__ = [
    "DeleteAction",
    "EntityRequest",
    "ForgottenAction",
    "IncomingEvent",
    "ItemOption",
    "MessageAction",
    "Pending",
    "PendingBody",
    "PickRequest",
    "PurchaseAction",
    "ShareAction",
    "TasteRequest",
]


@dataclass(frozen=True, slots=True)
class TasteRequest:
    """Find something of this category (a restaurant: in this city).

    `for_whom` is the contact whose taste counts; None: the user's own.
    """

    domain: Domain
    category: str
    city: str | None = None
    for_whom: str | None = None


@dataclass(frozen=True, slots=True)
class ForgottenAction:
    """The agent proposes to use a memory.

    Attributes:
        mode: "recommend" (suggest it again), "tell" (mention it to `contact`), "personalise" (feed it to suggestions).
        item_name: the item it names; None when it relies on a note or an attribute instead.
        note_date: the day of the note that it relies on.
        attribute: the attribute of `category` that it relies on.
    """

    mode: Literal["recommend", "tell", "personalise"]
    item_name: str | None = None
    note_date: dt.date | None = None
    attribute: str | None = None
    category: str | None = None
    contact: str | None = None


@dataclass(frozen=True, slots=True)
class PurchaseAction:
    """Buy `quantity` of an item; `amount_cents` is the total with delivery. Money in cents of a dollar."""

    item_name: str
    quantity: int
    unit_price_cents: int
    delivery_fee_cents: int
    amount_cents: int


@dataclass(frozen=True, slots=True)
class MessageAction:
    """Send a message about `topic` to a person."""

    recipient: str
    email: str
    topic: str


@dataclass(frozen=True, slots=True)
class DeleteAction:
    """Cancel a booking, delete notes or remove an event (`object_kind`: "booking", "notes", "event")."""

    object_kind: Literal["booking", "notes", "event"]
    object_name: str


@dataclass(frozen=True, slots=True)
class ShareAction:
    """Tell a recipient about the user's opinion of an item.

    The public feed has no name: `recipient` None, type "public".
    """

    fact_id: str
    item_name: str
    recipient: str | None
    recipient_type: RecipientType


@dataclass(frozen=True, slots=True)
class EntityRequest:
    """A short request about something known by a short name: "get Marlow going for Thursday"."""

    name: str
    when: dt.date | None = None


@dataclass(frozen=True, slots=True)
class IncomingEvent:
    """Something arrives at `arrival` (naive local time).

    Exactly one of `code` (the sender's priority mark) and `magnitude` (with `unit`) is given.
    `sender` names a person for messages, else None.
    """

    event: EventType
    arrival: dt.datetime
    sender: str | None = None
    code: str | None = None
    magnitude: int | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class ItemOption:
    """One option of a pick. `price_cents` and `price_level` are None when not listed; `popularity` is never shown."""

    option_id: str
    name: str
    category: str
    price_cents: int | None
    price_level: int | None
    city: str | None
    popularity: int
    traits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PickRequest:
    """Choose one of the options, which are listed in this order."""

    domain: Domain
    category: str
    city: str | None
    options: tuple[ItemOption, ...]


PendingBody = (
    TasteRequest
    | ForgottenAction
    | PurchaseAction
    | MessageAction
    | DeleteAction
    | ShareAction
    | EntityRequest
    | IncomingEvent
    | PickRequest
)


@dataclass(frozen=True, slots=True)
class Pending:
    """One pending item; its label, as in "Request A", is how questions refer to it."""

    line_id: str
    heading: Literal["Request", "Proposed action", "Incoming event"]
    letter: str
    body: PendingBody

    @property
    def label(self) -> str:
        """Heading and letter."""
        return f"{self.heading} {self.letter}"
