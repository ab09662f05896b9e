"""A second way to every label: from rows of plain values, read from a text or taken from a snapshot's payload.

Shares no code with the rules and families that label the benchmark. It replays each user's lines as a history, in order
of date, and looks at what is true at the end; the rules pick the latest dated term instead. A line of another owner is
left out first. `None` means that the rows do not decide the question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from forthwith.personal.field_reader import Row

__all__ = ["derive_label", "rows_from_payload"]

_LEVELS = ("silent", "digest", "notify", "interrupt")
_URGENCIES = ("none", "low", "medium", "high")
_PRIVACY = ("public", "acquaintances", "friends", "family", "private")
_USUAL_SERVICE = {
    "city": "flights",
    "restaurant": "restaurants",
    "product": "shopping",
    "person": "email",
    "event": "calendar",
}


def rows_from_payload(payload: dict[str, Any]) -> list[Row]:
    """The rows of a snapshot's payload (`snapshot_payload`), in the canonical values of `field_reader.Row`."""
    rows = [Row("now", {"time": payload["now"]})]
    for section, lines in payload.items():
        if section in ("now", "time_zone"):
            continue
        for line in cast("list[dict[str, Any]]", lines):
            rows.extend(_pending_rows(line) if section == "pending" else [_plain_row(line)])
    return rows


def _plain_row(line: dict[str, Any]) -> Row:
    fields = {name: _frozen(value) for name, value in line.items() if name != "kind"}
    if "amount" in fields:
        fields["amount"] *= 100
    return Row(line["kind"], fields)


