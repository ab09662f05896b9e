"""The synthetic catalogue: products and restaurants with prices, popularity and traits; and the world's places."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from typing import Any

from forthwith.personal.determinism import seeded_rng
from forthwith.personal.vocabulary import Domain
from forthwith.personal.world.kinds import CUISINES, PRODUCTS, Kind
from forthwith.personal.world.names import all_brand_names, all_city_names, all_country_names, restaurant_name

__all__ = ["Shelf", "ShelfItem", "make_places", "make_shelves", "restaurant_cities"]

_TIME_ZONES = (
    "Europe/Lisbon",
    "Europe/Berlin",
    "Europe/Athens",
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Sao_Paulo",
    "Africa/Nairobi",
    "Asia/Dubai",
    "Asia/Kolkata",
    "Asia/Singapore",
    "Asia/Tokyo",
    "Australia/Sydney",
)


@dataclass(frozen=True, slots=True)
class ShelfItem:
    """One item of the catalogue; `quality` is latent and never written."""

    item_id: str
    name: str
    traits: tuple[str, ...]
    quality: float
    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shelf:
    """All items of one category (of one city, for restaurants)."""

    domain: Domain
    category: str
    city: str | None
    items: tuple[ShelfItem, ...]


def restaurant_cities(seed: int, count: int) -> list[str]:
    """The cities that have restaurants: the first `count` of the world's shuffled cities."""
    cities = all_city_names()
    seeded_rng("world", seed, "cities").shuffle(cities)
    return cities[:count]


def make_shelves(seed: int, per_category: int, cities: int) -> list[Shelf]:
    """The whole catalogue.

    Args:
        seed: of the world.
        per_category: products of each category; a cuisine has a sixteenth of it, at least 24, in each city.
        cities: number of cities with restaurants.
    """
    shelves = [_product_shelf(seed, kind, per_category) for kind in PRODUCTS]
    for city in restaurant_cities(seed, cities):
        shelves += [_restaurant_shelf(seed, kind, city, max(24, per_category // 16)) for kind in CUISINES]
    return shelves


def _traits(rng: random.Random, kind: Kind) -> tuple[str, ...]:
    groups = rng.sample(kind.aspects, k=3)
    return tuple(rng.choice(group) for group in groups)


def _product_shelf(seed: int, kind: Kind, count: int) -> Shelf:
    rng = seeded_rng("world", seed, "shelf", kind.category)
    brands = all_brand_names()
    taken: set[str] = set()
    items: list[ShelfItem] = []
    line: tuple[str, str] = ("", "")
    while len(items) < count:
        # a third of the items continue the line of the one before: same brand and noun, other traits
        if not items or rng.random() > 0.33:
            line = (rng.choice(brands), rng.choice(kind.nouns))
        traits = _traits(rng, kind)
        name = f"{line[0]} {traits[0].capitalize()} {traits[1]} {line[1]}"
        if name in taken:
            continue
        taken.add(name)
        price = round(kind.price * math.exp(rng.gauss(0, 0.35)), 2)
        items.append(_item(rng, kind, len(items), _Draw(name, traits, None, price, None)))
    return Shelf("product", kind.category, None, tuple(items))


def _restaurant_shelf(seed: int, kind: Kind, city: str, count: int) -> Shelf:
    rng = seeded_rng("world", seed, "shelf", kind.category, city)
    taken: set[str] = set()
    items: list[ShelfItem] = []
    while len(items) < count:
        name = f"{restaurant_name(rng)} {rng.choice(kind.nouns)}"
        if name in taken:
            continue
        taken.add(name)
        level = min(4, max(1, round(kind.price + rng.gauss(0, 0.7))))
        traits = _traits(rng, kind)
        items.append(_item(rng, kind, len(items), _Draw(name, traits, city, None, level)))
    return Shelf("restaurant", kind.category, city, tuple(items))


@dataclass(frozen=True, slots=True)
class _Draw:
    """What is drawn for one item; one of the two prices is None."""

    name: str
    traits: tuple[str, ...]
    city: str | None
    price: float | None
    price_level: int | None


def _item(rng: random.Random, kind: Kind, index: int, drawn: _Draw) -> ShelfItem:
    city = drawn.city
    attributes: dict[str, Any] = {"department": kind.department, "traits": list(drawn.traits)}
    if kind.domain == "restaurant":
        attributes["categories"] = [kind.category]
    place = "" if city is None else f":{city.lower()}"
    item_id = f"syn:{kind.category.replace(' ', '-').lower()}{place}:{index}"
    row = {
        "item_id": item_id,
        "domain": kind.domain,
        "name": drawn.name,
        "category": kind.category,
        "price": drawn.price,
        "price_level": drawn.price_level,
        "attributes": json.dumps(attributes, sort_keys=True),
        "city": city,
        "popularity": max(1, round(math.exp(rng.gauss(4.5, 1.1)))),
        "source": "synthetic",
    }
    return ShelfItem(item_id, drawn.name, drawn.traits, rng.gauss(0, 0.35), row)


def make_places(seed: int, cities: int, airports: int = 240) -> dict[str, list[dict[str, Any]]]:
    """Airports, airlines and routes. Restaurant cities have airports; one city name in eight lies in two countries."""
    rng = seeded_rng("world", seed, "places")
    countries = all_country_names()
    rng.shuffle(countries)
    names = all_city_names()
    seeded_rng("world", seed, "cities").shuffle(names)
    rows: list[dict[str, Any]] = []
    codes = [a + b + c for a in "ABCDEFGHJKLM" for b in "AEIOUY" for c in "BDFGKLMNPRSTVXZ"]
    rng.shuffle(codes)
    for index in range(max(airports, cities)):
        doubled = index >= cities and rng.random() < 0.125
        city = names[rng.randrange(cities, index)] if doubled and index > cities else names[index]
        rows.append(_airport(rng, index, city, countries[index % 40], codes[index]))
    airlines = [_airline(rng, index, countries) for index in range(30)]
    return {"airports": rows, "airlines": airlines, "routes": _routes(rng, rows, airlines)}


def _airport(rng: random.Random, index: int, city: str, country: str, iata: str) -> dict[str, Any]:
    return {
        "airport_id": index + 1,
        "name": f"{city} {rng.choice(('Airport', 'International', 'Field'))}",
        "city": city,
        "country": country,
        "iata": iata,
        "icao": "Z" + iata,
        "latitude": round(rng.uniform(-60, 65), 4),
        "longitude": round(rng.uniform(-180, 180), 4),
        "time_zone": rng.choice(_TIME_ZONES),
        "source": "synthetic",
    }


def _airline(rng: random.Random, index: int, countries: list[str]) -> dict[str, Any]:
    country = countries[index % 40]
    code = f"{chr(65 + index % 26)}{index // 26 + 2}"
    name = f"{country} {rng.choice(('Air', 'Wings', 'Airways'))}"
    return {
        "airline_id": index + 1,
        "name": name,
        "iata": code,
        "icao": "ZZ" + code[0],
        "country": country,
        "active": rng.random() < 0.9,
        "source": "synthetic",
    }


def _routes(rng: random.Random, airports: list[dict[str, Any]], airlines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for airport in airports:
        for other in rng.sample(airports, k=rng.randint(5, 24)):
            if other["city"] != airport["city"]:
                rows.append(  # noqa: PERF401
                    {
                        "airline": rng.choice(airlines)["iata"],
                        "source_iata": airport["iata"],
                        "destination_iata": other["iata"],
                        "codeshare": rng.random() < 0.2,
                        "stops": 0,
                        "source": "synthetic",
                    }
                )
    return rows
