"""Splits by a keyed hash: which split an item falls into depends on its id and the key, not on the order of a file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from forthwith.errors import DataError

__all__ = ["keyed_order", "split_by_group"]

_T = TypeVar("_T")


def keyed_order(items: Iterable[_T], key: str, identity: Callable[[_T], str]) -> list[_T]:
    """Items by the SHA-256 of key and id."""
    return sorted(items, key=lambda item: hashlib.sha256(f"{key}:{identity(item)}".encode()).hexdigest())


def split_by_group(
    items: Sequence[_T],
    key: str,
    sizes: Sequence[int],
    *,
    group: Callable[[_T], str],
    identity: Callable[[_T], str],
) -> list[list[_T]]:
    """The first `sizes[0]` items of each group in keyed order, the next `sizes[1]`, and so on; what is left over is dropped.

    Raises:
        DataError: a group is too small.
    """
    groups: dict[str, list[_T]] = {}
    for item in items:
        groups.setdefault(group(item), []).append(item)
    parts: list[list[_T]] = [[] for _ in sizes]
    for name, members in sorted(groups.items()):
        if len(members) < sum(sizes):
            raise DataError(
                f"the group {name!r} has {len(members)} items and the splits need {sum(sizes)}; ask for fewer"
            )
        ordered = keyed_order(members, key, identity)
        start = 0
        for part, size in zip(parts, sizes, strict=True):
            part += ordered[start : start + size]
            start += size
    return parts
