"""How far confidence is from the share answered right: binned errors, as published and debiased."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from forthwith.errors import ShapeError
from forthwith.metrics.arrays import FloatArray, IntArray, as_vectors

__all__ = ["CalibrationErrorEstimate", "ReliabilityBins", "debiased_ece", "ece", "reliability_bins"]

Closed = Literal["left", "right"]


@dataclass(frozen=True)
class ReliabilityBins:
    """A reliability diagram: one entry for each equal-width bin of [0, 1], empty bins included.

    Attributes:
        edges: shape (n_bins + 1,).
        count: shape (n_bins,).
        confidence: shape (n_bins,), mean confidence in the bin; 0 where empty.
        correctness: shape (n_bins,), mean correctness in the bin; 0 where empty.
    """

    edges: FloatArray
    count: FloatArray
    confidence: FloatArray
    correctness: FloatArray


@dataclass(frozen=True)
class CalibrationErrorEstimate:
    """An expected calibration error with the part removed that sampling noise alone adds.

    Attributes:
        plug_in: the ordinary ECE, biased upwards.
        estimate: the part of `plug_in` that noise does not explain; between 0 and `plug_in`.
        low: lower end of the interval, not below 0.
        high: upper end of the interval.
        confidence_level: share of samples whose interval should hold the true binned error.
    """

    plug_in: float
    estimate: float
    low: float
    high: float
    confidence_level: float


def ece(confidence: ArrayLike, correctness: ArrayLike, *, n_bins: int, closed: Closed = "left") -> float:
    """Expected calibration error: bin-weighted mean distance between mean correctness and mean confidence.

    Args:
        confidence: shape (n,), in [0, 1]: the largest probability of each question.
        correctness: shape (n,), in [0, 1]: the target's mass on the predicted option.
        n_bins: number of equal-width bins on [0, 1].
        closed: which edge a bin owns; "left" owns its lower edge (the last bin also 1), "right" its
            upper edge (the first bin also 0).

    Returns:
        In [0, 1]; lower is better.

    Raises:
        ShapeError: lengths differ, are 0, or a confidence lies outside [0, 1].

    References:
        Naeini et al. (2015), AAAI; Guo et al. (2017), ICML.
    """
    bins = reliability_bins(confidence, correctness, n_bins=n_bins, closed=closed)
    return float(bins.count @ np.abs(bins.correctness - bins.confidence) / bins.count.sum())


def reliability_bins(
    confidence: ArrayLike, correctness: ArrayLike, *, n_bins: int, closed: Closed = "left"
) -> ReliabilityBins:
    """Counts and means by equal-width bin of confidence: the numbers behind a reliability diagram.

    Args:
        confidence: shape (n,), in [0, 1].
        correctness: shape (n,), in [0, 1].
        n_bins: number of bins.
        closed: which edge a bin owns.

    Raises:
        ShapeError: lengths differ, are 0, or a confidence lies outside [0, 1].
    """
    conf, corr = as_vectors(confidence, correctness, "confidences and correctness")
    index = _bin_index(conf, n_bins, closed)
    count = np.bincount(index, minlength=n_bins).astype(np.float64)
    size = np.maximum(count, 1)
    return ReliabilityBins(
        edges=np.linspace(0.0, 1.0, n_bins + 1),
        count=count,
        confidence=np.bincount(index, weights=conf, minlength=n_bins) / size,
        correctness=np.bincount(index, weights=corr, minlength=n_bins) / size,
    )


def debiased_ece(
    confidence: ArrayLike,
    correctness: ArrayLike,
    *,
    n_bins: int,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_draws: int = 1000,
    seed: int = 20260930,
) -> CalibrationErrorEstimate:
    """ECE less the bias that comes from finite bins, with an interval.

    A bin's gap d is seen with noise, so even a calibrated predictor shows an error. Suppose the true gaps are λ times
    those seen. Then the plug-in error is distributed as `Σ weight·|λd + noise|`, with normal noise; its covariance over
    bins is that of the sums of clusters.
    The estimate is λ times the plug-in error for the λ whose mean meets the error seen; the interval ends where the
    error seen leaves the central part of the distribution (a test inverted along λ).

    Args:
        confidence: shape (n,), in [0, 1].
        correctness: shape (n,), in [0, 1].
        n_bins: number of equal-width bins, lower edge inclusive.
        clusters: shape (n,), codes of rows that belong together; each row alone where None.
        confidence_level: of the interval.
        n_draws: draws of the noise.
        seed: of the draws.

    Raises:
        ShapeError: lengths differ, are 0, or a confidence lies outside [0, 1].

    References:
        Kumar, Liang and Ma (2019), Verified Uncertainty Calibration, NeurIPS, for the bias that is removed here.
    """
    conf, corr = as_vectors(confidence, correctness, "confidences and correctness")
    index = _bin_index(conf, n_bins, "left")
    codes = np.arange(conf.size) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    n_clusters = int(codes.max()) + 1
    cells = codes * n_bins + index
    shape = (n_clusters, n_bins)
    count = np.bincount(cells, minlength=n_clusters * n_bins).reshape(shape).astype(np.float64)
    gap = np.bincount(cells, weights=corr - conf, minlength=n_clusters * n_bins).reshape(shape)

    mean_gap = gap.sum(axis=0) / np.maximum(count.sum(axis=0), 1)
    residual = gap - count * mean_gap  # (n_clusters, n_bins), in questions
    covariance = residual.T @ residual * (n_clusters / max(1, n_clusters - 1))
    rng = np.random.default_rng(seed)
    noise = rng.multivariate_normal(np.zeros(n_bins), covariance, size=n_draws, method="eigh")
    total = gap.sum(axis=0)
    seen = float(np.sum(np.abs(total)))
    plausible = np.stack([np.sum(np.abs(shrink * total + noise), axis=1) for shrink in _SHRINKAGES])
    tail = (1 - confidence_level) / 2
    lower, upper = np.quantile(plausible, [tail, 1 - tail], axis=1)
    ends = [_crossing(curve, seen) * seen / conf.size for curve in (plausible.mean(axis=1), upper, lower)]
    plug_in = seen / conf.size
    return CalibrationErrorEstimate(plug_in, min(ends[0], plug_in), ends[1], ends[2], confidence_level)


_SHRINKAGES = np.linspace(0.0, 3.0, 61)


def _crossing(curve: FloatArray, level: float) -> float:
    """The λ at which a rising curve over `_SHRINKAGES` reaches the level; 0 where it starts above."""
    return float(np.interp(level, np.maximum.accumulate(curve), _SHRINKAGES))


def _bin_index(confidence: FloatArray, n_bins: int, closed: Closed) -> IntArray:
    if n_bins < 1:
        raise ShapeError(f"n_bins is {n_bins}; use at least 1")
    if confidence.min() < 0 or confidence.max() > 1:
        raise ShapeError(f"confidences run from {confidence.min()} to {confidence.max()}; they must lie in [0, 1]")
    inner = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    return np.searchsorted(inner, confidence, side="right" if closed == "left" else "left").astype(np.int64)
