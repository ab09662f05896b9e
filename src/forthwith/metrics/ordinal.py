"""Questions whose options are ordered levels 0..K-1: how far off, not only whether."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forthwith.metrics.arrays import FloatArray, as_distributions, as_vectors
from forthwith.metrics.labels import confusion_counts

__all__ = ["expected_level", "mean_absolute_error", "quadratic_weighted_kappa", "ranked_probability_score"]


def ranked_probability_score(probabilities: ArrayLike, target: ArrayLike) -> FloatArray:
    """Squared distance between the cumulative distributions, divided by K - 1.

    Args:
        probabilities: shape (..., K), levels lowest first, sums to 1.
        target: shape (..., K); one-hot for a hard level.

    Returns:
        shape (...), in [0, 1]; lower is better. For K = 2 this is half of `brier_score`.
        Example: p = (.1, .2, .4, .2, .1) with level 3 gives 0.15.

    Raises:
        ShapeError: the shapes differ or a value is not finite.

    References:
        Epstein (1969), Journal of Applied Meteorology 8; Gneiting and Raftery (2007), JASA 102.
    """
    p, t = as_distributions(probabilities, target)
    gaps = np.cumsum(p - t, axis=-1)[..., :-1]
    return np.sum(gaps**2, axis=-1) / (p.shape[-1] - 1)


def expected_level(probabilities: ArrayLike) -> FloatArray:
    """Mean level under a distribution.

    Args:
        probabilities: shape (..., K), sums to 1.

    Returns:
        shape (...), in [0, K - 1].
    """
    p = np.asarray(probabilities, dtype=np.float64)
    return p @ np.arange(p.shape[-1], dtype=np.float64)


def mean_absolute_error(levels: ArrayLike, labels: ArrayLike) -> float:
    """Mean distance, in levels, between given (or expected) and right level.

    Args:
        levels: shape (n,); may be fractional.
        labels: shape (n,).

    Returns:
        At least 0; lower is better. scikit-learn's `mean_absolute_error`.

    Raises:
        ShapeError: lengths differ or are 0.
    """
    left, right = as_vectors(levels, labels, "levels and labels")
    return float(np.mean(np.abs(left - right)))


def quadratic_weighted_kappa(predicted: ArrayLike, labels: ArrayLike, *, n_levels: int) -> float | None:
    """Agreement beyond chance, where a miss by d levels counts d².

    Args:
        predicted: shape (n,), levels 0..n_levels-1.
        labels: shape (n,), levels 0..n_levels-1.
        n_levels: number of levels K.

    Returns:
        In [-1, 1]; 1 is perfect, 0 is chance. scikit-learn's `cohen_kappa_score(weights="quadratic")`. None where
        chance agreement is already perfect (one level only on both sides), so that the ratio has no value.

    Raises:
        ShapeError: lengths differ, are 0, or a level is out of range.

    References:
        Cohen (1968), Psychological Bulletin 70(4).
    """
    observed = confusion_counts(predicted, labels, n_options=n_levels).astype(np.float64)
    by_chance = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / observed.sum()
    levels = np.arange(n_levels)
    weights = (levels[:, None] - levels[None, :]) ** 2
    denominator = float(np.sum(weights * by_chance))
    return None if denominator == 0.0 else 1.0 - float(np.sum(weights * observed)) / denominator
