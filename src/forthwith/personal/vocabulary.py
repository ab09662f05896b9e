"""The closed word sets of personal decisions: families, variants, levels, services, events, and their orders.

Everything that names one of these things uses these literals; the order of a tuple is the order of the scale.
"""

from __future__ import annotations

from typing import Literal, get_args

__all__ = [
    "CLEARANCE_BASE",
    "ENTITY_KINDS",
    "EVENT_TYPES",
    "FAMILIES",
    "NOTIFY_LEVELS",
    "PRIVACY_LEVELS",
    "RECIPIENT_TYPES",
    "ROUTE_OPTIONS",
    "SERVICES",
    "SERVICE_OF_ENTITY",
    "SPLITS",
    "URGENCIES",
    "VARIANTS",
    "Domain",
    "EntityKind",
    "EventType",
    "Family",
    "NotifyLevel",
    "Polarity",
    "PrivacyLevel",
    "RecipientType",
    "RouteOption",
    "Service",
    "Split",
    "Urgency",
    "Variant",
]

Family = Literal[
    "apply_memory", "forgotten_violation", "needs_approval", "share_ok", "route", "notify_level", "pick_option"
]
Variant = Literal["clean", "override", "removed"]
Split = Literal["train", "val", "dev", "hidden", "test"]
Domain = Literal["product", "restaurant"]
Polarity = Literal["likes", "dislikes", "mixed"]
PrivacyLevel = Literal["public", "acquaintances", "friends", "family", "private"]
RecipientType = Literal["family", "close_friend", "coworker", "service_provider", "public"]
Service = Literal["flights", "restaurants", "shopping", "email", "calendar"]
RouteOption = Literal["flights", "restaurants", "shopping", "email", "calendar", "ask_user"]
EventType = Literal["flight_change", "price_drop", "package_delivery", "message", "calendar_conflict", "bill_due"]
Urgency = Literal["none", "low", "medium", "high"]
NotifyLevel = Literal["silent", "digest", "notify", "interrupt"]
EntityKind = Literal["city", "restaurant", "product", "person", "event"]

FAMILIES: tuple[Family, ...] = get_args(Family)
VARIANTS: tuple[Variant, ...] = get_args(Variant)
SPLITS: tuple[Split, ...] = get_args(Split)
PRIVACY_LEVELS: tuple[PrivacyLevel, ...] = get_args(PrivacyLevel)
RECIPIENT_TYPES: tuple[RecipientType, ...] = get_args(RecipientType)
SERVICES: tuple[Service, ...] = get_args(Service)
ROUTE_OPTIONS: tuple[RouteOption, ...] = get_args(RouteOption)
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
URGENCIES: tuple[Urgency, ...] = get_args(Urgency)
NOTIFY_LEVELS: tuple[NotifyLevel, ...] = get_args(NotifyLevel)
ENTITY_KINDS: tuple[EntityKind, ...] = get_args(EntityKind)

SERVICE_OF_ENTITY: dict[EntityKind, Service] = {
    "city": "flights",
    "restaurant": "restaurants",
    "product": "shopping",
    "person": "email",
    "event": "calendar",
}
"""The service that acts on each kind of thing, unless a routing rule of the user says otherwise."""

CLEARANCE_BASE: dict[RecipientType, int] = {
    "family": 3,
    "close_friend": 2,
    "coworker": 1,
    "service_provider": 0,
    "public": 0,
}
"""Index into `PRIVACY_LEVELS` around which a user's clearances vary."""
