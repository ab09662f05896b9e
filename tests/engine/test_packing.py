from __future__ import annotations

import numpy as np
from random_trees import random_tree, reference_mask

from forthwith.encoding import TreeBuilder
from forthwith.engine.packing import RowBuilder


def small_tree(root: tuple[int, ...] = (1, 2)) -> TreeBuilder:
    tree = TreeBuilder(root)
    question = tree.add((3,))
    tree.read(tree.add((4, 5), question), (7, 8))
    tree.read(tree.add((6,), question), (7, 8))
    return tree


def test_positions_restart_at_the_fork_and_siblings_cannot_see_each_other() -> None:
    builder = RowBuilder()
    builder.add(0, small_tree().build())
    row = builder.build()
    assert row.ids.tolist() == [1, 2, 3, 4, 5, 6]
    assert row.positions.tolist() == [0, 1, 2, 3, 4, 3]
    assert reference_mask(row).astype(int).tolist() == [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 0, 0],
        [1, 1, 1, 1, 1, 0],
        [1, 1, 1, 0, 0, 1],
    ]
    assert [(read.tree, read.read, read.token) for read in row.reads] == [(0, 0, 4), (0, 1, 5)]
    assert not row.is_chain


def test_trees_with_equal_roots_share_it_and_others_stay_apart() -> None:
    builder = RowBuilder()
    builder.add(0, small_tree().build())
    builder.add(1, small_tree().build())
    builder.add(2, small_tree((9,)).build())
    row = builder.build()
    assert row.ids.tolist() == [1, 2, 3, 4, 5, 6, 3, 4, 5, 6, 9, 3, 4, 5, 6]
    mask = reference_mask(row)
    assert mask[6, :3].tolist() == [True, True, False]
    assert not mask[10:, :10].any()


def test_a_prefix_is_seen_by_all() -> None:
    tree = small_tree().build()
    builder = RowBuilder()
    builder.add(0, tree, tree.subtrees[1])
    row = builder.build()
    assert row.ids.tolist() == [3, 4, 5, 6]
    assert reference_mask(row, 2)[:, :2].all()


def test_a_single_path_is_a_chain() -> None:
    tree = TreeBuilder((1, 2))
    tree.read(tree.add((3,), tree.add((4, 5))), (0,))
    builder = RowBuilder()
    builder.add(0, tree.build())
    assert builder.build().is_chain


def test_every_token_sees_exactly_its_own_path() -> None:
    tree = random_tree(3)
    builder = RowBuilder()
    builder.add(0, tree)
    row = builder.build()
    mask = reference_mask(row)
    for read in row.reads:
        spec = tree.reads[read.read]
        above = tree.segments[spec.segment].parent
        path = (tree.path(above) if above >= 0 else ()) + tree.segments[spec.segment].ids[: spec.offset + 1]
        assert row.ids[np.flatnonzero(mask[read.token])].tolist() == list(path)


def test_subtrees_and_children() -> None:
    tree = small_tree().build()
    assert tree.subtrees == ((0, 1, 2, 3), (1, 2, 3), (2,), (3,))
    assert tree.children == ((1,), (2, 3), (), ())


def test_reads_of_segments_that_lie_elsewhere_are_left_out() -> None:
    tree = small_tree().build()
    builder = RowBuilder()
    builder.add(0, tree, (1, 2))  # the question and its first leaf; root and second leaf are not in this row
    row = builder.build()
    assert row.ids.tolist() == [3, 4, 5]
    assert row.positions.tolist() == [2, 3, 4]
    assert [(read.read, read.token) for read in row.reads] == [(0, 2)]
