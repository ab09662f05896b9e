"""A probability that no option is right, from the readout's own log-odds that the best option is."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from forthwith.calibration.affine import Matrix, fit_affine
from forthwith.calibration.apply import FloatArray, log_softmax
from forthwith.errors import ShapeError

__all__ = ["fit_none_of_these", "none_probability"]

_LEAST_EACH = 20
_FOLDS = 5


def none_probability(none_score: ArrayLike, parameters: dict[str, float]) -> FloatArray:
    """Probability that none of a question's options is right: 1 - sigmoid((score + bias) / temperature).

    Args:
        none_score: log-odds, of any shape, that even the best option is right.
        parameters: `Calibration.none_of_these`, with `temperature` and `bias`.

    Returns:
        The shape of `none_score`, in [0, 1].

    References:
        Platt (1999), Probabilistic Outputs for Support Vector Machines.
    """
    margin = (np.asarray(none_score, dtype=np.float64) + parameters["bias"]) / parameters["temperature"]
    return np.exp(-np.logaddexp(0.0, margin))


def fit_none_of_these(
    none_scores: ArrayLike, is_none: ArrayLike, clusters: ArrayLike, *, seed: int = 20260930
) -> dict[str, float]:
    """Temperature and bias of `none_probability`, if they say more out of fold than the share of such questions alone.

    Args:
        none_scores: shape (n,), log-odds that the best option is right.
        is_none: shape (n,), whether no option was right.
        clusters: shape (n,), codes; folds keep clusters whole.
        seed: of the folds.

    Returns:
        `{"temperature": …, "bias": …}`, or empty with fewer than 20 questions of either kind or no gain out of fold.

    Raises:
        ShapeError: the lengths differ.
    """
    scores = np.asarray(none_scores, dtype=np.float64)
    none = np.asarray(is_none, dtype=np.bool_)
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    if not scores.shape == none.shape == codes.shape or scores.ndim != 1:
        raise ShapeError(f"none scores, flags and clusters differ: {scores.shape}, {none.shape}, {codes.shape}")
    n_clusters = int(codes.max(initial=-1)) + 1
    if min(int(none.sum()), int((~none).sum())) < _LEAST_EACH or n_clusters < 2 * _FOLDS:
        return {}
    fold = (np.random.default_rng(seed).permutation(n_clusters) % _FOLDS)[codes]
    gain = np.zeros(scores.size)
    for held_out in range(_FOLDS):
        train, test = fold != held_out, fold == held_out
        share = float(np.clip(none[train].mean(), 1e-6, 1 - 1e-6))
        fitted = _fit(scores[train], none[train])
        by_share = cast("FloatArray", np.where(none[test], np.log(share), np.log1p(-share)))
        gain[test] = _log_likelihood(scores[test], none[test], fitted) - by_share
    sums = np.bincount(codes, weights=gain - gain.mean())
    error = float(np.sqrt(sums @ sums)) / gain.size
    return _fit(scores, none) if gain.mean() > 1.645 * error else {}


def _fit(scores: FloatArray, none: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> dict[str, float]:
    columns = np.stack([np.zeros_like(scores), scores], axis=1)
    target = np.stack([none, ~none], axis=1).astype(np.float64)
    fitted = fit_affine(Matrix(columns, target), ridge=0.01, is_free=(False, True))
    return {"temperature": fitted.temperature, "bias": float(fitted.bias[1])}


def _log_likelihood(
    scores: FloatArray, none: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], parameters: dict[str, float]
) -> FloatArray:
    margin = (scores + parameters["bias"]) / parameters["temperature"]
    log_p = log_softmax(np.stack([np.zeros_like(margin), margin], axis=1))
    return np.where(none, log_p[:, 0], log_p[:, 1])
