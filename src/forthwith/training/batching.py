"""Rows of token trees as flat arrays for one forward pass. Plain NumPy; nothing is cut, and every read is kept.

A tree's segments lie in depth-first order, so that the tokens that may look at token k are exactly k itself and those up to the
end of k's subtree: `k <= q < end[k]`. That one array is the whole tree mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forthwith.encoding import TokenTree
from forthwith.training.losses.coherence import PlacedFamily
from forthwith.training.rows import RowQuestion, TrainingRow

__all__ = ["MicroBatch", "Targets", "build_targets", "fill_bins", "packed_batch", "path_batch"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float32]

QUESTION_TYPES = ("noul", "choice", "score")


@dataclass(frozen=True)
class Targets:
    """Which logits make up the options of each question, and what they should be. Q questions, up to K options, V options in all.

    Attributes:
        value_read: shape (V,), the read an option's value comes from.
        plus: shape (V,), index into `tokens` of the candidate whose logit counts.
        minus: shape (V,), index of the candidate to subtract; -1 for none.
        tokens: shape (U,), all candidate token ids.
        options: shape (Q, K), index into the values; -1 where a question has fewer options.
        target: shape (Q, K), gold distribution.
        label: shape (Q,), index of the right option; -1 where none is right.
        kind: shape (Q,), index into `QUESTION_TYPES`.
        is_branched: shape (Q,), 1.0 where each option has a read of its own.
        weight: shape (Q,).
    """

    value_read: IntArray
    plus: IntArray
    minus: IntArray
    tokens: IntArray
    options: IntArray
    target: FloatArray
    label: IntArray
    kind: IntArray
    is_branched: FloatArray
    weight: FloatArray


@dataclass(frozen=True)
class MicroBatch:
    """One forward pass.

    Attributes:
        ids: shape (B, T).
        positions: shape (B, T).
        ends: shape (T,), one past the last token that may look at each; None for ordinary causal sequences.
        places: shape (R,), flat index into B*T of each read.
        targets: what is supervised.
        record_ids: records in the batch.
        question_counts: shape (number of records,), questions of each.
        families: family of each question.
        tokens: tokens that are not padding.
        links: families of linked questions.
    """

    ids: IntArray
    positions: IntArray
    ends: IntArray | None
    places: IntArray
    targets: Targets
    record_ids: tuple[str, ...]
    question_counts: tuple[int, ...]
    families: tuple[str, ...]
    tokens: int
    links: tuple[PlacedFamily, ...] = ()

    @property
    def weight(self) -> float:
        """Sum of the questions' weights."""
        return float(self.targets.weight.sum())


def fill_bins(sizes: Sequence[int], capacity: int, open_bins: int = 16) -> list[list[int]]:
    """Items into bins of at most `capacity`, first fit among the last `open_bins`; a larger item gets a bin of its own."""
    done: list[list[int]] = []
    bins: list[list[int]] = []
    room: list[int] = []
    for index, size in enumerate(sizes):
        if size > capacity:
            done.append([index])
            continue
        place = next((number for number, left in enumerate(room) if size <= left), None)
        if place is None:
            if len(bins) == open_bins:
                fullest = min(range(len(bins)), key=room.__getitem__)
                done.append(bins.pop(fullest))
                room.pop(fullest)
            bins.append([])
            room.append(capacity)
            place = len(bins) - 1
        bins[place].append(index)
        room[place] -= size
    return done + bins


def packed_batch(rows: Sequence[TrainingRow], width: int | None = None) -> MicroBatch:
    """Whole trees one behind the other, padded to `width` tokens (None for no padding); padding sees only itself."""
    size = sum(row.size for row in rows)
    width = max(size, width or size)
    ids = np.zeros(width, dtype=np.int64)
    positions = np.zeros(width, dtype=np.int64)
    ends = np.arange(1, width + 1)
    places: list[int] = []
    offset = 0
    for row in rows:
        starts = _lay_out(row.tree, offset, ids, positions, ends)
        places += [starts[read.segment] + read.offset for read in row.tree.reads]
        offset += row.size
    return MicroBatch(
        ids[None],
        positions[None],
        ends,
        np.array(places, dtype=np.int64),
        build_targets(rows),
        tuple(row.record_id for row in rows),
        tuple(len(row.questions) for row in rows),
        tuple(question.family for row in rows for question in row.questions),
        size,
        _links(rows),
    )


