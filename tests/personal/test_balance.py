import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from forthwith.personal.balance import schedule_cells, schedule_positions
from forthwith.personal.families.builders import DESIGNS
from forthwith.personal.vocabulary import FAMILIES


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(FAMILIES), st.integers(1, 160), st.integers(0, 2**32))
def test_hard_labels_differ_by_at_most_one(family, count, seed):
    cells = schedule_cells(DESIGNS[family], count, random.Random(seed))
    assert len(cells) == count
    labels = {cell.label for cell in DESIGNS[family] if cell.is_hard}
    counts = Counter(cell.label for cell in cells if cell.is_hard)
    gaps = [counts[label] for label in labels]
    assert max(gaps) - min(gaps) <= 1


@given(st.integers(2, 6), st.integers(0, 60), st.integers(0, 2**32))
def test_positions_differ_by_at_most_one(size, count, seed):
    counts = Counter(schedule_positions(size, count, random.Random(seed)))
    gaps = [counts[place] for place in range(size)]
    assert sum(gaps) == count
    assert max(gaps) - min(gaps) <= 1


def test_whole_blocks_reach_every_share_exactly():
    design = DESIGNS["notify_level"]
    cells = schedule_cells(design, 3 * len(design), random.Random(1))
    shares = Counter(cell.variant for cell in cells)
    assert {name: count / len(cells) for name, count in shares.items()} == {
        "clean": 0.5, "override": 0.25, "removed": 0.25,
    }  # fmt: skip
