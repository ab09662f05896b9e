"""Review texts of the synthetic world: a small grammar that names the traits an opinion rests on."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass

__all__ = ["Opinion", "review_text"]

_LIKE = (
    "the {t} side of it is exactly what I look for",
    "finally something properly {t}",
    "I keep coming back because it is so {t}",
    "just as {t} as I hoped",
    "{t} is my thing and this delivers",
    "being {t} makes all the difference for me",
    "I could not be happier with how {t} it is",
    "it is {t}, which suits me very well",
    "the {t} character won me over at once",
    "you can tell it is {t} and I love that",
    "nothing beats {t} in my book",
    "a {t} one at last, and a good one",
    "what sold me is that it is {t}",
    "pleasantly {t}, more of this please",
    "it being {t} was worth the wait",
)
_DISLIKE = (
    "far too {t} for me",
    "I just do not get along with anything this {t}",
    "the {t} side of it spoiled it",
    "being {t} is what ruined it for me",
    "if only it were not so {t}",
    "{t} is not my thing and it shows here",
    "I should have known that {t} never works for me",
    "it is {t}, which I cannot stand",
    "the {t} character put me off at once",
    "way more {t} than I can take",
    "turned out {t} and I regret it",
    "nobody told me how {t} it would be",
    "I gave up on it because it is {t}",
    "too {t}, plain and simple",
    "the {t} part got on my nerves",
)
_OPEN_GOOD = (
    "Very pleased: ",
    "Happy with this one, ",
    "A keeper. ",
    "Well chosen, ",
    "Big smile here: ",
    "Good find, ",
    "",
    "",
    "No regrets, ",
    "Five stars from me, ",
    "I am impressed: ",
    "Better than expected, ",
    "Glad I tried it, ",
)
_OPEN_BAD = (
    "Disappointed: ",
    "Not for me, ",
    "Never again. ",
    "A waste, ",
    "Sad to say: ",
    "What a letdown, ",
    "",
    "",
    "I wanted to like it, ",
    "Back it goes, ",
    "Not impressed: ",
    "Worse than expected, ",
    "I regret this one, ",
)
_OPEN_MIXED = (
    "Somewhere in the middle: ",
    "Not sure yet, ",
    "Fair enough, ",
    "It is all right: ",
    "Mixed feelings, ",
    "So-so. ",
    "Half happy: ",
    "Could go either way, ",
)
_VAGUE_GOOD = (
    "I would get it again without a second thought",
    "my household agreed for once",
    "it did what it promised and then some",
    "exactly right for my needs",
    "this one stays on my list",
    "I told two friends already",
)
_VAGUE_BAD = (
    "I would not get it again",
    "my household agreed that it has to go",
    "it did not do what it promised",
    "it is simply wrong for my needs",
    "this one is off my list",
    "I warned two friends already",
)
_VAGUE_MIXED = (
    "neither good nor bad",
    "fine for once but no more",
    "some days I like it and some days I do not",
    "it has its moments",
    "I expected a little more",
    "not bad, not great",
)
_FILLER = {
    "product": (
        "It arrived {when} and the box was {box}.",
        "I had it on my wish list for {span}.",
        "The instructions were {box}.",
        "Bought it {when} after reading far too much about it.",
        "My neighbor has the same one and says {says}.",
        "I compared it with {n} others before I ordered.",
        "Used it for {span} before writing this.",
        "The shop answered my question within {span}.",
        "It replaced one that I had had for {span}.",
        "For scale, I go through one of these every {span}.",
        "The label looks a bit different from the picture.",
    ),
    "restaurant": (
        "We went {when} and waited {span} for a table.",
        "There were {n} of us that evening.",
        "The bill came {when}.",
        "I had walked past it for {span} before I went in.",
        "Our waiter had {n} tables and still found time to chat.",
        "A colleague who eats there every week says {says}.",
        "Parking took {span}.",
        "The menu changes every {span}.",
        "We sat by the window and ordered {n} dishes to share.",
        "It was {box} when we arrived.",
    ),
}
_SLOTS = {
    "when": (
        "on a Tuesday",
        "last week",
        "just before the holidays",
        "on a rainy evening",
        "right on time",
        "a day late",
    ),
    "span": ("three days", "a fortnight", "two months", "half an hour", "most of a year", "ten minutes", "six weeks"),
    "box": ("clean and tidy", "a bit of a mess", "better than it needed to be", "nothing special", "fairly full"),
    "says": ("much the same", "the opposite", "it depends", "to give it time"),
    "n": ("two", "three", "four", "five", "seven"),
}


_DATED = (
    "Written on {d}.",
    "This was {d}.",
    "Noted on {d}.",
    "Tried it on {d}.",
    "My words of {d}.",
    "As of {d}.",
    "Posted {d}.",
)


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a review has to say.

    Attributes:
        domain: product or restaurant, for the small talk.
        rating: 1 to 5; decides the tone.
        liked: traits that speak for the item in the writer's eyes, strongest first.
        disliked: traits that speak against it, strongest first.
        when: when it is written; named in the text, so that no two people write the same.
    """

    domain: str
    rating: int
    liked: list[str]
    disliked: list[str]
    when: dt.datetime


def review_text(rng: random.Random, opinion: Opinion) -> str:
    """One review of two to seven sentences."""
    opener, vague = _tone(opinion.rating)
    reasons = _reasons(rng, opinion.rating, opinion.liked, opinion.disliked)
    head = rng.choice(opener) + (reasons[0] if reasons else rng.choice(vague))
    sentences = [_sentence(head)]
    sentences += [_sentence(reason) for reason in reasons[1:]]
    if reasons and rng.random() < 0.4:
        sentences.append(_sentence(rng.choice(vague)))
    filler = rng.sample(_FILLER[opinion.domain], k=rng.choice((0, 1, 1, 2, 3)))
    sentences += [_fill(rng, text) for text in filler]
    when = opinion.when
    sentences.append(rng.choice(_DATED).format(d=f"{when:%B} {when.day}, {when.year} at {when:%H:%M}"))
    return " ".join(sentences)


def _tone(rating: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if rating >= 4:
        return _OPEN_GOOD, _VAGUE_GOOD
    return (_OPEN_BAD, _VAGUE_BAD) if rating <= 2 else (_OPEN_MIXED, _VAGUE_MIXED)


def _reasons(rng: random.Random, rating: int, liked: list[str], disliked: list[str]) -> list[str]:
    good = [rng.choice(_LIKE).format(t=trait) for trait in liked]
    bad = [rng.choice(_DISLIKE).format(t=trait) for trait in disliked]
    if rng.random() < 0.08:
        return []
    if rating >= 4:
        return good[: 1 + (rng.random() < 0.5)] + (bad[:1] if rng.random() < 0.25 else [])
    if rating <= 2:
        return bad[: 1 + (rng.random() < 0.5)] + (good[:1] if rng.random() < 0.25 else [])
    return good[:1] + bad[:1]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _fill(rng: random.Random, text: str) -> str:
    return text.format(**{name: rng.choice(words) for name, words in _SLOTS.items()})
