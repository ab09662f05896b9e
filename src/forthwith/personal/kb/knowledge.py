"""The knowledge base of one split, opened for drafting: profiles, the shared catalogue, places, documents to bury."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from forthwith.errors import DataError
from forthwith.personal.kb.catalogue import Catalogue, read_catalogue
from forthwith.personal.kb.places import Places, read_places
from forthwith.personal.kb.profile import UserProfile, read_profile
from forthwith.personal.kb.split import email_split, read_splits
from forthwith.personal.tables import read_table
from forthwith.personal.vocabulary import Split

__all__ = ["Document", "KnowledgeBase", "open_kb"]

MAX_DOCUMENT_CHARS = 3_000


class Document(NamedTuple):
    """Something to bury: a mail, or somebody else's review (`author` is the other user)."""

    kind: str
    date: dt.date
    text: str
    author: str | None


@dataclass(frozen=True)
class KnowledgeBase:
    """One split.

    Attributes:
        users: profiles by id.
        fingerprint: hash of the files that drafts depend on.
        is_synthetic: whether the users are invented.
        world_seed: of the synthetic world, else None.
    """

    folder: Path
    split: Split
    users: dict[str, UserProfile]
    catalogue: Catalogue
    places: Places
    mails: list[Document]
    reviews: list[Document]
    fingerprint: str
    is_synthetic: bool
    world_seed: int | None

    @cached_property
    def product_share(self) -> float:
        """Share of the users who review products, in [0, 1]."""
        return sum(user.domain == "product" for user in self.users.values()) / max(1, len(self.users))


def open_kb(folder: str | Path, split: Split) -> KnowledgeBase:
    """Open one split of a knowledge base.

    Raises:
        DataError: a file is missing or broken, or the split has no user.
    """
    folder = Path(folder)
    manifest = _manifest(folder)
    wanted = read_splits(folder).get(split, [])
    if not wanted:
        raise DataError(f"the split {split!r} has no users; split again with a count for it", folder)
    rows = pl.scan_parquet(folder / "users.parquet").filter(pl.col("user_id").is_in(wanted)).collect()
    users = {user: read_profile(text) for user, text in rows.select("user_id", "profile").iter_rows()}
    world: dict[str, Any] = manifest.get("world") or {}
    return KnowledgeBase(
        folder=folder,
        split=split,
        users=dict(sorted(users.items())),
        catalogue=read_catalogue(folder),
        places=read_places(folder),
        mails=_mails(folder, split),
        reviews=_reviews(folder, set(wanted)),
        fingerprint=str(manifest["files"]["users.parquet"]["sha256"])[:32],
        is_synthetic=bool(manifest.get("synthetic")),
        world_seed=world.get("seed"),
    )


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    if not path.is_file():
        raise DataError("no knowledge base here; build it first", path)
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg}", path, error.lineno) from error
    return manifest


def _mails(folder: Path, split: Split) -> list[Document]:
    rows = read_table(folder, "emails").sort("email_id").iter_rows(named=True)
    return [
        Document("mail", row["date"].date(), f"{row['subject']}\n{row['body']}"[:MAX_DOCUMENT_CHARS], None)
        for row in rows
        if row["date"] is not None and email_split(row["email_id"]) == split
    ]


def _reviews(folder: Path, users: set[str]) -> list[Document]:
    rows = pl.read_parquet(folder / "reviews.parquet").iter_rows(named=True)
    return [
        Document("review", row["date"], f"{row['item_name']}\n{row['text']}"[:MAX_DOCUMENT_CHARS], row["user_id"])
        for row in rows
        if row["user_id"] in users
    ]
