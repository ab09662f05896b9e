"""Scores of one distribution against the gold distribution, over the last axis; a leading axis is questions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forthwith.metrics.arrays import FloatArray, as_distributions

__all__ = ["PROBABILITY_FLOOR", "brier_score", "half_brier_score", "nll", "total_variation_distance"]

PROBABILITY_FLOOR = 1e-12
"""Smallest probability whose logarithm is taken, so that one impossible answer does not make a mean infinite."""


def nll(probabilities: ArrayLike, target: ArrayLike) -> FloatArray:
    """Negative log-likelihood of the gold distribution, `-Σ target·ln max(p, 1e-12)`, in nats.

    Args:
        probabilities: shape (..., K), sums to 1.
        target: shape (..., K); one-hot for a hard label.

    Returns:
        shape (...), at least 0; lower is better. For one-hot targets the mean is scikit-learn's `log_loss`.

    Raises:
        ShapeError: the shapes differ or a value is not finite.

    References:
        Good (1952), Rational Decisions, JRSS B 14(1).
    """
    p, t = as_distributions(probabilities, target)
    return -np.sum(t * np.log(np.maximum(p, PROBABILITY_FLOOR)), axis=-1)


def brier_score(probabilities: ArrayLike, target: ArrayLike) -> FloatArray:
    """Squared distance between predicted and gold distribution, summed over the options.

    Args:
        probabilities: shape (..., K), sums to 1.
        target: shape (..., K); one-hot for a hard label.

    Returns:
        shape (...), in [0, 2]; lower is better. For K = 2 this is twice scikit-learn's default `brier_score_loss`.

    Raises:
        ShapeError: the shapes differ or a value is not finite.

    References:
        Brier (1950), Monthly Weather Review 78(1).
    """
    p, t = as_distributions(probabilities, target)
    return np.sum((p - t) ** 2, axis=-1)


def half_brier_score(probabilities: ArrayLike, target: ArrayLike) -> FloatArray:
    """Half of `brier_score`: the convention in which a yes/no question costs `(p(yes) - y)²`.

    Args:
        probabilities: shape (..., K), sums to 1.
        target: shape (..., K); one-hot for a hard label.

    Returns:
        shape (...), in [0, 1]; lower is better. For K = 2 this is scikit-learn's `brier_score_loss`.

    Raises:
        ShapeError: the shapes differ or a value is not finite.
    """
    return brier_score(probabilities, target) / 2


def total_variation_distance(probabilities: ArrayLike, target: ArrayLike) -> FloatArray:
    """Half the L1 distance between two distributions: the largest difference in probability of any set of options.

    Args:
        probabilities: shape (..., K), sums to 1.
        target: shape (..., K), for instance the shares of several people's answers.

    Returns:
        shape (...), in [0, 1]; lower is closer.

    Raises:
        ShapeError: the shapes differ or a value is not finite.
    """
    p, t = as_distributions(probabilities, target)
    return np.sum(np.abs(p - t), axis=-1) / 2
