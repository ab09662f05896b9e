"""What every source gives: items and interactions in the columns of the normalised tables."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

import polars as pl

from forthwith.personal.tables import SCHEMAS
from forthwith.personal.vocabulary import Domain

__all__ = ["ItemText", "SourceTables", "hashed_user", "interaction_frame", "items_frame", "silent"]


class ItemText(NamedTuple):
    """One item; the fields are the columns of the table `items`, with the attributes still unpacked."""

    item_id: str
    domain: Domain
    name: str
    category: str
    price: float | None
    price_level: int | None
    attributes: dict[str, Any]
    city: str | None
    popularity: int | None
    source: str


class SourceTables(NamedTuple):
    """Items, interactions, and counts of what was read, kept and dropped."""

    items: pl.DataFrame
    interactions: pl.DataFrame
    stats: dict[str, int]


def hashed_user(tag: str, original: str) -> str:
    """The user id that replaces a published one: 16 hex digits of `sha256("<tag>:<original>")`."""
    return hashlib.sha256(f"{tag}:{original}".encode()).hexdigest()[:16]


def items_frame(items: dict[str, ItemText]) -> pl.DataFrame:
    """The table `items`, in order of item id; attributes as JSON text."""
    rows = [
        items[key]._asdict() | {"attributes": json.dumps(items[key].attributes, ensure_ascii=False, sort_keys=True)}
        for key in sorted(items)
    ]
    return pl.DataFrame(rows, schema=SCHEMAS["items"])


def interaction_frame(rows: pl.DataFrame, *, source: str, user_tag: str) -> pl.DataFrame:
    """The table `interactions` from columns user_id (as published), item_id, rating, timestamp (ms), text.

    Sorted by user, time and item.
    """
    users = {user: hashed_user(user_tag, user) for user in rows["user_id"].unique().to_list()}
    return (
        rows.with_columns(
            user_id=pl.col("user_id").replace_strict(users, return_dtype=pl.String),
            timestamp=pl.col("timestamp").cast(pl.Datetime("ms")).dt.replace_time_zone("UTC"),
            source=pl.lit(source),
        )
        .select(pl.col(column).cast(kind) for column, kind in SCHEMAS["interactions"].items())
        .sort("user_id", "timestamp", "item_id")
    )


def silent(_step: str) -> None:
    """A listener for progress that says nothing."""
