"""The structured state that a renderer turns into text: the present, and typed lines in sections.

Takes lines (`personal/lines.py`, exported here too); gives the `Snapshot`. All times are local to the user, to the
minute, in the zone that the snapshot names.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from dataclasses import dataclass
from typing import Any, cast

from forthwith.personal.lines import (
    ApprovalRule,
    BudgetLimit,
    CalendarEvent,
    Clearance,
    ConnectedServices,
    Contact,
    EntityNote,
    FactMarking,
    ForgetLine,
    ForgetRequest,
    HomeAirport,
    HomeCity,
    Line,
    MeetingCap,
    MemoryFact,
    NoteLine,
    OpinionFlip,
    PastCases,
    PreferenceLine,
    PriorityCode,
    PrivacyOrder,
    ProfileLine,
    QuietHours,
    Repermission,
    ReversibilityNote,
    RoutingRule,
    RuleLine,
    ServiceChange,
    SpendLimit,
    TypeCap,
    UrgencyScale,
    VipList,
)
from forthwith.personal.pending import Pending

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
    "Snapshot",
    "SpendLimit",
    "TypeCap",
    "UrgencyScale",
    "VipList",
    "line_kind",
    "snapshot_payload",
]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a renderer may say, in the order of the sections; an empty section is left out.

    Attributes:
        now: naive local time of the decision, to the minute.
        time_zone: IANA name of the user's zone.
    """

    now: dt.datetime
    time_zone: str
    profile: tuple[ProfileLine, ...] = ()
    memory: tuple[MemoryFact, ...] = ()
    rules: tuple[RuleLine, ...] = ()
    preference_updates: tuple[PreferenceLine, ...] = ()
    forget_requests: tuple[ForgetLine, ...] = ()
    contacts: tuple[Contact, ...] = ()
    calendar: tuple[CalendarEvent, ...] = ()
    notes: tuple[NoteLine, ...] = ()
    pending: tuple[Pending, ...] = ()

    def lines(self) -> tuple[Line, ...]:
        """Every line, section by section."""
        return (
            *self.profile,
            *self.memory,
            *self.rules,
            *self.preference_updates,
            *self.forget_requests,
            *self.contacts,
            *self.calendar,
            *self.notes,
            *self.pending,
        )


def line_kind(line: object) -> str:
    """The name of a line's type in snake case: `SpendLimit` is "spend_limit"."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(line).__name__).lower()


def snapshot_payload(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot as plain JSON values: one object with its `kind` per line; no empty sections, no null fields."""
    payload: dict[str, Any] = {
        "now": snapshot.now.isoformat(sep=" ", timespec="minutes"),
        "time_zone": snapshot.time_zone,
    }
    for field in dataclasses.fields(snapshot)[2:]:
        lines = cast("tuple[Line, ...]", getattr(snapshot, field.name))
        if lines:
            payload[field.name] = [_plain(line) for line in lines]
    return payload


def _plain(value: object) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        members = {
            field.name: _plain(member)
            for field in dataclasses.fields(value)
            if (member := cast("object", getattr(value, field.name))) is not None and field.name != "line_id"
        }
        return {"kind": line_kind(value), **members}
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ", timespec="minutes")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, tuple):
        return [_plain(member) for member in cast("tuple[object, ...]", value)]
    return value
