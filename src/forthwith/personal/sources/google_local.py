"""Google Local Data 2021 (UC San Diego): restaurant histories of frequent reviewers, and the places they are about."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import polars as pl

from forthwith.errors import DataError
from forthwith.personal.sources.json_lines import iter_objects, iter_tables
from forthwith.personal.sources.rows import ItemText, SourceTables, interaction_frame, items_frame, silent

__all__ = ["GoogleRules", "city_of", "first_food_category", "load_google"]

_TAG = "google"
_SOURCE = "google-local-2021"
_DAY_MS = 86_400_000
_REVIEW_SCHEMA = pl.Schema(
    {
        "user_id": pl.String(),
        "gmap_id": pl.String(),
        "rating": pl.Float64(),
        "time": pl.Float64(),  # ms since 1970
        "text": pl.String(),
    }
)
_FOOD = re.compile(
    r"\b(?:restaurants?|cafe|café|cafeteria|coffee|diner|pizza|pizzeria|bakery|bistro|brasserie|brunch|buffet|burger|"
    r"sandwich|sushi|ramen|noodle|taqueria|taco|steak house|grill|gastropub|pub|bar|brewpub|tea house|ice cream|"
    r"dessert|donut|doughnut|bagel|deli|delicatessen|creperie|juice|food court|chicken wings|barbecue|seafood)\b",
    re.IGNORECASE,
)
_NOT_FOOD = re.compile(
    r"\b(?:supplier|supply|store|market|repair|wholesaler|equipment|manufacturer|distributor|school|nail|hair|salon|"
    r"association|consultant|training)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class GoogleRules:
    """Who is taken; defaults are the benchmark's."""

    min_businesses: int = 8
    min_texts: int = 5
    min_span_days: int = 30
    not_before: datetime = datetime(2005, 1, 1, tzinfo=UTC)


def load_google(
    folder: Path,
    states: tuple[str, ...],
    rules: GoogleRules | None = None,
    on_step: Callable[[str], None] | None = None,
) -> SourceTables:
    """Restaurants and interactions, from `review-<S>_10.json.gz` and `meta-<S>.json.gz` in `folder`.

    Reviewer names, pictures and owners' answers are never read.

    Raises:
        DataError: a file is missing or a line is broken (path and line), or no user is eligible.
    """
    rules, say = rules or GoogleRules(), on_step or silent
    places = _places(folder, states, say)
    reviews = _food_reviews(folder, states, pl.Series(sorted(places), dtype=pl.String), say)
    kept = _eligible_reviews(reviews, rules)
    if kept.is_empty():
        raise DataError(
            f"no user has {rules.min_businesses} food businesses, {rules.min_texts} texts and a span of "
            f"{rules.min_span_days} days; give the full 10-core files",
            folder,
        )
    interactions = interaction_frame(
        kept.with_columns(item_id="gmap:" + pl.col("gmap_id")), source=_SOURCE, user_tag=_TAG
    )
    stats = {
        "food_reviews_read": reviews.height,
        "users": kept["user_id"].n_unique(),
        "food_businesses": len(places),
    }
    return SourceTables(items_frame(places), interactions, stats)


def first_food_category(categories: list[str]) -> str | None:
    """The first category that names a place to eat or drink and not a supplier, store, market or repair shop."""
    return next((name for name in categories if _FOOD.search(name) and not _NOT_FOOD.search(name)), None)


def city_of(address: str | None) -> str | None:
    """The second-to-last comma part of an address; None where there are fewer than two parts."""
    parts = [part.strip() for part in (address or "").split(",")]
    return parts[-2] or None if len(parts) >= 2 else None


def _places(folder: Path, states: tuple[str, ...], say: Callable[[str], None]) -> dict[str, ItemText]:
    places: dict[str, ItemText] = {}
    for state in states:
        say(f"reading meta-{state}")
        path = folder / f"meta-{state}.json.gz"
        for line, row in iter_objects(path):
            place = row.get("gmap_id")
            if not isinstance(place, str) or not place:
                raise DataError(f"gmap_id is {place!r}; every business row needs one", path, line)
            if place not in places and (item := _place(place, row)) is not None:
                places[place] = item
    return places


def _place(place: str, row: dict[str, Any]) -> ItemText | None:
    listed: object = row.get("category")
    categories = (
        [name for name in cast("list[object]", listed) if isinstance(name, str)] if isinstance(listed, list) else []
    )
    category, name = first_food_category(categories), row.get("name")
    if category is None or not isinstance(name, str) or not name.strip():
        return None
    price, count = row.get("price"), row.get("num_of_reviews")
    return ItemText(
        item_id=f"gmap:{place}",
        domain="restaurant",
        name=" ".join(name.split())[:400],
        category=category,
        price=None,
        price_level=price.count("$") or None if isinstance(price, str) else None,
        city=city_of(row.get("address") if isinstance(row.get("address"), str) else None),
        popularity=int(count) if isinstance(count, int | float) else None,
        source=_SOURCE,
        attributes={
            "categories": categories,
            "average_rating": row.get("avg_rating"),
            "latitude": row.get("latitude"),
            "longitude": row.get("longitude"),
            "description": str(row.get("description") or "")[:500],
        },
    )


def _food_reviews(folder: Path, states: tuple[str, ...], places: pl.Series, say: Callable[[str], None]) -> pl.DataFrame:
    kept: list[pl.DataFrame] = []
    wanted = places.implode()
    for state in states:
        say(f"reading review-{state}_10")
        for frame in iter_tables(folder / f"review-{state}_10.json.gz", _REVIEW_SCHEMA):
            block = frame.drop_nulls(["user_id", "gmap_id", "rating", "time"])
            kept.append(
                block.filter(pl.col("gmap_id").is_in(wanted)).select(
                    "user_id",
                    "gmap_id",
                    timestamp=pl.col("time").cast(pl.Int64),
                    rating=pl.col("rating").round().cast(pl.Int8).clip(1, 5),
                    text=pl.col("text").fill_null("").str.strip_chars(),
                )
            )
    reviews = pl.concat(kept)
    return reviews.sort("timestamp", maintain_order=True).unique(
        ["user_id", "gmap_id"], keep="last", maintain_order=True
    )


def _eligible_reviews(reviews: pl.DataFrame, rules: GoogleRules) -> pl.DataFrame:
    """Reviews of eligible users, without those before `not_before`; who then has too few is dropped as well."""
    eligible = (
        reviews.group_by("user_id")
        .agg(
            places=pl.len(),
            texts=(pl.col("text") != "").sum(),
            span=pl.col("timestamp").max() - pl.col("timestamp").min(),
        )
        .filter(
            (pl.col("places") >= rules.min_businesses)
            & (pl.col("texts") >= rules.min_texts)
            & (pl.col("span") >= rules.min_span_days * _DAY_MS)
        )
    )
    kept = reviews.join(eligible.select("user_id"), on="user_id", how="semi", maintain_order="left")
    kept = kept.filter(pl.col("timestamp") >= int(rules.not_before.timestamp() * 1000))
    return kept.filter(pl.len().over("user_id") >= rules.min_businesses)
