"""Sentences for rules, and for what was said later about them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from forthwith.personal.lines import (
    ApprovalRule,
    BudgetLimit,
    Clearance,
    ConnectedServices,
    FactMarking,
    ForgetRequest,
    MeetingCap,
    OpinionFlip,
    PriorityCode,
    PrivacyOrder,
    QuietHours,
    Repermission,
    RoutingRule,
    ServiceChange,
    SpendLimit,
    TypeCap,
    UrgencyScale,
    VipList,
)
from forthwith.personal.render.phraser import Phraser

__all__ = ["RULE_SENTENCES", "capitalised", "remembered_thing"]


def _spend_limit(voice: Phraser, line: SpendLimit) -> str:
    amount = voice.dollars(line.amount)
    if line.since is None:
        return voice.say("approval", "spend_limit", amount=amount)
    section = "spend_limit_changed" if line.since <= voice.today else "spend_limit_announced"
    return voice.say("approval", section, amount=amount, date=voice.date(line.since))


def _dated(voice: Phraser, since: dt.date | None, sentence: str) -> str:
    return sentence if since is None else voice.say("context", "dated_frame", date=voice.date(since)) + sentence


def _approval_rule(voice: Phraser, line: ApprovalRule) -> str:
    return _dated(voice, line.since, voice.say("approval", f"{line.about}_{'on' if line.on else 'off'}"))


def _privacy_order(voice: Phraser, line: PrivacyOrder) -> str:
    words = [voice.term("privacy", level) for level in line.levels]
    joint = voice.rng.choice((" < ", " → ", "、" if voice.language == "zh" else ", ", " / "))
    return voice.say("privacy", "level_order", levels=joint.join(words))


def _clearance(voice: Phraser, line: Clearance) -> str:
    level, recipients = voice.term("privacy", line.level), voice.term("relations", line.recipient_type)
    recipient = voice.term("relation", line.recipient_type)
    sentence = voice.say("privacy", "clearance", level=level, recipient=recipient, recipients=recipients)
    return _dated(voice, line.since, capitalised(sentence, recipients, level))


def _fact_marking(voice: Phraser, line: FactMarking) -> str:
    values = {"item": line.item_name, "level": voice.term("privacy", line.level)}
    if line.since is None:
        return voice.say("privacy", "marking", **values)
    return voice.say("privacy", "re_marking", date=voice.date(line.since), **values)


def _connected(voice: Phraser, line: ConnectedServices) -> str:
    services = voice.listing([voice.term("service", service) for service in line.services])
    return voice.say("notifications", "connected_services", services=services)


def _service_change(voice: Phraser, line: ServiceChange) -> str:
    section = "service_on" if line.connected else "service_off"
    service = voice.term("service", line.service)
    return voice.say("notifications", section, service=service, date=voice.date(line.date))


def _routing_rule(voice: Phraser, line: RoutingRule) -> str:
    file = "notifications" if voice.language == "zh" else "context"
    kinds, service = voice.term("kinds", line.entity_kind), voice.term("service", line.service)
    return _dated(voice, line.since, voice.say(file, "routing_rule", kinds=kinds, service=service))


def _quiet_hours(voice: Phraser, line: QuietHours) -> str:
    values = {
        "window": voice.window(line.start, line.end),
        "start": voice.formats.time(line.start),
        "end": voice.formats.time(line.end),
        "digest": voice.term("level", "digest"),
    }
    if line.since is None:
        return voice.say("notifications", "quiet_hours", **values)
    return voice.say("notifications", "quiet_hours_changed", date=voice.date(line.since), **values)


def _meeting_cap(voice: Phraser, line: MeetingCap) -> str:
    level = voice.term("level", line.level)
    return capitalised(voice.say("notifications", "meeting_cap", level=level), level)


def _type_cap(voice: Phraser, line: TypeCap) -> str:
    event, level = voice.term("event", line.event), voice.term("level", line.level)
    return _dated(
        voice, line.since, capitalised(voice.say("notifications", "type_cap", event=event, level=level), event, level)
    )


def _vip_list(voice: Phraser, line: VipList) -> str:
    if not line.names:
        return voice.say("notifications", "vip_none")
    return voice.say("notifications", "vip_list", names=voice.listing(line.names))


def _priority_code(voice: Phraser, line: PriorityCode) -> str:
    file = "notifications" if voice.language == "zh" else "context"
    event, urgency = voice.term("event", line.event), voice.term("urgency", line.urgency)
    return capitalised(voice.say(file, "priority_code", event=event, code=line.code, urgency=urgency), event, urgency)


def _urgency_scale(voice: Phraser, line: UrgencyScale) -> str:
    file = "notifications" if voice.language == "zh" else "context"
    event = voice.term("event", line.event)
    sentence = voice.say(
        file,
        "urgency_scale",
        event=event,
        unit=line.unit,
        low=str(line.low),
        medium=str(line.medium),
        high=str(line.high),
        none=voice.term("urgency", "none"),
        w_low=voice.term("urgency", "low"),
        w_medium=voice.term("urgency", "medium"),
        w_high=voice.term("urgency", "high"),
    )
    return capitalised(sentence, event)


def _opinion_flip(voice: Phraser, line: OpinionFlip) -> str:
    section = "opinion_likes" if line.now_likes else "opinion_dislikes"
    return voice.say("context", section, category=line.category, date=voice.date(line.since))


def _budget(voice: Phraser, line: BudgetLimit) -> str:
    date = voice.date(line.since)
    if line.amount is not None:
        return voice.say("context", "budget", category=line.category, amount=voice.dollars(line.amount), date=date)
    signs = "$" * (line.price_level or 0)
    return voice.say("context", "budget_level", category=line.category, amount=signs, date=date)


def remembered_thing(
    voice: Phraser, item_name: str | None, note_date: dt.date | None, attribute: str | None, category: str | None
) -> str:
    """What a forget request or an action means: an item with its note, the note of a day, or a taste."""
    if attribute is not None:
        return voice.say("pending", "what_attribute", attribute=attribute, category=category or "")
    note = None if note_date is None else voice.say("pending", "what_note", date=voice.date(note_date))
    if item_name is None:
        return note or ""
    if note is None:
        return item_name
    return f"{item_name}（{note}）" if voice.language == "zh" else f"{item_name} ({note})"


def _forget(voice: Phraser, line: ForgetRequest) -> str:
    date = voice.date(line.date)
    if line.attribute is not None:
        category = line.category or ""
        return voice.say("privacy", "forget_attribute", date=date, attribute=line.attribute, category=category)
    return voice.say(
        "privacy", "forget", date=date, what=remembered_thing(voice, line.item_name, line.note_date, None, None)
    )


def _repermission(voice: Phraser, line: Repermission) -> str:
    what = remembered_thing(voice, line.item_name, line.note_date, line.attribute, line.category)
    sentence = voice.say("privacy", "re_permission", date=voice.date(line.date), what=what)
    return capitalised(sentence, "the taste", "the fondness", "the note", "the memory", "the entry", "what was")


def capitalised(sentence: str, *starts: str) -> str:
    """The sentence with a capital where it begins with one of these words of ours; names keep their own spelling."""
    return sentence[:1].upper() + sentence[1:] if sentence.startswith(starts) else sentence


RULE_SENTENCES: dict[type, Callable[[Phraser, Any], str]] = {
    SpendLimit: _spend_limit,
    ApprovalRule: _approval_rule,
    PrivacyOrder: _privacy_order,
    Clearance: _clearance,
    FactMarking: _fact_marking,
    ConnectedServices: _connected,
    ServiceChange: _service_change,
    RoutingRule: _routing_rule,
    QuietHours: _quiet_hours,
    MeetingCap: _meeting_cap,
    TypeCap: _type_cap,
    VipList: _vip_list,
    PriorityCode: _priority_code,
    UrgencyScale: _urgency_scale,
    OpinionFlip: _opinion_flip,
    BudgetLimit: _budget,
    ForgetRequest: _forget,
    Repermission: _repermission,
}
"""How each type of line is said in one sentence."""
