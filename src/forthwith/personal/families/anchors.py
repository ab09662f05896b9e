"""Which values of a line must stand in the text: every one that a label function reads, with the role it plays."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator

from forthwith.personal.fragment import Anchor, AnchorKind
from forthwith.personal.lines import (
    BudgetLimit,
    CalendarEvent,
    Clearance,
    ConnectedServices,
    Contact,
    EntityNote,
    FactMarking,
    ForgetRequest,
    Line,
    MeetingCap,
    MemoryFact,
    OpinionFlip,
    PastCases,
    PriorityCode,
    PrivacyOrder,
    QuietHours,
    Repermission,
    ReversibilityNote,
    RoutingRule,
    ServiceChange,
    SpendLimit,
    TypeCap,
    UrgencyScale,
    VipList,
)
from forthwith.personal.pending import (
    DeleteAction,
    EntityRequest,
    ForgottenAction,
    IncomingEvent,
    MessageAction,
    Pending,
    PendingBody,
    PickRequest,
    PurchaseAction,
    ShareAction,
    TasteRequest,
)
from forthwith.personal.snapshot import line_kind

__all__ = ["MIN_ANCHOR_EVIDENCE", "anchors_of", "dollars"]

MIN_ANCHOR_EVIDENCE = 12
"""Shorter evidence is too common to prove anything."""

_Value = tuple[str, str, AnchorKind]


def dollars(cents: int) -> str:
    """Canonical money: "$50", "$61.98"."""
    return f"${cents // 100}" if cents % 100 == 0 else f"${cents // 100}.{cents % 100:02d}"


def anchors_of(lines: Iterable[Line]) -> tuple[Anchor, ...]:
    """The anchors of some lines, without repetition, in the order of the lines."""
    found: dict[tuple[str, str, str], Anchor] = {}
    for line in lines:
        kind = "pending" if isinstance(line, Pending) else line_kind(line)
        for field, text, spelling in _values(line):
            anchor = Anchor(text, f"{kind}.{field}", line.line_id, spelling)
            found.setdefault((anchor.line_id, anchor.role, anchor.text), anchor)
    return tuple(found.values())


def _values(line: Line) -> Iterator[_Value]:
    since = getattr(line, "since", None)
    if isinstance(since, dt.date):
        yield "since", since.isoformat(), "date"
    owner = getattr(line, "owner", None)
    if isinstance(owner, str):
        yield "owner", owner, "text"
    if isinstance(line, Pending):
        yield "label", line.label, "text"
        yield from _body(line.body)
    elif isinstance(line, MemoryFact):
        yield from _memory(line)
    elif isinstance(line, ForgetRequest | Repermission):
        yield from _forget(line)
    elif isinstance(line, CalendarEvent | Contact | EntityNote | ReversibilityNote | PastCases):
        yield from _note(line)
    elif isinstance(line, ConnectedServices | ServiceChange | RoutingRule | PriorityCode | UrgencyScale | VipList):
        yield from _service_or_urgency(line)
    else:
        yield from _rule(line)


def _memory(line: MemoryFact) -> Iterator[_Value]:
    yield "date", line.date.isoformat(), "date"
    yield "item", line.item_name, "text"
    yield "category", line.category, "text"
    if len(line.evidence) >= MIN_ANCHOR_EVIDENCE:
        yield "evidence", line.evidence, "text"


def _forget(line: ForgetRequest | Repermission) -> Iterator[_Value]:
    yield "date", line.date.isoformat(), "date"
    if line.note_date is not None:
        yield "note_date", line.note_date.isoformat(), "date"
    for field in ("item_name", "attribute", "category"):
        text = getattr(line, field)
        if text is not None:
            yield field, text, "text"


def _rule(line: object) -> Iterator[_Value]:
    match line:
        case SpendLimit():
            yield "amount", f"${line.amount}", "money"
        case QuietHours():
            yield "start", f"{line.start:02d}:00", "hour"
            yield "end", f"{line.end:02d}:00", "hour"
        case MeetingCap():
            yield "level", line.level, "level"
        case TypeCap():
            yield "event", line.event, "word"
            yield "level", line.level, "level"
        case OpinionFlip():
            yield "category", line.category, "text"
        case BudgetLimit():
            yield from _budget(line)
        case _:
            yield from _privacy(line)


def _budget(line: BudgetLimit) -> Iterator[_Value]:
    yield "category", line.category, "text"
    if line.amount is not None:
        yield "amount", f"${line.amount}", "money"
    if line.price_level is not None:
        yield "price_level", "$" * line.price_level, "text"


def _privacy(line: object) -> Iterator[_Value]:
    match line:
        case PrivacyOrder():
            for level in line.levels:
                yield "level", level, "level"
        case Clearance():
            yield "recipient_type", line.recipient_type, "word"
            yield "level", line.level, "level"
        case FactMarking():
            yield "item", line.item_name, "text"
            yield "level", line.level, "level"
        case _:  # an approval rule is on or off, which only a parser can tell
            return


def _service_or_urgency(
    line: ConnectedServices | ServiceChange | RoutingRule | PriorityCode | UrgencyScale | VipList,
) -> Iterator[_Value]:
    match line:
        case ConnectedServices():
            for service in line.services:
                yield "service", service, "word"
        case ServiceChange():
            yield "service", line.service, "word"
            yield "date", line.date.isoformat(), "date"
        case RoutingRule():
            yield "entity_kind", line.entity_kind, "word"
            yield "service", line.service, "word"
        case PriorityCode():
            yield "event", line.event, "word"
            yield "code", line.code, "text"
            yield "urgency", line.urgency, "level"
        case UrgencyScale():
            yield "event", line.event, "word"
            for field in ("low", "medium", "high"):
                yield field, str(getattr(line, field)), "number"
        case VipList():
            for name in line.names:
                yield "name", name, "text"


def _note(line: CalendarEvent | Contact | EntityNote | ReversibilityNote | PastCases) -> Iterator[_Value]:
    match line:
        case CalendarEvent():
            yield "start", line.start.isoformat(sep=" ", timespec="minutes"), "datetime"
            yield "end", line.end.isoformat(sep=" ", timespec="minutes"), "datetime"
        case Contact():
            yield "name", line.name, "text"
            yield "relationship", line.relationship, "word"
        case EntityNote():
            yield "name", line.name, "text"
            yield "refers_to", line.refers_to, "text"
            if line.country is not None:
                yield "country", line.country, "text"
        case ReversibilityNote():
            yield "object", line.object_name, "text"
        case PastCases():
            yield "positive", str(line.positive), "number"
            yield "total", str(line.total), "number"


def _body(body: PendingBody) -> Iterator[_Value]:
    match body:
        case TasteRequest():
            yield from _texts(category=body.category, city=body.city, for_whom=body.for_whom)
        case ForgottenAction():
            yield from _texts(item=body.item_name, attribute=body.attribute, category=body.category)
            if body.note_date is not None:
                yield "note_date", body.note_date.isoformat(), "date"
        case PurchaseAction():
            yield "item", body.item_name, "text"
            yield "amount", dollars(body.amount_cents), "money"
        case IncomingEvent():
            yield from _event(body)
        case PickRequest():
            for option in body.options:
                yield "option", option.name, "text"
        case _:
            yield from _plain_body(body)


def _plain_body(body: MessageAction | DeleteAction | ShareAction | EntityRequest) -> Iterator[_Value]:
    match body:
        case MessageAction():
            yield "recipient", body.recipient, "text"
        case DeleteAction():
            yield "object", body.object_name, "text"
        case ShareAction():
            yield from _texts(item=body.item_name, recipient=body.recipient)
        case EntityRequest():
            yield "name", body.name, "text"


def _event(body: IncomingEvent) -> Iterator[_Value]:
    yield "event", body.event, "word"
    yield "arrival", body.arrival.isoformat(sep=" ", timespec="minutes"), "datetime"
    yield from _texts(sender=body.sender, code=body.code)
    if body.magnitude is not None:
        yield "magnitude", str(body.magnitude), "number"


def _texts(**fields: str | None) -> Iterator[_Value]:
    for field, text in fields.items():
        if text is not None:
            yield field, text, "text"
