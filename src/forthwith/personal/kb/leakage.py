"""Audit that splits share nothing: counts of collisions between every two of them, which must all be zero."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import polars as pl

from forthwith.errors import DataError
from forthwith.personal.kb.split import email_split
from forthwith.personal.tables import read_table, scan_table
from forthwith.personal.vocabulary import Split

__all__ = ["MIN_SHARED_TEXT", "PairLeakage", "audit_leakage"]

MIN_SHARED_TEXT = 40
"""Shortest review text that counts as shared when it occurs in two splits."""


@dataclass(frozen=True)
class PairLeakage:
    """Collisions between two splits; all zero when they share nothing.

    Attributes:
        users: users in both.
        user_items: (user, item) pairs in both.
        texts: review texts of at least `MIN_SHARED_TEXT` characters in both.
        events: (item, time, rating) in both.
        emails: mails in both pools.
    """

    first: Split
    second: Split
    users: int
    user_items: int
    texts: int
    events: int
    emails: int

    @property
    def total(self) -> int:
        """All collisions."""
        return self.users + self.user_items + self.texts + self.events + self.emails


def audit_leakage(tables: str | Path, splits: Mapping[Split, Sequence[str]]) -> list[PairLeakage]:
    """Collision counts of each pair of splits that have users.

    Raises:
        DataError: a split names a user without interactions.
    """
    frame = scan_table(tables, "interactions").collect()
    pools: dict[Split, set[str]] = {}
    for email in read_table(tables, "emails")["email_id"]:
        if (name := email_split(email)) is not None:
            pools.setdefault(name, set()).add(email)
    parts: dict[Split, pl.DataFrame] = {}
    for name, users in splits.items():
        if users:
            parts[name] = frame.filter(pl.col("user_id").is_in(list(users)))
            if parts[name]["user_id"].n_unique() < len(users):
                raise DataError(f"the split {name!r} names users without interactions", tables)
    return [_pair(a, b, parts[a], parts[b], pools) for a, b in combinations(parts, 2)]


def _pair(
    first: Split, second: Split, one: pl.DataFrame, two: pl.DataFrame, pools: Mapping[Split, set[str]]
) -> PairLeakage:
    def shared(columns: list[str]) -> int:
        return one.select(columns).unique().join(two.select(columns).unique(), on=columns, how="inner").height

    return PairLeakage(
        first,
        second,
        users=shared(["user_id"]),
        user_items=shared(["user_id", "item_id"]),
        texts=len(_texts(one) & _texts(two)),
        events=shared(["item_id", "timestamp", "rating"]),
        emails=len(pools.get(first, set()) & pools.get(second, set())),
    )


def _texts(frame: pl.DataFrame) -> set[bytes]:
    long = frame.filter(pl.col("text").str.len_chars() >= MIN_SHARED_TEXT)["text"]
    return {hashlib.sha256(text.encode()).digest() for text in long}
