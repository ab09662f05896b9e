"""Exact balance: schedules that deal out variants, labels, scenarios and positions in shuffled blocks.

A block is a family's whole design, so that each cell reaches its share exactly; the last, partial block takes the cells
that keep labels level.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from forthwith.personal.families.context import Cell

__all__ = ["schedule_cells", "schedule_positions"]


def schedule_cells(design: Sequence[Cell], count: int, rng: random.Random) -> list[Cell]:
    """`count` cells: whole shuffled copies of the design, then a balanced part of one.

    Counts of the hard labels differ by at most one from each other whenever the design is balanced.
    """
    cells: list[Cell] = []
    for _ in range(count // len(design)):
        block = list(design)
        rng.shuffle(block)
        cells += block
    return cells + _balanced_part(design, count % len(design), rng)


def _balanced_part(design: Sequence[Cell], count: int, rng: random.Random) -> list[Cell]:
    left = list(design)
    rng.shuffle(left)
    labels: Counter[str] = Counter()
    variants: Counter[str] = Counter()
    share = Counter(cell.variant for cell in design)
    part: list[Cell] = []
    for _ in range(count):
        best = min(
            left,
            key=lambda cell: (
                labels[cell.label] if cell.is_hard and cell.label is not None else min(labels.values(), default=0),
                variants[cell.variant] / share[cell.variant],
            ),
        )
        left.remove(best)
        part.append(best)
        variants[best.variant] += 1
        if best.is_hard and best.label is not None:
            labels[best.label] += 1
    rng.shuffle(part)
    return part


def schedule_positions(size: int, count: int, rng: random.Random) -> list[int]:
    """`count` places among `size` options, in shuffled blocks: each place comes up equally often, give or take one."""
    places: list[int] = []
    while len(places) < count:
        block = list(range(size))
        rng.shuffle(block)
        places += block
    return places[:count]
