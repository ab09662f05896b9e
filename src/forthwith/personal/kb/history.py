"""Histories from the interactions table: one row an item, sorted, split into memory and later choices."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

__all__ = ["History", "Visit", "cut_of", "histories"]


class Visit(NamedTuple):
    """One interaction with what the catalogue knows of its item."""

    item_id: str
    rating: int
    when: dt.datetime
    text: str
    domain: str
    category: str
    city: str | None
    name: str
    attributes: str | None


class History(NamedTuple):
    """One user's interactions, oldest first, and where the memory side ends."""

    user_id: str
    visits: list[Visit]
    cut: int

    @property
    def memory(self) -> list[Visit]:
        """The side that becomes facts."""
        return self.visits[: self.cut]

    @property
    def later(self) -> list[Visit]:
        """The side that becomes targets."""
        return self.visits[self.cut :]


def cut_of(count: int, memory_fraction: float = 0.6) -> int:
    """How many of `count` interactions belong to memory: min(n - 1, max(3, round(fraction n)))."""
    return min(count - 1, max(3, round(memory_fraction * count)))


def histories(
    interactions: pl.LazyFrame, items: pl.LazyFrame, *, min_history: int = 5, memory_fraction: float = 0.6
) -> Iterator[History]:
    """Every user with enough distinct items and a later choice rated at least 4, in order of user id."""
    latest = interactions.sort("timestamp").unique(["user_id", "item_id"], keep="last")
    columns = ["item_id", "domain", "category", "city", "name", "attributes"]
    joined = latest.join(items.select(columns), on="item_id", how="inner").sort("user_id", "timestamp", "item_id")
    frame = joined.select(
        "user_id", "item_id", "rating", "timestamp", "text", "domain", "category", "city", "name", "attributes"
    ).collect()
    for part in frame.partition_by("user_id", maintain_order=True):
        rows = part.rows()
        if len(rows) < min_history:
            continue
        visits = [Visit(row[1], row[2], row[3], row[4] or "", *row[5:]) for row in rows]
        cut = cut_of(len(visits), memory_fraction)
        if any(visit.rating >= 4 for visit in visits[cut:]):
            yield History(str(rows[0][0]), visits, cut)
