"""Many token trees in one row: ids, positions and who may look at whom. Plain NumPy; serving and training share it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forthwith.encoding import TokenTree

__all__ = ["PackedRead", "PackedRow", "RowBuilder"]

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
