"""How much answers of one cluster repeat each other: correlation within clusters, and cluster sizes."""

from __future__ import annotations

import numpy as np
from scipy.special import fdtri  # pyright: ignore[reportUnknownVariableType]  # SciPy ships no types

from forthwith.metrics import BoolArray, FloatArray, IntArray

__all__ = ["intra_cluster_correlation", "size_biased_mean"]

_LEAST_EVENTS = 10
_UPPER_LEVEL = 0.90


def intra_cluster_correlation(events: BoolArray, cluster: IntArray, stratum: IntArray | None = None) -> float | None:
    """Upper 90 % limit of the correlation between two events of one cluster.

    One-way analysis of variance of the 0/1 events over clusters (within strata, where given), the F ratio divided by
    its 10 % quantile. An upper limit, because an estimate on few events is as often too low as too high.

    Args:
        events: shape (n,).
        cluster: shape (n,), codes.
        stratum: shape (n,), codes; means differ between strata and only what is left counts.

    Returns:
        In [0, 1]; 0 where every cluster has one row; None where fewer than 10 events, or non-events, say too little.

    References:
        Donner (1986), International Statistical Review 54(1).
    """
    n_events = int(np.count_nonzero(events))
    strata = np.zeros(events.size, dtype=np.int64) if stratum is None else np.unique(stratum, return_inverse=True)[1]
    groups = np.unique(np.stack([strata, cluster]), axis=1, return_inverse=True)[1].reshape(-1)
    size = np.bincount(groups).astype(np.float64)
    n, k = events.size, size.size
    if n == k:
        return 0.0
    if min(n_events, n - n_events) < _LEAST_EVENTS:
        return None
    n_strata = int(strata.max()) + 1
    mean = np.bincount(strata, weights=events) / np.bincount(strata)
    total = float(np.sum((events - mean[strata]) ** 2))
    gaps = np.bincount(groups, weights=events - mean[strata]) / size
    between = float(size @ gaps**2)
    within = total - between
    df_between, df_within = max(1, k - n_strata), n - k
    if within <= 0:
        return 1.0
    ratio = (between / df_between) / (within / df_within) / float(fdtri(df_between, df_within, 1 - _UPPER_LEVEL))
    typical = (n - float(size @ size) / n) / max(1, k - 1)
    return float(np.clip((ratio - 1) / (ratio + typical - 1), 0.0, 1.0))


def size_biased_mean(values: FloatArray, cluster: IntArray, thresholds: FloatArray) -> FloatArray:
    """Mean, over rows at or above each threshold, of the number of such rows in their cluster.

    Args:
        values: shape (n,).
        cluster: shape (n,), codes.
        thresholds: shape (m,), falling; each at most the largest value.

    Returns:
        shape (m,), at least 1: Σ size² / Σ size over clusters.
    """
    order = np.argsort(-values, kind="stable")
    codes = np.unique(cluster[order], return_inverse=True)[1]
    by_cluster = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes))[:-1]])
    rank = np.empty(values.size, dtype=np.int64)  # how many of the cluster came before
    rank[by_cluster] = np.arange(values.size) - np.repeat(starts, np.bincount(codes))
    squares = np.cumsum(2 * rank + 1)  # Σ size² grows by (s + 1)² - s²
    accepted = np.searchsorted(-values[order], -thresholds, side="right")
    return squares[accepted - 1] / accepted
