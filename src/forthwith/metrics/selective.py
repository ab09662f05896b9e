"""Answering only where sure: how well confidence ranks right above wrong answers, and what each coverage costs.

Confidences that are equal are never told apart: a curve steps over the whole tie, and areas average over its orders.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from forthwith.errors import ShapeError
from forthwith.metrics.arrays import BoolArray, FloatArray, as_vectors

__all__ = [
    "RiskCoverage",
    "RocCurve",
    "aurc",
    "auroc",
    "coverage_at_risk",
    "excess_aurc",
    "risk_coverage_curve",
    "roc_curve",
    "selective_accuracy",
]


@dataclass(frozen=True)
class RiskCoverage:
    """Error among accepted answers against the share accepted, one point for each distinct confidence, highest first.

    Attributes:
        threshold: shape (m,), falling.
        coverage: shape (m,), in (0, 1], rising to 1.
        risk: shape (m,), in [0, 1].
        accepted: shape (m,), number of answers at or above the threshold.
    """

    threshold: FloatArray
    coverage: FloatArray
    risk: FloatArray
    accepted: FloatArray


@dataclass(frozen=True)
class RocCurve:
    """True against false positive rate, one point for each distinct score, highest first, starting at (0, 0)."""

    threshold: FloatArray
    false_positive_rate: FloatArray
    true_positive_rate: FloatArray


def auroc(scores: ArrayLike, positives: ArrayLike) -> float | None:
    """Probability that a positive scores above a negative, ties counting half.

    Args:
        scores: shape (n,).
        positives: shape (n,), 1 or true for positives.

    Returns:
        In [0, 1]; 0.5 is no information. scikit-learn's `roc_auc_score`. None where one class is missing.

    Raises:
        ShapeError: lengths differ or are 0.

    References:
        Hanley and McNeil (1982), Radiology 143(1).
    """
    values, flags = _with_flags(scores, positives)
    n_positive = int(np.count_nonzero(flags))
    n_negative = flags.size - n_positive
    if n_positive == 0 or n_negative == 0:
        return None
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(counts) - (counts - 1) / 2
    rank_sum = float(np.sum(mean_rank[codes][flags]))
    return (rank_sum - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)


def roc_curve(scores: ArrayLike, positives: ArrayLike) -> RocCurve | None:
    """The receiver operating characteristic; None where one class is missing.

    Args:
        scores: shape (n,).
        positives: shape (n,), 1 or true for positives.

    Raises:
        ShapeError: lengths differ or are 0.
    """
    values, flags = _with_flags(scores, positives)
    if flags.all() or not flags.any():
        return None
    threshold, accepted, hits = _tie_steps(values, flags.astype(np.float64))
    start = np.zeros(1)
    return RocCurve(
        threshold=np.concatenate([[np.inf], threshold]),
        false_positive_rate=np.concatenate([start, (accepted - hits) / (flags.size - hits[-1])]),
        true_positive_rate=np.concatenate([start, hits / hits[-1]]),
    )


def risk_coverage_curve(confidence: ArrayLike, errors: ArrayLike) -> RiskCoverage:
    """Error among the answers at or above each distinct confidence.

    Args:
        confidence: shape (n,).
        errors: shape (n,), in [0, 1]; 1 for a wrong answer.

    Raises:
        ShapeError: lengths differ or are 0.

    References:
        El-Yaniv and Wiener (2010), On the Foundations of Noise-free Selective Classification, JMLR 11.
    """
    conf, wrong = as_vectors(confidence, errors, "confidences and errors")
    threshold, accepted, total = _tie_steps(conf, wrong)
    return RiskCoverage(threshold, accepted / conf.size, total / accepted, accepted)


def aurc(confidence: ArrayLike, errors: ArrayLike) -> float:
    """Area under the risk-coverage curve: mean, over n = 1..N, of the error among the n most confident answers.

    Within a tie the expected error over its orders is used, so the value does not depend on the order of rows.

    Args:
        confidence: shape (N,).
        errors: shape (N,), in [0, 1].

    Returns:
        In [0, 1]; lower is better; for constant confidence it is the error rate.

    Raises:
        ShapeError: lengths differ or are 0.

    References:
        Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers, ICLR.
    """
    conf, wrong = as_vectors(confidence, errors, "confidences and errors")
    return float(np.mean(_expected_errors(conf, wrong) / np.arange(1, conf.size + 1)))


def excess_aurc(confidence: ArrayLike, errors: ArrayLike) -> float:
    """`aurc` minus that of a ranking which puts every error last: what better ranking alone could still save.

    Args:
        confidence: shape (N,).
        errors: shape (N,), in [0, 1].

    Returns:
        At least 0; lower is better.

    Raises:
        ShapeError: lengths differ or are 0.
    """
    conf, wrong = as_vectors(confidence, errors, "confidences and errors")
    return max(0.0, aurc(conf, wrong) - aurc(-wrong, wrong))


def selective_accuracy(confidence: ArrayLike, errors: ArrayLike, *, coverage: float) -> float:
    """Accuracy of the most confident share of answers; ties at the edge count in proportion.

    Args:
        confidence: shape (n,).
        errors: shape (n,), in [0, 1].
        coverage: share to answer, in (0, 1]; at least one answer is kept.

    Returns:
        In [0, 1]; higher is better.

    Raises:
        ShapeError: lengths differ or are 0, or the coverage is not in (0, 1].
    """
    conf, wrong = as_vectors(confidence, errors, "confidences and errors")
    if not 0 < coverage <= 1:
        raise ShapeError(f"coverage is {coverage!r}; it must lie in (0, 1]")
    kept = max(1, int(np.ceil(coverage * conf.size - 1e-9)))
    return 1.0 - float(_expected_errors(conf, wrong)[kept - 1]) / kept


def coverage_at_risk(confidence: ArrayLike, errors: ArrayLike, *, risk: float) -> float:
    """Largest share that can be answered with at most this error on these very rows (in-sample, so optimistic).

    Args:
        confidence: shape (n,).
        errors: shape (n,), in [0, 1].
        risk: highest error among accepted answers, in [0, 1].

    Returns:
        In [0, 1]; higher is better; 0 where no threshold keeps within the risk.

    Raises:
        ShapeError: lengths differ or are 0.
    """
    curve = risk_coverage_curve(confidence, errors)
    admissible = curve.risk <= risk + 1e-12
    return float(np.max(curve.coverage[admissible], initial=0.0))


def _with_flags(scores: ArrayLike, positives: ArrayLike) -> tuple[FloatArray, BoolArray]:
    values, flags = as_vectors(scores, positives, "scores and positives")
    return values, flags > 0.5


def _tie_steps(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distinct values, falling; number of rows at or above each; sum of weights at or above each."""
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), ranked.size - 1)
    return ranked[last], (last + 1).astype(np.float64), np.cumsum(weights[order])[last]


def _expected_errors(confidence: FloatArray, errors: FloatArray) -> FloatArray:
    """Expected number of errors among the n most confident, n = 1..N, over random orders within ties."""
    _, accepted, total = _tie_steps(confidence, errors)
    counts = np.arange(1, confidence.size + 1)
    return np.interp(counts, np.concatenate([[0.0], accepted]), np.concatenate([[0.0], total]))
