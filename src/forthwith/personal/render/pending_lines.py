"""Sentences for what waits: requests, proposed actions and incoming events, with their label in front."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forthwith.personal.pending import (
    DeleteAction,
    EntityRequest,
    ForgottenAction,
    IncomingEvent,
    ItemOption,
    MessageAction,
    PendingBody,
    PickRequest,
    PurchaseAction,
    ShareAction,
    TasteRequest,
)
from forthwith.personal.render.context_lines import object_name
from forthwith.personal.render.phraser import Phraser
from forthwith.personal.render.rule_lines import capitalised, remembered_thing

__all__ = ["option_description", "pending_options", "pending_sentence"]


def _taste(voice: Phraser, body: TasteRequest) -> str:
    place = {} if body.city is None else {"city": body.city}
    section = "taste_restaurant" if body.city is not None else "taste_product"
    sentence = voice.say("pending", section, category=body.category, **place)
    if body.for_whom is None:
        return sentence
    gap = "" if voice.language == "zh" else " "
    return sentence + gap + voice.say("pending", "for_whom", name=body.for_whom)


def _forgotten(voice: Phraser, body: ForgottenAction) -> str:
    what = remembered_thing(voice, body.item_name, body.note_date, body.attribute, body.category)
    return voice.say("pending", f"forgotten_{body.mode}", what=what, contact=body.contact or "")


def _purchase(voice: Phraser, body: PurchaseAction) -> str:
    fee = ""
    if body.delivery_fee_cents:
        fee = voice.say("pending", "fee", fee=voice.cents(body.delivery_fee_cents))
    return voice.say(
        "pending",
        "purchase",
        quantity=str(body.quantity),
        item=body.item_name,
        price=voice.cents(body.unit_price_cents),
        fee=fee,
        total=voice.cents(body.amount_cents),
    )


def _message(voice: Phraser, body: MessageAction) -> str:
    return voice.say("pending", "message", recipient=body.recipient, email=body.email, topic=body.topic)


def _delete(voice: Phraser, body: DeleteAction) -> str:
    thing = object_name(voice, body.object_kind, body.object_name)
    return voice.say("pending", f"delete_{body.object_kind}", object=thing)


def _share(voice: Phraser, body: ShareAction) -> str:
    if body.recipient is None:
        return voice.say("pending", "share_public", item=body.item_name)
    return voice.say("pending", "share", item=body.item_name, recipient=body.recipient)


def _entity(voice: Phraser, body: EntityRequest) -> str:
    when = "" if body.when is None else voice.say("pending", "when", date=voice.date(body.when))
    return voice.say("pending", "entity", name=body.name, when=when)


def _event(voice: Phraser, body: IncomingEvent) -> str:
    sender = "" if body.sender is None else voice.say("pending", "sender", name=body.sender)
    values = {
        "arrival": voice.formats.moment(body.arrival),
        "event_one": voice.term("event_one", body.event),
        "sender": sender,
    }
    if body.code is not None:
        return capitalised(voice.say("pending", "event_code", code=body.code, **values), values["event_one"])
    amount = {"magnitude": str(body.magnitude), "unit": body.unit or ""}
    return capitalised(voice.say("pending", "event_magnitude", **amount, **values), values["event_one"])


def _pick(voice: Phraser, body: PickRequest) -> str:
    if body.city is not None:
        return voice.say("pending", "pick_restaurant", category=body.category, city=body.city)
    return voice.say("pending", "pick_product", category=body.category)


_SENTENCES: dict[type, Callable[[Phraser, Any], str]] = {
    TasteRequest: _taste,
    ForgottenAction: _forgotten,
    PurchaseAction: _purchase,
    MessageAction: _message,
    DeleteAction: _delete,
    ShareAction: _share,
    EntityRequest: _entity,
    IncomingEvent: _event,
    PickRequest: _pick,
}


def pending_sentence(voice: Phraser, body: PendingBody) -> str:
    """What a pending item is, in one or two sentences, without its label and options."""
    return _SENTENCES[type(body)](voice, body)


def option_description(voice: Phraser, option: ItemOption) -> str:
    """What an option is besides its name: category, price or price level, city."""
    if option.price_cents is not None:
        price = voice.cents(option.price_cents)
    elif option.price_level is not None:
        price = "$" * option.price_level
    else:
        price = "价格未列出" if voice.language == "zh" else "price not listed"
    return ", ".join(part for part in (option.category, *option.traits, price, option.city) if part)


def pending_options(voice: Phraser, body: PendingBody) -> tuple[str, ...]:
    """One line for every option of a pick, in order; nothing for other items."""
    if not isinstance(body, PickRequest):
        return ()
    return tuple(f"{option.name} ({option_description(voice, option)})" for option in body.options)
