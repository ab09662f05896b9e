"""Invented mail: office and household talk about limits, quiet hours, trips and plans of other people.

It reads like the lines of a state and never concerns its user, so it cannot be skipped by its looks.
"""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

from forthwith.personal.determinism import seeded_rng, stable_hex
from forthwith.personal.world.names import all_city_names, person_name

__all__ = ["make_mail"]

_SUBJECTS = (
    "Budget for the {thing}",
    "Quiet please on {day}",
    "Plans for {city}",
    "Re: {thing}",
    "Who books {city}?",
    "{day}: change of plan",
    "Notes from the {thing} call",
    "Before I forget: {thing}",
    "About {name}",
    "Parking on {day}",
)
_THINGS = (
    "offsite",
    "spring fair",
    "roof repair",
    "choir trip",
    "book club",
    "stock take",
    "reunion",
    "school play",
    "audit",
    "garden party",
    "server move",
    "pottery course",
    "carpool",
    "newsletter",
    "food drive",
    "annual review",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SENTENCES = (
    "{name} asked that nobody call between {h1}:00 and {h2}:00 while the baby sleeps.",
    "The team card is capped at ${amount} a head, so please check with {name} before you go above it.",
    "{name} would rather not have the address passed on beyond close friends.",
    "Please take {name} off the list for {city}; that was last year's plan.",
    "If the parcel for the {thing} comes, a line in the weekly summary is enough.",
    "We agreed that anything over ${amount} goes to {name} first.",
    "{name} is fine with texts at any hour, unlike most of us.",
    "The train to {city} leaves at {h1}:{m} and we meet ten minutes earlier.",
    "I have forgotten which of the two offers {name} liked better, so I kept both.",
    "Nobody should cancel the room for the {thing} without a word to {name}, the deposit does not come back.",
    "The calendar of {name} is not connected any more, write a mail instead.",
    "Do tell the coworkers of {name} about the {thing}, but leave the numbers out.",
    "On {day} the office closes at {h2}:00 and the phones go to {city}.",
    "{name} will bring {n} chairs and the long table.",
    "For {city} I found {n} rooms, all within walking distance of the station.",
    "The invoice for the {thing} says ${amount} and {cents} cents, which looks right.",
    "Can somebody water the plants on {day}? {name} is away.",
    "My notes of the call: {n} open points, none of them urgent.",
    "{name} changed the limit twice last month, the sheet on the wall is out of date.",
    "We had {n} replies so far, {name} still has to answer.",
)
_CLOSINGS = ("Best,", "Thanks,", "See you on {day},", "Cheers,", "More soon,", "Kind regards,")


def make_mail(seed: int, index: int) -> dict[str, Any]:
    """The index-th mail: three to ten paragraphs."""
    rng = seeded_rng("world", seed, "mail", index)
    paragraphs = [f"Hello {person_name(rng)},"]
    paragraphs += [
        " ".join(_fill(rng, sentence) for sentence in rng.sample(_SENTENCES, k=rng.randint(2, 5)))
        for _ in range(rng.randint(2, 6))
    ]
    paragraphs += [_fill(rng, rng.choice(_CLOSINGS)), person_name(rng)]
    date = dt.datetime(2019, 1, 1, tzinfo=dt.UTC) + dt.timedelta(minutes=rng.randrange(60 * 24 * 365 * 6))
    return {
        "email_id": "syn-" + stable_hex("world", seed, "mail-id", index),
        "date": date,
        "subject": _fill(rng, rng.choice(_SUBJECTS)),
        "body": "\n\n".join(paragraphs),
        "source": "synthetic",
    }


def _fill(rng: random.Random, text: str) -> str:
    return text.format(
        name=person_name(rng),
        thing=rng.choice(_THINGS),
        day=rng.choice(_DAYS),
        city=rng.choice(all_city_names()),
        h1=rng.randint(7, 21),
        h2=rng.randint(7, 21),
        m=rng.choice(("05", "18", "27", "41", "56")),
        n=rng.choice(("two", "three", "four", "five", "six", "nine")),
        amount=rng.choice((15, 20, 30, 35, 45, 60, 80, 90, 120, 180, 250)),
        cents=rng.randint(10, 99),
    )
