"""Changes one anchored value in a rendered text: to another value of its kind, where its line says it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random

from forthwith.personal.fragment import DraftRecord
from forthwith.personal.render import RenderedAnchor, RenderedRecord, style
from forthwith.personal.render.formats import Formats
from forthwith.personal.render.spelling import spellings
from forthwith.personal.vocabulary import (
    EVENT_TYPES,
    NOTIFY_LEVELS,
    PRIVACY_LEVELS,
    RECIPIENT_TYPES,
    SERVICES,
    URGENCIES,
)

WORD_SETS = (EVENT_TYPES, NOTIFY_LEVELS, PRIVACY_LEVELS, RECIPIENT_TYPES, SERVICES, URGENCIES)


def mutate(draft: DraftRecord, rendered: RenderedRecord, rng: random.Random) -> tuple[RenderedRecord, str]:
    """A copy of the record with one value of one anchor changed in its state, and what was changed."""
    while True:
        anchor = rng.choice(rendered.anchors)
        value = _other_value(anchor, rendered, rng)
        if (
            value is None
            or value == anchor.text
            or anchor.context is None
            or rendered.unburied.count(anchor.context) != 1
        ):
            continue
        changed = anchor.context.replace(anchor.text, value)
        if changed == anchor.context:
            continue
        states = {name: getattr(rendered, name).replace(anchor.context, changed, 1) for name in ("state", "unburied")}
        return dataclasses.replace(rendered, **states), f"{anchor.anchor.role}: {anchor.text!r} -> {value!r}"


def as_outside_text(rendered: RenderedRecord) -> RenderedRecord:
    """The same text as if an outside writer had sent it: nothing is known of where its anchors stand."""
    anchors = tuple(dataclasses.replace(anchor, context=None) for anchor in rendered.anchors)
    return dataclasses.replace(rendered, anchors=anchors, renderer="outside")


def _formats_of(anchor: RenderedAnchor, rendered: RenderedRecord) -> Formats:
    """The formats that spell the anchor as it stands in the text."""
    look = style(rendered.style_id)
    for date in look.dates:
        for clock in look.clocks:
            for money in look.monies:
                formats = Formats(date, clock, money)
                if anchor.text in spellings(anchor.anchor, formats):
                    return formats
    raise AssertionError(anchor)


def _other_value(anchor: RenderedAnchor, rendered: RenderedRecord, rng: random.Random) -> str | None:
    text, kind = anchor.anchor.text, anchor.anchor.kind
    alike = [a.text for a in rendered.anchors if a.anchor.kind == kind and a.anchor.text != text]
    if kind in ("level", "word"):
        words = next((words for words in WORD_SETS if text in words), ())
        others = [word for word in words if word != text]
        if not others:
            return None
        other = dataclasses.replace(anchor.anchor, text=rng.choice(others))
        found = spellings(other, _formats_of(anchor, rendered))
        return rng.choice([word for word in found if word.isascii() == anchor.text.isascii()])
    if alike and rng.random() < 0.5:
        return rng.choice(alike)
    if kind == "text":
        words = anchor.text.split(" ")
        return None if len(words) < 2 else " ".join(words[1:] + words[:1])
    changed = dataclasses.replace(anchor.anchor, text=_changed(text, kind, rng))
    found = spellings(changed, _formats_of(anchor, rendered))
    return (
        found[0]
        if kind != "datetime" or anchor.text in spellings(anchor.anchor, _formats_of(anchor, rendered))[:1]
        else found[1]
    )


def _changed(text: str, kind: str, rng: random.Random) -> str:
    step = rng.randrange(1, 40)
    match kind:
        case "money":
            return f"${round(float(text[1:]) * 100 + 100 * step) / 100:.2f}".removesuffix(".00")
        case "date":
            return (dt.date.fromisoformat(text) + dt.timedelta(days=step)).isoformat()
        case "datetime":
            return f"{dt.datetime.fromisoformat(text) + dt.timedelta(minutes=step):%Y-%m-%d %H:%M}"
        case "hour":
            return f"{(int(text[:2]) + 1 + step % 23) % 24:02d}:00"
        case _:
            return str(int(text) + step)