def path_batch(rows: Sequence[TrainingRow]) -> MicroBatch:
    """Each read segment as an ordinary prompt of its own, padded on the right: for layers that no mask can keep apart."""
    paths = [_paths(row.tree) for row in rows]
    width = max(len(path) for tree in paths for path in tree.values())
    ids = np.zeros((sum(len(tree) for tree in paths), width), dtype=np.int64)
    places: list[int] = []
    line = tokens = 0
    for row, tree in zip(rows, paths, strict=True):
        line_of: dict[int, int] = {}
        for segment, path in tree.items():
            ids[line, : len(path)] = path
            line_of[segment] = line
            line += 1
            tokens += len(path)
        for read in row.tree.reads:
            places.append(line_of[read.segment] * width + row.tree.starts[read.segment] + read.offset)  # noqa: PERF401
    return MicroBatch(
        ids,
        np.broadcast_to(np.arange(width), ids.shape).copy(),
        None,
        np.array(places, dtype=np.int64),
        build_targets(rows),
        tuple(row.record_id for row in rows),
        tuple(len(row.questions) for row in rows),
        tuple(question.family for row in rows for question in row.questions),
        tokens,
        _links(rows),
    )


def _links(rows: Sequence[TrainingRow]) -> tuple[PlacedFamily, ...]:
    links: list[PlacedFamily] = []
    first = 0
    for row in rows:
        for link in row.links:
            places = tuple(first + question for question, _ in link.entries)
            links.append(PlacedFamily(link.family, places, tuple(option for _, option in link.entries), link.weight))
        first += len(row.questions)
    return tuple(links)


def path_tokens(tree: TokenTree) -> int:
    """Tokens of a tree when every read segment is a prompt of its own."""
    return tree.plain_size


def build_targets(rows: Iterable[TrainingRow]) -> Targets:
    """The questions of rows as arrays; reads are numbered over the rows in order."""
    column: dict[int, int] = {}
    values: list[tuple[int, int, int]] = []
    questions: list[RowQuestion] = []
    members: list[list[int]] = []
    first = 0
    for row in rows:
        for question in row.questions:
            members.append(_add_values(row.tree, question, first, column, values))
            questions.append(question)
        first += len(row.tree.reads)
    widest = max((len(member) for member in members), default=1)
    options = np.full((len(members), widest), -1, dtype=np.int64)
    target = np.zeros((len(members), widest), dtype=np.float32)
    for number, (member, question) in enumerate(zip(members, questions, strict=True)):
        options[number, : len(member)] = member
        target[number, : len(member)] = question.target
    table = np.array(values, dtype=np.int64).reshape(-1, 3)
    return Targets(
        table[:, 0],
        table[:, 1],
        table[:, 2],
        np.array(list(column), dtype=np.int64),
        options,
        target,
        np.array([question.label for question in questions], dtype=np.int64),
        np.array([QUESTION_TYPES.index(question.type) for question in questions], dtype=np.int64),
        np.array([question.is_branched for question in questions], dtype=np.float32),
        np.array([question.weight for question in questions], dtype=np.float32),
    )


def _add_values(
    tree: TokenTree,
    question: RowQuestion,
    first: int,
    column: dict[int, int],
    values: list[tuple[int, int, int]],
) -> list[int]:
    start = len(values)
    for read in question.reads:
        columns = [column.setdefault(token, len(column)) for token in tree.reads[read].candidates]
        if question.is_branched:
            no, yes = columns
            values.append((first + read, yes, no))
        else:
            values.extend((first + read, place, -1) for place in columns)
    return list(range(start, len(values)))


def _lay_out(tree: TokenTree, offset: int, ids: IntArray, positions: IntArray, ends: IntArray) -> list[int]:
    """Write a tree's tokens at `offset`; gives where each segment starts."""
    starts: list[int] = []
    place = offset
    for segment, first in zip(tree.segments, tree.starts, strict=True):
        length = len(segment.ids)
        ids[place : place + length] = segment.ids
        positions[place : place + length] = np.arange(first, first + length)
        starts.append(place)
        place += length
    last = _subtree_ends(tree, starts)
    for segment, start, end in zip(tree.segments, starts, last, strict=True):
        ends[start : start + len(segment.ids)] = end
    return starts


def _subtree_ends(tree: TokenTree, starts: Sequence[int]) -> list[int]:
    ends = [start + len(segment.ids) for start, segment in zip(starts, tree.segments, strict=True)]
    for index in range(len(ends) - 1, 0, -1):
        parent = tree.segments[index].parent
        ends[parent] = max(ends[parent], ends[index])
    return ends


def _paths(tree: TokenTree) -> dict[int, tuple[int, ...]]:
    return {segment: tree.path(segment) for segment in dict.fromkeys(read.segment for read in tree.reads)}
