"""The order of training: epochs of shuffled chunks of records, planned ahead by workers, packed, and resumable at any batch.

The stream depends on the seed and the data alone, never on the number of workers or processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from torch.utils.data import DataLoader, Dataset

from forthwith.errors import DataError
from forthwith.schema import Record
from forthwith.training.batching import MicroBatch, fill_bins, packed_batch, path_batch, path_tokens
from forthwith.training.planning import Planner, task_of
from forthwith.training.randomness import stream
from forthwith.training.row_cache import CachedRows
from forthwith.training.rows import TrainingRow, Unusable

__all__ = ["BatchShape", "Position", "RowStream", "batches_of"]

_WIDTH_STEP = 128


class Position(NamedTuple):
    """Where the stream stands: the next batch to give."""

    epoch: int = 0
    chunk: int = 0
    batch: int = 0


class PlacedBatch(NamedTuple):
    """A batch, the position behind it, and the share of the epoch that lies behind it."""

    batch: MicroBatch
    after: Position
    epochs_done: float


@dataclass(frozen=True)
class BatchShape:
    """How rows become forward passes.

    Attributes:
        row_tokens: capacity of one pass.
        as_paths: every read segment a prompt of its own (recurrent layers) instead of packed trees.
        is_padded: pad packed passes to a few fixed widths, so that compiled code is reused.
    """

    row_tokens: int
    as_paths: bool = False
    is_padded: bool = False

    def width(self, size: int) -> int | None:
        """Padded width of a packed pass of `size` tokens."""
        if not self.is_padded:
            return None
        width = -(-self.row_tokens // _WIDTH_STEP) * _WIDTH_STEP
        while width < size:
            width *= 2
        return width


def batches_of(rows: Sequence[TrainingRow], shape: BatchShape) -> list[MicroBatch]:
    """Rows packed into batches, every row once; rows of like length share a batch where prompts are padded."""
    if shape.as_paths:
        order = sorted(range(len(rows)), key=lambda index: rows[index].tree.depth)
        bins = fill_bins([path_tokens(rows[index].tree) for index in order], shape.row_tokens, open_bins=1)
        return [path_batch([rows[order[index]] for index in members]) for members in bins]
    bins = fill_bins([row.size for row in rows], shape.row_tokens)
    groups = [[rows[index] for index in members] for members in bins]
    return [packed_batch(group, shape.width(sum(row.size for row in group))) for group in groups]


@dataclass(frozen=True)
class RowStream:
    """Batches of records, epoch after epoch.

    Attributes:
        records: the training records.
        planner: makes rows.
        shape: how rows are packed.
        seed: of the order.
        chunk_records: records planned and packed together.
        general: further records, of which each epoch holds a sample.
        general_share: their share of an epoch.
        workers: processes that plan ahead.
        overlong: refuse or skip records that give no row.
        cached: rows of `records` that are built already; used in place of the planner for them.
    """

    records: Sequence[Record]
    planner: Planner
    shape: BatchShape
    seed: int
    chunk_records: int = 512
    general: Sequence[Record] = ()
    general_share: float = 0.0
    workers: int = 0
    overlong: str = "refuse"
    cached: CachedRows | None = None

    def batches(self, start: Position = Position()) -> Iterator[PlacedBatch]:  # noqa: B008 - a frozen value
        """Batches from a position on, without end."""
        epoch = start.epoch
        while True:
            yield from self._epoch(epoch, start if epoch == start.epoch else Position(epoch))
            epoch += 1

    def order(self, epoch: int) -> list[int]:
        """The records of an epoch in their order; numbers from `len(records)` on are general ones."""
        chosen = list(range(len(self.records)))
        if self.general and self.general_share > 0:
            wanted = round(self.general_share / (1.0 - self.general_share) * len(self.records))
            draw = stream(self.seed, "general", epoch)
            sample = draw.choice(len(self.general), size=min(wanted, len(self.general)), replace=False)
            chosen += [len(self.records) + index for index in sorted(sample.tolist())]
        return [chosen[index] for index in stream(self.seed, "order", epoch).permutation(len(chosen))]

    def _epoch(self, epoch: int, start: Position) -> Iterator[PlacedBatch]:
        order = self.order(epoch)
        size = self.chunk_records
        chunks = [order[first : first + size] for first in range(0, len(order), size)]
        dataset = _Chunks(chunks, self, epoch, start.chunk)
        for number, batches in enumerate(_loaded(dataset, self.workers), start=start.chunk):
            first = start.batch if number == start.chunk else 0
            for index in range(first, len(batches)):
                is_last = index + 1 == len(batches)
                after = Position(epoch, number, index + 1)
                if is_last:
                    after = Position(epoch, number + 1) if number + 1 < len(chunks) else Position(epoch + 1)
                yield PlacedBatch(batches[index], after, epoch + (number + (index + 1) / len(batches)) / len(chunks))

    def chunk_batches(self, numbers: Sequence[int], epoch: int, chunk: int) -> list[MicroBatch]:
        """The batches of one chunk, in a random order."""
        found = [self._row(number, epoch) for number in numbers]
        batches = batches_of([row for row in found if row is not None], self.shape)
        return [batches[index] for index in stream(self.seed, "batches", epoch, chunk).permutation(len(batches))]

    def _row(self, number: int, epoch: int) -> TrainingRow | None:
        is_own = number < len(self.records)
        record = self.records[number] if is_own else self.general[number - len(self.records)]
        if self.cached is not None and is_own:
            row = self.cached.row(number)
            return None if row is None else weighted(row, self.planner.weights.get(task_of(record), 1.0))
        planned = self.planner.row(record, epoch)
        if not isinstance(planned, Unusable):
            return planned
        if self.overlong == "refuse":
            raise DataError(planned.refusal)
        return None


def weighted(row: TrainingRow, weight: float) -> TrainingRow:
    """The row with the weight of its questions multiplied."""
    if weight == 1.0:
        return row
    questions = tuple(question._replace(weight=question.weight * weight) for question in row.questions)
    return replace(row, questions=questions)


class _Chunks(Dataset[list[MicroBatch]]):
    """One chunk an item; what workers fetch."""

    def __init__(self, chunks: Sequence[Sequence[int]], source: RowStream, epoch: int, first: int) -> None:
        self._chunks, self._source, self._epoch, self._first = chunks, source, epoch, first

    def __len__(self) -> int:
        return len(self._chunks) - self._first

    def __getitem__(self, index: int) -> list[MicroBatch]:
        chunk = self._first + index
        return self._source.chunk_batches(self._chunks[chunk], self._epoch, chunk)


def _loaded(dataset: _Chunks, workers: int) -> Iterator[list[MicroBatch]]:
    if workers == 0 or len(dataset) < 2:
        return (dataset[index] for index in range(len(dataset)))
    options: dict[str, Any] = {"prefetch_factor": 2, "worker_init_fn": _start_worker}
    loader: Any = DataLoader(
        dataset, batch_size=None, num_workers=min(workers, len(dataset)), collate_fn=_same, **options
    )
    return iter(loader)


def _start_worker(_number: int) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # each worker is one of many; threads inside them only contend


def _same(batches: list[MicroBatch]) -> list[MicroBatch]:
    return batches
