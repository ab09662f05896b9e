"""Encoded states, kept for the next question about them: least recently used go first, memory is bounded, hits are exact."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

__all__ = ["PrefixCache"]


class PrefixCache:
    """Maps token ids of a state to the model's key-value cache after reading them."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self.hits = 0
        self.misses = 0
        self._entries: OrderedDict[tuple[int, ...], tuple[Any, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, ids: tuple[int, ...]) -> bool:
        return ids in self._entries

    def get(self, ids: tuple[int, ...]) -> Any | None:
        """The cache for exactly these ids, or None."""
        entry = self._entries.get(ids)
        if entry is None:
            self.misses += 1
            return None
        self.hits += 1
        self._entries.move_to_end(ids)
        return entry[0]

    def put(self, ids: tuple[int, ...], cache: Any, size_bytes: int) -> None:
        """Keep a cache, dropping the least recently used ones until it fits; one larger than the bound is not kept."""
        self.drop(ids)
        if size_bytes > self.max_bytes:
            return
        while self._entries and self.bytes + size_bytes > self.max_bytes:
            self.drop(next(iter(self._entries)))
        self._entries[ids] = (cache, size_bytes)
        self.bytes += size_bytes

    def drop(self, ids: tuple[int, ...]) -> None:
        """Forget one entry, if there."""
        entry = self._entries.pop(ids, None)
        if entry is not None:
            self.bytes -= entry[1]

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self.bytes = 0
