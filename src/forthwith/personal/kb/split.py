"""Users and mails into splits by salted hash: no user, and no mail, is in two of them; the catalogue is shared."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import polars as pl

from forthwith.errors import ConfigError, DataError
from forthwith.personal.determinism import stable_int
from forthwith.personal.vocabulary import SPLITS, Split

__all__ = [
    "DEFAULT_COUNTS",
    "MIN_TRAIN_USERS",
    "email_split",
    "partition_users",
    "read_splits",
    "split_users",
    "write_splits",
]

DEFAULT_COUNTS: dict[Split, int] = {"test": 720, "hidden": 720, "dev": 480, "val": 300}
"""Users of the evaluation splits in the reference; the rest train."""

MIN_TRAIN_USERS = 300
_EVALUATION: tuple[Split, ...] = ("test", "hidden", "dev", "val")
_EMAIL_BOUNDS: tuple[tuple[int, Split], ...] = ((15, "test"), (30, "hidden"), (40, "dev"), (50, "val"), (90, "train"))


def split_users(users: Sequence[str], counts: Mapping[Split, int] | None = None) -> dict[Split, list[str]]:
    """The users of each split: fixed counts from the front of a hashed order, the rest train.

    Raises:
        ConfigError: a count for train or a negative count.
        DataError: the counts leave nobody to train on.
    """
    counts = DEFAULT_COUNTS if counts is None else counts
    wrong: list[Split] = [name for name, count in counts.items() if name not in _EVALUATION or count < 0]
    if wrong:
        raise ConfigError(
            f"the count of {wrong[0]!r} is {counts[wrong[0]]}; give counts from 0 for {_EVALUATION}", wrong[0]
        )
    ordered = sorted(set(users), key=lambda user: (stable_int("pd-split-v1", user), user))
    if sum(counts.values()) >= len(ordered):
        raise DataError(
            f"{sum(counts.values())} evaluation users are wanted of {len(ordered)} in all; lower the counts"
        )
    splits: dict[Split, list[str]] = {}
    start = 0
    for name in _EVALUATION:
        end = start + counts.get(name, 0)
        splits[name] = sorted(ordered[start:end])
        start = end
    splits["train"] = sorted(ordered[start:])
    if len(splits["train"]) < MIN_TRAIN_USERS:
        warnings.warn(
            f"only {len(splits['train'])} train users; below {MIN_TRAIN_USERS} the same people recur often",
            stacklevel=2,
        )
    return splits


def partition_users(domains: Mapping[str, str], parts: Sequence[str]) -> dict[str, list[str]]:
    """Equal named parts of some users, each with the same mix of domains.

    Args:
        domains: user id to domain.
        parts: names of the parts; users are dealt out in a hashed order, one domain after the other.

    Raises:
        ConfigError: no part, or a name twice.
    """
    if not parts or len(set(parts)) < len(parts):
        raise ConfigError(f"parts are {tuple(parts)!r}; give at least one name, each once", "parts")
    ordered = sorted(domains, key=lambda user: (domains[user], stable_int("pd-partition-v1", user), user))
    return {name: sorted(ordered[place :: len(parts)]) for place, name in enumerate(parts)}


def email_split(email_id: str) -> Split | None:
    """The split of a mail; None: kept in reserve (one in ten)."""
    bucket = stable_int("pd-split-v1", "email", email_id) % 100
    return next((name for bound, name in _EMAIL_BOUNDS if bucket < bound), None)


def write_splits(kb: str | Path, splits: Mapping[Split, Sequence[str]]) -> Path:
    """Write the users of each split beside the knowledge base."""
    path = Path(kb) / "splits.json"
    path.write_text(
        json.dumps({name: list(splits.get(name, ())) for name in SPLITS}, indent=0) + "\n", encoding="utf-8"
    )
    return path


def read_splits(kb: str | Path) -> dict[Split, list[str]]:
    """The users of each split.

    Raises:
        DataError: not written yet, not JSON, or naming users that the knowledge base lacks.
    """
    path = Path(kb) / "splits.json"
    if not path.is_file():
        raise DataError("the users are not split yet; run the split step first", path)
    try:
        raw = cast("dict[Split, list[str]]", json.loads(path.read_text(encoding="utf-8")))
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg}", path, error.lineno) from error
    known = set(pl.read_parquet(Path(kb) / "users.parquet", columns=["user_id"])["user_id"].to_list())
    for name, users in raw.items():
        if strays := set(users) - known:
            raise DataError(f"the split {name!r} names {len(strays)} unknown users; split again", path)
    return raw
