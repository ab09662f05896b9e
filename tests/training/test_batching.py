"""Nothing is cut or dropped, and the interval mask is the tree mask."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import reference_mask
from training_runs import records

from forthwith.engine.packing import RowBuilder
from forthwith.readout import readout_by_name
from forthwith.testing import tiny_encoder
from forthwith.training.batching import fill_bins, packed_batch, path_batch
from forthwith.training.planning import Planner
from forthwith.training.rows import RowRules, TrainingRow
from forthwith.training.streaming import BatchShape, Position, RowStream


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(10, 64))
def test_bins_hold_every_item_once_and_overflow_only_alone(sizes: list[int], capacity: int) -> None:
    bins = fill_bins(sizes, capacity)
    assert sorted(index for members in bins for index in members) == list(range(len(sizes)))
    assert all(sum(sizes[index] for index in members) <= capacity or len(members) == 1 for members in bins)


def stream_of(workers: int = 0, row_tokens: int = 512) -> RowStream:
    planner = Planner(readout_by_name("branch"), tiny_encoder(), RowRules())
    return RowStream(records(), planner, BatchShape(row_tokens), seed=3, chunk_records=5, workers=workers)


def rows() -> list[TrainingRow]:
    planner = stream_of().planner
    return [row for record in records() if isinstance(row := planner.row(record, 0), TrainingRow)]


def test_the_interval_mask_is_the_row_builders_mask() -> None:
    chosen = rows()[:4]
    builder = RowBuilder()
    for index, row in enumerate(chosen):
        builder.add(index, row.tree)
    packed, batch = builder.build(), packed_batch(chosen)
    index = np.arange(packed.ids.size)
    mask = (index[None, :] <= index[:, None]) & (index[:, None] < batch.ends[None, :])
    assert np.array_equal(mask, reference_mask(packed))
    assert np.array_equal(batch.ids[0], packed.ids)
    assert np.array_equal(batch.positions[0], packed.positions)
    assert sorted(batch.places) == sorted(read.token for read in packed.reads)


def test_an_epoch_holds_every_record_once_in_a_new_order() -> None:
    stream = stream_of()
    epochs: list[list[str]] = [[], []]
    for placed in stream.batches():
        epoch = int(placed.epochs_done - 1e-9)
        if epoch > 1:
            break
        epochs[epoch] += placed.batch.record_ids
    assert sorted(epochs[0]) == sorted(epochs[1]) == sorted(record.id for record in records())
    assert epochs[0] != epochs[1]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_the_stream_is_the_same_from_any_position_and_with_workers() -> None:
    def first(source: RowStream, start: Position, count: int) -> list:
        found = []
        for placed in source.batches(start):
            found.append((placed.after, placed.batch.record_ids))
            if len(found) == count:
                return found
        return found

    whole = first(stream_of(), Position(), 12)
    assert first(stream_of(), whole[4][0], 7) == whole[5:]
    assert first(stream_of(workers=2), Position(), 12) == whole


def test_a_record_larger_than_a_row_gets_a_row_of_its_own() -> None:
    stream = stream_of(row_tokens=64)
    seen = [placed.batch for placed, _ in zip(stream.batches(), range(12), strict=False)]
    assert all(len(batch.record_ids) == 1 and batch.tokens > 64 for batch in seen)


def test_paths_hold_the_same_reads_as_the_packed_row() -> None:
    chosen = rows()[:3]
    packed, paths = packed_batch(chosen), path_batch(chosen)
    assert np.array_equal(packed.ids.reshape(-1)[packed.places], paths.ids.reshape(-1)[paths.places])
    assert np.array_equal(packed.positions.reshape(-1)[packed.places], paths.positions.reshape(-1)[paths.places])
