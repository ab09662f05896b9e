"""Sampling option sets around a target, vectorised, and choosing the one whose shortcut ranks are rarest so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forthwith.personal.families.context import RankTally
from forthwith.personal.kb.catalogue import Catalogue

__all__ = ["CANDIDATES", "FEATURES", "Ingredients", "OptionSets", "choose_set", "record_ranks", "sample_sets"]

FEATURES = ("price", "popularity", "medoid", "centroid", "name_length")
"""What a guesser could go by without reading the state."""

CANDIDATES = 240
"""Option sets sampled for a question."""

MAX_EXCESS = 1.0
"""How much commoner than the rarest rank a chosen rank may be, in questions."""

_LEVEL_STEP = 0.7

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class OptionSets:
    """Candidate sets of K options for one target.

    Attributes:
        rows: catalogue rows, shape (M, K); column 0 is the target.
        below: options before the target in each feature's order, shape (M, F).
        tied: options that share the target's value, itself included, shape (M, F).
    """

    rows: IntArray
    below: IntArray
    tied: IntArray

    def where(self, keep: NDArray[np.bool_]) -> OptionSets:
        """The sets that a mask of shape (M,) keeps."""
        return OptionSets(self.rows[keep], self.below[keep], self.tied[keep])

    def ranks(self, index: int) -> tuple[tuple[int, int], ...]:
        """By feature: how many options come before the target, and how many share its value, itself included."""
        return tuple((int(a), int(b)) for a, b in zip(self.below[index], self.tied[index], strict=True))


@dataclass(frozen=True)
class Ingredients:
    """What option sets are made of: the target, rows that every set holds, and `wanted` rows of a pool."""

    target: int
    fixed: list[int]
    pool: IntArray
    wanted: int


def sample_sets(rng: np.random.Generator, catalogue: Catalogue, parts: Ingredients) -> OptionSets:
    """Up to `CANDIDATES` sets, all names distinct.

    A third of the sets is drawn from the whole pool, a third with a random number of cheaper options, a third with a
    random number of less popular ones, so that every rank of the target can occur.
    """
    target, pool, wanted = parts.target, parts.pool, parts.wanted
    drawn = np.concatenate(
        [
            pool[rng.integers(0, len(pool), (CANDIDATES // 3, wanted))],
            _directed(rng, _price(catalogue, pool), _price(catalogue, np.array([target]))[0], pool, wanted),
            _directed(rng, catalogue.popularity[pool].astype(float), float(catalogue.popularity[target]), pool, wanted),
        ]
    )
    head = np.tile(np.array([target, *parts.fixed], dtype=np.int64), (len(drawn), 1))
    rows = np.concatenate([head, drawn], axis=1)
    keep = [index for index, row in enumerate(rows) if _names_differ(catalogue, row)]
    return _ranked(catalogue, rows[keep])


def _price(catalogue: Catalogue, rows: IntArray) -> FloatArray:
    """Log price, or steps of price level where only that is listed."""
    cents = catalogue.price_cents[rows].astype(float)
    return np.where(cents >= 0, np.log1p(np.maximum(cents, 0) / 100), _LEVEL_STEP * catalogue.price_level[rows])


def _directed(rng: np.random.Generator, values: FloatArray, own: float, pool: IntArray, wanted: int) -> IntArray:
    count = CANDIDATES // 3
    below, above = pool[values < own], pool[values >= own]
    if len(below) == 0 or len(above) == 0:
        return pool[rng.integers(0, len(pool), (count, wanted))]
    lower = rng.integers(0, wanted + 1, (count, 1))
    from_below = below[rng.integers(0, len(below), (count, wanted))]
    from_above = above[rng.integers(0, len(above), (count, wanted))]
    return np.where(np.arange(wanted) < lower, from_below, from_above)


def _names_differ(catalogue: Catalogue, row: IntArray) -> bool:
    names = [catalogue.names[int(item)] for item in row]
    return not any(a in b for i, a in enumerate(names) for j, b in enumerate(names) if i != j)


def _ranked(catalogue: Catalogue, rows: IntArray) -> OptionSets:
    if len(rows) == 0:
        empty = np.zeros((0, len(FEATURES)), dtype=np.int64)
        return OptionSets(rows, empty, empty)
    price = _price(catalogue, rows)  # (M, K)
    popularity = np.log1p(catalogue.popularity[rows].astype(float))  # (M, K)
    distance = np.abs(price[:, :, None] - price[:, None]) + np.abs(popularity[:, :, None] - popularity[:, None])
    medoid = distance.sum(axis=2)
    centre = np.abs(price - price.mean(axis=1, keepdims=True))
    centre = centre + np.abs(popularity - popularity.mean(axis=1, keepdims=True))
    length = np.array([[len(catalogue.names[int(item)]) for item in row] for row in rows], dtype=float)
    values = np.stack([price, popularity, medoid, centre, length], axis=2)  # (M, K, F)
    values = np.round(values, 9)
    own = values[:, :1]
    return OptionSets(rows, (values < own).sum(axis=1), (values == own).sum(axis=1))


def choose_set(sets: OptionSets, tally: RankTally, *, is_hard: bool) -> int | None:
    """The index of the set whose ranks are rarest so far; None when every set has a rank that is common already."""
    if len(sets.rows) == 0:
        return None
    size = sets.rows.shape[1]
    excess = np.zeros(sets.below.shape)
    for column, feature in enumerate(FEATURES):
        counts = np.array(tally.of(size, feature, is_hard=is_hard), dtype=float)
        total = np.concatenate([[0.0], np.cumsum(counts - counts.min())])
        first = sets.below[:, column]
        excess[:, column] = (total[first + sets.tied[:, column]] - total[first]) / sets.tied[:, column]
    best = int(np.argmin(excess.sum(axis=1) + 4 * np.maximum(excess - MAX_EXCESS, 0).sum(axis=1)))
    return best if excess[best].max() <= MAX_EXCESS else None


def record_ranks(ranks: tuple[tuple[int, int], ...], size: int, tally: RankTally, *, is_hard: bool) -> None:
    """Count the ranks of a chosen set of `size` options; a tie counts in equal parts."""
    for feature, (first, tied) in zip(FEATURES, ranks, strict=True):
        counts = tally.of(size, feature, is_hard=is_hard)
        for rank in range(first, first + tied):
            counts[rank] += 1 / tied
