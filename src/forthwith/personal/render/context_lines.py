"""Sentences for profile, memory, people, calendar and notes; and the one door for any line of a snapshot."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from forthwith.personal.lines import (
    CalendarEvent,
    Contact,
    EntityNote,
    HomeAirport,
    HomeCity,
    Line,
    MemoryFact,
    PastCases,
    ReversibilityNote,
)
from forthwith.personal.render.phraser import Phraser
from forthwith.personal.render.rule_lines import RULE_SENTENCES, capitalised

__all__ = ["line_sentence", "object_name", "one_full_stop"]


def _home_city(voice: Phraser, line: HomeCity) -> str:
    return voice.say("context", "home_city", city=line.city)


def _home_airport(voice: Phraser, line: HomeAirport) -> str:
    return voice.say("context", "home_airport", iata=line.iata, city=line.city)


def _memory_fact(voice: Phraser, line: MemoryFact) -> str:
    place = ", ".join([line.category, *line.traits, *([] if line.city is None else [line.city])])
    thing = f"{line.item_name}（{place}）" if voice.language == "zh" else f"{line.item_name} ({place})"
    return voice.say(
        "context",
        f"memory_{line.polarity}",
        date=voice.date(line.date),
        thing=thing,
        quote=_quote(voice, line.evidence),
    )


def _quote(voice: Phraser, evidence: str) -> str:
    if not evidence:
        return ""
    if voice.language == "zh":
        return voice.rng.choice(("：“{}”", "，原话：“{}”", "（“{}”）")).format(evidence)
    return voice.rng.choice((': "{}"', ' – "{}"', ' ("{}")', ', in the words "{}"', ": “{}”")).format(evidence)


def _contact(voice: Phraser, line: Contact) -> str:
    relation = voice.term("relation", line.relationship)
    sentence = voice.say("context", "contact", name=line.name, relation=relation, email=line.email)
    return capitalised(sentence, relation)


def _calendar_event(voice: Phraser, line: CalendarEvent) -> str:
    start, end = voice.formats.moment(line.start), voice.formats.moment(line.end)
    if line.end.date() == line.start.date() and voice.rng.random() < 0.5:
        end = voice.formats.time(line.end.hour, line.end.minute)
    return voice.say("context", "calendar_event", title=line.title, start=start, end=end)


def _entity_note(voice: Phraser, line: EntityNote) -> str:
    section = f"entity_{line.entity_kind}"
    country = line.country or ""
    if line.entity_kind == "city" and not line.airports:
        section = "entity_city_plain"
        country = f", {country}" if country else ""
    airports = voice.listing(line.airports)
    return voice.say("context", section, name=line.name, full=line.refers_to, country=country, airports=airports)


def object_name(voice: Phraser, kind: str, name: str) -> str:
    """A booking, notes or an event by its name."""
    return voice.say("terms", f"object.{kind}", name=name)


def _reversibility(voice: Phraser, line: ReversibilityNote) -> str:
    section = "reversible" if line.reversible else "irreversible"
    thing = object_name(voice, line.object_kind, line.object_name)
    return capitalised(voice.say("context", section, thing=thing), "the ")


def _past_cases(voice: Phraser, line: PastCases) -> str:
    return voice.say("context", f"past_{line.about}", positive=str(line.positive), total=str(line.total))


_TWO_STOPS = re.compile(r"(?:[ap]\.m\.|[.!?][\"”])\.$")

_SENTENCES: dict[type, Callable[[Phraser, Any], str]] = {
    HomeCity: _home_city,
    HomeAirport: _home_airport,
    MemoryFact: _memory_fact,
    Contact: _contact,
    CalendarEvent: _calendar_event,
    EntityNote: _entity_note,
    ReversibilityNote: _reversibility,
    PastCases: _past_cases,
    **RULE_SENTENCES,
}


def line_sentence(voice: Phraser, line: Line) -> str:
    """One sentence for any line but a pending item; a line of somebody else says whose it is."""
    sentence = _SENTENCES[type(line)]
    owner: str | None = getattr(line, "owner", None)
    if owner is None:
        return one_full_stop(sentence(voice, line))
    return one_full_stop(voice.say("context", "owner_frame", owner=owner) + sentence(voice.about(owner), line))


def one_full_stop(sentence: str) -> str:
    """The sentence without the second of two full stops: after "a.m.", or after a quotation that ends with its own."""
    return sentence[:-1] if _TWO_STOPS.search(sentence) else sentence
