"""Paired differences under resampling of whole clusters: bootstrap and sign-flip, as matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from forthwith.errors import ShapeError
from forthwith.metrics import FloatArray, IntArray

__all__ = ["Interval", "PairedBootstrap", "PairedValues", "paired_bootstrap", "sign_flip"]

_CHUNK = 1 << 22  # floats in one block of resampling weights


@dataclass(frozen=True)
class PairedValues:
    """One value of each of two predictors for the same n questions, higher is better (for instance 1 for right).

    Attributes:
        baseline: shape (n,).
        candidate: shape (n,).
        family: shape (n,), codes.
        cluster: shape (n,), codes; questions of one cluster are kept together.
    """

    baseline: FloatArray
    candidate: FloatArray
    family: IntArray
    cluster: IntArray

    def __post_init__(self) -> None:
        shapes = {np.shape(getattr(self, name)) for name in ("baseline", "candidate", "family", "cluster")}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise ShapeError(f"paired values must be vectors of one length, found shapes {sorted(shapes)}")
        if not self.baseline.size:
            raise ShapeError("there are no paired questions; two predictors need questions in common")


@dataclass(frozen=True)
class Interval:
    """A difference (candidate minus baseline) with its percentile interval."""

    difference: float
    low: float
    high: float
    confidence_level: float


@dataclass(frozen=True)
class PairedBootstrap:
    """Result of a paired cluster bootstrap.

    Attributes:
        macro: unweighted mean over families of the families' mean differences.
        micro: mean difference over all questions.
        families: by family code.
        p_value: one-sided, that the macro difference is not above 0: (1 + #{δ* ≤ 0}) / (B + 1).
        n_resamples: B.
        n_clusters: clusters resampled.
        macro_draws: shape (B,), the macro difference of each resample.
    """

    macro: Interval
    micro: Interval
    families: dict[int, Interval]
    p_value: float
    n_resamples: int
    n_clusters: int
    macro_draws: FloatArray


def paired_bootstrap(
    values: PairedValues, *, n_resamples: int = 10_000, seed: int = 20260930, confidence_level: float = 0.95
) -> PairedBootstrap:
    """Resample clusters with replacement; recompute every family's mean difference and their macro average each time.

    A family that a resample lacks is skipped in that resample's macro average. Families and macro come from the same
    resamples. Clusters are put into the order of their content first, so that the result does not depend on names or on
    the order of rows.

    Args:
        values: the paired values.
        n_resamples: B.
        seed: of the multinomial draws.
        confidence_level: of the percentile intervals.

    References:
        Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapters 13 and 16; Davison and Hinkley (1997),
        section 4.2.1, for the (1 + #)/(B + 1) p-value.
    """
    codes, counts, sums = _by_cluster(values)
    n_families, n_clusters = codes.size, counts.shape[0]
    stacked = np.concatenate([counts, sums], axis=1)  # (clusters, 2 families)
    totals = np.concatenate([weights @ stacked for weights in _multinomial_weights(n_clusters, n_resamples, seed)])
    resampled_counts, resampled_sums = totals[:, :n_families], totals[:, n_families:]
    present = resampled_counts > 0
    by_family = np.divide(resampled_sums, resampled_counts, out=np.full_like(resampled_sums, np.nan), where=present)
    macro = np.nansum(by_family, axis=1) / np.maximum(present.sum(axis=1), 1)
    micro = resampled_sums.sum(axis=1) / resampled_counts.sum(axis=1)

    observed = sums.sum(axis=0) / counts.sum(axis=0)
    point = float(observed.mean())
    return PairedBootstrap(
        macro=_interval(point, macro, confidence_level),
        micro=_interval(float(sums.sum() / counts.sum()), micro, confidence_level),
        families={
            int(code): _interval(float(observed[place]), by_family[present[:, place], place], confidence_level)
            for place, code in enumerate(codes)
        },
        p_value=float((1 + np.count_nonzero(macro <= 0)) / (n_resamples + 1)),
        n_resamples=n_resamples,
        n_clusters=n_clusters,
        macro_draws=macro,
    )


def sign_flip(values: PairedValues, *, n_flips: int = 10_000, seed: int = 20260930) -> float:
    """Two-sided p-value of no difference, by swapping the two predictors in whole clusters at random.

    The statistic is the macro difference. Exact up to sampling if the two predictors are exchangeable in each cluster.

    Returns:
        (1 + #{|δ*| ≥ |δ|}) / (n_flips + 1).

    References:
        Fisher (1935), The Design of Experiments, section 21; Ernst (2004), Statistical Science 19(4).
    """
    _, counts, sums = _by_cluster(values)
    weighted = sums / counts.sum(axis=0) / counts.shape[1]  # its total is the macro difference
    per_cluster = weighted.sum(axis=1)
    observed = abs(float(per_cluster.sum()))
    rng = np.random.default_rng(seed)
    exceeding = 0
    for size in _chunk_sizes(n_flips, per_cluster.size):
        signs = rng.integers(0, 2, size=(size, per_cluster.size), dtype=np.int8) * 2.0 - 1.0
        exceeding += int(np.count_nonzero(np.abs(signs @ per_cluster) >= observed - 1e-12))
    return (1 + exceeding) / (n_flips + 1)


def _by_cluster(values: PairedValues) -> tuple[IntArray, FloatArray, FloatArray]:
    """Family codes, and counts and summed differences of each (cluster, family), clusters ordered by content."""
    codes, family = np.unique(values.family, return_inverse=True)
    _, cluster = np.unique(values.cluster, return_inverse=True)
    n_clusters, n_families = int(cluster.max()) + 1, codes.size
    cells = cluster * n_families + family
    shape = (n_clusters, n_families)
    counts = np.bincount(cells, minlength=n_clusters * n_families).reshape(shape).astype(np.float64)
    difference = values.candidate - values.baseline
    summed = np.bincount(cells, weights=difference, minlength=n_clusters * n_families)
    sums = cast("FloatArray", summed).reshape(shape)  # weighted counts are floats
    order = np.lexsort(np.concatenate([counts, sums], axis=1).T)
    return codes, counts[order], sums[order]


def _multinomial_weights(n_clusters: int, n_resamples: int, seed: int) -> Iterator[FloatArray]:
    """Blocks (b, clusters) of how often each cluster is drawn in a resample of as many clusters as there are."""
    rng = np.random.default_rng(seed)
    for size in _chunk_sizes(n_resamples, n_clusters):
        drawn = rng.integers(0, n_clusters, size=(size, n_clusters))
        cells = (drawn + np.arange(size)[:, None] * n_clusters).ravel()
        yield np.bincount(cells, minlength=size * n_clusters).reshape(size, n_clusters).astype(np.float64)


def _chunk_sizes(total: int, width: int) -> Iterator[int]:
    step = max(1, _CHUNK // max(1, width))
    for begin in range(0, total, step):
        yield min(step, total - begin)


def _interval(difference: float, draws: FloatArray, confidence_level: float) -> Interval:
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Interval(difference, float(low), float(high), confidence_level)