def _frozen(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


def _pending_rows(line: dict[str, Any]) -> list[Row]:
    body = dict(line["body"])
    label = f"{line['heading']} {line['letter']}"
    body["task"] = body.pop("kind")
    options = cast("list[dict[str, Any]]", body.pop("options", []))
    return [Row("pending", {"label": label, **body}), *(Row("option", {"of": label, **option}) for option in options)]


def derive_label(rows: Sequence[Row], family: str, label: str, note_date: str | None = None) -> str | None:
    """The key of the right answer to a question about the pending item of that label; None: the rows do not decide.

    Args:
        rows: from `read_rows` or `rows_from_payload`.
        family: the kind of question; pick_option is never decided by rows.
        label: e.g. "Request A".
        note_date: ISO day of the memory line in question (apply_memory).
    """
    item = next((row for row in rows if row.kind == "pending" and row.get("label") == label), None)
    now = next((str(row.get("time")) for row in rows if row.kind == "now"), None)
    if item is None or now is None or family not in _DERIVERS:
        return None
    answer = _DERIVERS[family](_History(rows, now[:10]), item, note_date)
    return answer if answer is None or isinstance(answer, str) else str(answer).lower()


class _History:
    """The user's own rows, and what they have led to by today."""

    def __init__(self, rows: Sequence[Row], today: str) -> None:
        self.all_rows = rows
        self.today = today
        self.own = [row for row in rows if row.get("owner") is None]

    def of(self, kind: str) -> list[Row]:
        """The user's rows of a kind that have begun by today, oldest first; undated ones come first of all."""
        begun = [row for row in self.own if row.kind == kind and _begin(row) <= self.today]
        return sorted(begun, key=_begin)

    def last(self, kind: str, **where: object) -> Row | None:
        """The newest such row whose fields have these values."""
        rows = [row for row in self.of(kind) if all(row.get(name) == value for name, value in where.items())]
        return rows[-1] if rows else None


def _begin(row: Row) -> str:
    return str(row.get("since") or (row.get("date") if row.kind != "memory_fact" else None) or "")


def _needs_approval(history: _History, item: Row, _: str | None) -> bool | None:
    if item.get("amount_cents") is not None:
        limit = history.last("spend_limit")
        return None if limit is None else int(item.get("amount_cents")) - int(limit.get("amount")) > 0
    if item.get("recipient") is not None:
        rule = history.last("approval_rule", about="new_recipient")
        people = {(row.get("name"), row.get("email")) for row in history.of("contact")}
        is_stranger = (item.get("recipient"), item.get("email")) not in people
        return None if rule is None else is_stranger and bool(rule.get("on"))
    rule = history.last("approval_rule", about="irreversible")
    where = {"object_kind": item.get("object_kind"), "object_name": item.get("object_name")}
    note = history.last("reversibility_note", **where)
    if rule is None or note is None:
        return None
    return bool(rule.get("on")) and not note.get("reversible")


def _share_ok(history: _History, item: Row, _: str | None) -> bool | None:
    person = item.get("recipient")
    contact = history.last("contact", name=person) if person is not None else None
    kind = "public" if person is None else None if contact is None else contact.get("relationship")
    clearance = history.last("clearance", recipient_type=kind)
    marking = history.last("fact_marking", item_name=item.get("item_name"))
    if clearance is None or marking is None:
        return None
    order = history.last("privacy_order")
    levels = tuple(order.get("levels")) if order is not None else _PRIVACY
    allowed = levels[: levels.index(clearance.get("level")) + 1]
    return marking.get("level") in allowed


def _route(history: _History, item: Row, _: str | None) -> str | None:
    meanings = {
        (row.get("entity_kind"), row.get("refers_to"), row.get("country"))
        for row in history.of("entity_note")
        if row.get("name") == item.get("name")
    }
    start = history.last("connected_services")
    if start is None or not meanings:
        return None
    is_on = dict.fromkeys(start.get("services"), True)
    for change in history.of("service_change"):
        is_on[change.get("service")] = bool(change.get("connected"))
    if len(meanings) > 1:
        return "ask_user"
    kind = str(next(iter(meanings))[0])
    detour = history.last("routing_rule", entity_kind=kind)
    service = _USUAL_SERVICE[kind] if detour is None else str(detour.get("service"))
    return service if is_on.get(service) else "ask_user"


def _urgency(history: _History, item: Row) -> int | None:
    event = item.get("event")
    if item.get("code") is not None:
        meaning = history.last("priority_code", event=event, code=item.get("code"))
        return None if meaning is None else _URGENCIES.index(meaning.get("urgency"))
    scale = history.last("urgency_scale", event=event, unit=item.get("unit"))
    if scale is None:
        return None
    size = int(item.get("magnitude"))
    return max((step for step, name in enumerate(_URGENCIES) if step and size >= int(scale.get(name))), default=0)


def _notify_level(history: _History, item: Row, _: str | None) -> str | None:
    urgency = _urgency(history, item)
    cap = history.last("type_cap", event=item.get("event"))
    if urgency is None:
        return None
    ceilings = [urgency] + ([] if cap is None else [_LEVELS.index(cap.get("level"))])
    arrival = str(item.get("arrival"))
    vips = history.last("vip_list")
    if vips is None or item.get("sender") is None or item.get("sender") not in vips.get("names"):
        quiet = history.last("quiet_hours")
        if quiet is not None and int(arrival[11:13]) in _hours(int(quiet.get("start")), int(quiet.get("end"))):
            ceilings.append(1)
        meeting = history.last("meeting_cap")
        is_busy = any(row.get("start") <= arrival < row.get("end") for row in history.of("calendar_event"))
        if is_busy and meeting is not None:
            ceilings.append(_LEVELS.index(meeting.get("level")))
    return str(min(ceilings))


def _hours(start: int, end: int) -> set[int]:
    """The hours that a window covers, walked one by one around the clock."""
    hours: set[int] = set()
    hour = start
    while hour != end:
        hours.add(hour)
        hour = (hour + 1) % 24
    return hours


def _forgotten(history: _History, item: Row, _: str | None) -> bool:
    is_forgotten = False
    terms = [row for row in history.own if row.kind in ("forget_request", "repermission")]
    for term in sorted(terms, key=lambda row: str(row.get("date"))):
        if str(term.get("date")) <= history.today and _touches(term, item):
            is_forgotten = term.kind == "forget_request"
    return is_forgotten


def _touches(term: Row, item: Row) -> bool:
    if term.get("attribute") is not None:
        return (term.get("attribute"), term.get("category")) == (item.get("attribute"), item.get("category"))
    same = ("item_name", "note_date")
    return any(item.get(name) is not None and item.get(name) == term.get(name) for name in same)


def _apply_memory(history: _History, item: Row, note_date: str | None) -> bool | None:
    facts = [row for row in history.all_rows if row.kind == "memory_fact" and row.get("date") == note_date]
    if len(facts) != 1:
        return None
    fact = facts[0]
    return fact.get("category") == item.get("category") and fact.get("owner") == item.get("for_whom")


_DERIVERS: dict[str, Callable[[_History, Row, str | None], bool | str | None]] = {
    "needs_approval": _needs_approval,
    "share_ok": _share_ok,
    "route": _route,
    "notify_level": _notify_level,
    "forgotten_violation": _forgotten,
    "apply_memory": _apply_memory,
}
