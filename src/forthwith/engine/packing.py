"""Many token trees in one row: ids, positions and who may look at whom. Plain NumPy; serving and training share it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forthwith.encoding import TokenTree

__all__ = ["PackedRead", "PackedRow", "RowBuilder", "subtree_segments"]

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class PackedRead:
    """Where a read of a tree stands in a row: behind token `row` of it."""

    tree: int
    read: int
    token: int


@dataclass(frozen=True)
class PackedRow:
    """Segments of one or more trees, one behind the other.

    Attributes:
        ids: shape (T,).
        positions: shape (T,), each token's distance from its tree's start.
        segments: shape (T,), index of each token's segment within the row.
        ancestors: shape (S, S); `ancestors[s, a]` says that segment a lies on the path to s, or is s.
        reads: what is read in this row.
    """

    ids: IntArray
    positions: IntArray
    segments: IntArray
    ancestors: BoolArray
    reads: tuple[PackedRead, ...]

    @property
    def is_chain(self) -> bool:
        """Whether every token sees all earlier ones: an ordinary causal sequence."""
        return bool(np.tril(self.ancestors).sum() == len(self.ancestors) * (len(self.ancestors) + 1) // 2)

    def mask(self, prefix_tokens: int = 0) -> BoolArray:
        """Which tokens each token attends to, shape (T, prefix_tokens + T); all see the whole prefix."""
        tokens = len(self.ids)
        mask = np.ones((tokens, prefix_tokens + tokens), dtype=np.bool_)
        mask[:, prefix_tokens:] = np.tril(self.ancestors[self.segments][:, self.segments])
        return mask

    def within_window(self, window: int, prefix_tokens: int = 0) -> BoolArray:
        """Which pairs are less than `window` positions apart, shape as `mask`: for sliding-window layers."""
        keys = np.concatenate([np.arange(prefix_tokens), self.positions])
        return self.positions[:, None] - keys[None, :] < window


class RowBuilder:
    """Fills a row. Trees whose roots are equal share one copy of it."""

    def __init__(self) -> None:
        self.size = 0
        self._ids: list[int] = []
        self._positions: list[IntArray] = []
        self._lengths: list[int] = []
        self._paths: list[frozenset[int]] = []
        self._roots: dict[tuple[int, ...], int] = {}
        self._starts: list[int] = []
        self._reads: list[PackedRead] = []

    def add(self, tree_index: int, tree: TokenTree, segments: Iterable[int] | None = None) -> None:
        """Append a tree, or those of its segments that are named (parents first; absent parents lie in a prefix)."""
        placed: dict[int, int] = {}
        for index in range(len(tree.segments)) if segments is None else segments:
            placed[index] = self._place(tree, index, placed)
        for read_index, read in enumerate(tree.reads):
            if read.segment in placed:
                token = self._starts[placed[read.segment]] + read.offset
                self._reads.append(PackedRead(tree_index, read_index, token))

    def _place(self, tree: TokenTree, index: int, placed: dict[int, int]) -> int:
        segment = tree.segments[index]
        if segment.parent < 0 and segment.ids in self._roots:
            return self._roots[segment.ids]
        here = len(self._paths)
        above = self._paths[placed[segment.parent]] if segment.parent in placed else frozenset[int]()
        self._paths.append(above | {here})
        self._starts.append(self.size)
        self._lengths.append(len(segment.ids))
        self._ids.extend(segment.ids)
        self._positions.append(np.arange(len(segment.ids)) + tree.starts[index])
        self.size += len(segment.ids)
        if segment.parent < 0:
            self._roots[segment.ids] = here
        return here

    def build(self) -> PackedRow:
        """The finished row."""
        count = len(self._paths)
        ancestors = np.zeros((count, count), dtype=np.bool_)
        for index, path in enumerate(self._paths):
            ancestors[index, list(path)] = True
        return PackedRow(
            np.array(self._ids, dtype=np.int64),
            np.concatenate(self._positions).astype(np.int64),
            np.repeat(np.arange(count), self._lengths),
            ancestors,
            tuple(self._reads),
        )


def subtree_segments(tree: TokenTree) -> tuple[tuple[int, ...], ...]:
    """For each segment, itself and all segments below it, parents before children."""
    below: list[list[int]] = [[index] for index in range(len(tree.segments))]
    for index in range(len(tree.segments) - 1, 0, -1):
        below[tree.segments[index].parent].extend(below[index])
    return tuple(tuple(sorted(indices)) for indices in below)


def child_segments(tree: TokenTree, segment: int) -> Sequence[int]:
    """The segments right below one."""
    return [index for index, candidate in enumerate(tree.segments) if candidate.parent == segment]
