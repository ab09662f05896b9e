"""The people of the synthetic world: latent tastes, what they try, how they rate it, what they write.

A user is a pure function of (seed, index): no user depends on another, so any range of users can be made alone.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from forthwith.personal.determinism import seeded_rng, stable_hex
from forthwith.personal.vocabulary import Domain
from forthwith.personal.world.catalogue import Shelf, ShelfItem
from forthwith.personal.world.reviews import Opinion, review_text

__all__ = ["latent_taste", "make_user", "user_id"]

_START = dt.datetime(2021, 1, 4, tzinfo=dt.UTC)
_BOUNDS = (-1.3, -0.35, 0.35, 1.3)
"""Utilities that separate the ratings 1 to 5."""


def user_id(seed: int, index: int) -> str:
    """The id of the index-th user: 16 hexadecimal digits."""
    return stable_hex("synthetic", seed, "user", index)


def latent_taste(seed: int, user: str, category: str, traits: Iterable[str]) -> float:
    """How much a user likes an item with these traits, before quality and chance; mean 0, deviation about 1.7."""
    return sum(_taste(seed, user, category, trait) for trait in traits)


def _taste(seed: int, user: str, category: str, trait: str) -> float:
    return seeded_rng("world", seed, "taste", user, category, trait).gauss(0, 1)


def make_user(seed: int, index: int, shelves: Mapping[Domain, Sequence[Sequence[Shelf]]]) -> list[dict[str, Any]]:
    """The interactions of one user, oldest first.

    Args:
        seed: of the world.
        index: which user; even ones review products, odd ones restaurants.
        shelves: by domain, groups of shelves that one user chooses from (a group of restaurants is one city).
    """
    user = user_id(seed, index)
    rng = seeded_rng("world", seed, "history", user)
    domain: Domain = "product" if index % 2 == 0 else "restaurant"
    own = rng.sample(rng.choice(shelves[domain]), k=rng.choice((2, 2, 3)))
    count = rng.randint(12, 30)
    taste: dict[tuple[str, str], float] = {}
    seen: set[str] = set()
    when = _START + dt.timedelta(days=rng.randrange(365), minutes=rng.randrange(1440))
    rows: list[dict[str, Any]] = []
    while len(rows) < count:
        shelf = rng.choice(own)
        item = _choose(rng, seed, user, shelf, taste)
        when += dt.timedelta(days=rng.choice((1, 3, 7, 14, 30, 60)) + rng.random() * 20, minutes=rng.randrange(600))
        if item.item_id in seen:
            continue
        seen.add(item.item_id)
        moment = when.replace(second=0, microsecond=0)
        rating, opinion = _opinion(rng, shelf, item, taste, moment)
        rows.append(
            {
                "user_id": user,
                "item_id": item.item_id,
                "rating": rating,
                "timestamp": moment,
                "text": "" if rng.random() < 0.04 else review_text(rng, opinion),
                "source": "synthetic",
            }
        )
    return rows


def _choose(rng: random.Random, seed: int, user: str, shelf: Shelf, taste: dict[tuple[str, str], float]) -> ShelfItem:
    options = [rng.choice(shelf.items) for _ in range(3)]
    weights: list[float] = []
    for item in options:
        for trait in item.traits:
            if (shelf.category, trait) not in taste:
                taste[shelf.category, trait] = _taste(seed, user, shelf.category, trait)
        weights.append(math.exp(0.5 * sum(taste[shelf.category, trait] for trait in item.traits)))
    return rng.choices(options, weights=weights)[0]


def _opinion(
    rng: random.Random, shelf: Shelf, item: ShelfItem, taste: dict[tuple[str, str], float], when: dt.datetime
) -> tuple[int, Opinion]:
    worth = {trait: taste[shelf.category, trait] for trait in item.traits}
    utility = sum(worth.values()) + item.quality + rng.gauss(0, 0.4)
    rating = 1 + sum(utility >= bound for bound in _BOUNDS)
    ranked = sorted(item.traits, key=lambda trait: -worth[trait])
    liked = [trait for trait in ranked if worth[trait] > 0.25]
    disliked = [trait for trait in reversed(ranked) if worth[trait] < -0.25]
    return rating, Opinion(shelf.domain, rating, liked, disliked, when)
