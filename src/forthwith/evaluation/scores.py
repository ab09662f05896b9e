"""All metrics of one group of questions."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from statsmodels.stats.proportion import proportion_confint  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

from forthwith.evaluation.columns import QuestionColumns
from forthwith.evaluation.results import Scores
from forthwith.metrics import (
    aurc,
    auroc,
    balanced_accuracy,
    coverage_at_risk,
    debiased_ece,
    ece,
    excess_aurc,
    majority_share,
    mean_absolute_error,
    quadratic_weighted_kappa,
    selective_accuracy,
)

__all__ = ["group_scores"]


def group_scores(columns: QuestionColumns, error_budget: float) -> Scores:
    """Metrics of a group with at least one question.

    Ambiguous questions enter only the proper scores and calibration errors that do not end in `_scorable`.
    """
    scorable = columns.take(columns.is_scorable)
    return Scores(
        n_questions=len(columns),
        n_scorable=len(scorable),
        n_ambiguous=len(columns) - len(scorable),
        n_clusters=int(np.unique(columns.cluster).size),
        **_probability_scores(columns),
        **(_answer_scores(scorable, error_budget) if len(scorable) else {}),
        **(_automation(scorable) if len(scorable) else {}),
        **_level_scores(columns.take(columns.is_score)),
    )


def _probability_scores(columns: QuestionColumns) -> dict[str, Any]:
    confidence, correctness = columns.confidence, columns.correctness
    debiased = debiased_ece(confidence, correctness, n_bins=15, clusters=columns.cluster)
    brier = float(columns.brier_score.mean())
    return {
        "nll": float(columns.nll.mean()),
        "brier_score": brier,
        "half_brier_score": brier / 2,
        "ece_15": ece(confidence, correctness, n_bins=15),
        "ece_15_right_closed": ece(confidence, correctness, n_bins=15, closed="right"),
        "ece_10": ece(confidence, correctness, n_bins=10),
        "ece_debiased": debiased.estimate,
        "ece_debiased_low": debiased.low,
        "ece_debiased_high": debiased.high,
        "total_variation_distance": float(columns.tvd.mean()) if columns.is_soft.any() else None,
    }


def _answer_scores(scorable: QuestionColumns, error_budget: float) -> dict[str, Any]:
    wrong, confidence = ~scorable.is_right, scorable.confidence
    low, high = _accuracy_interval(scorable)
    one_length = np.unique(scorable.n_options).size == 1
    return {
        "accuracy": float(scorable.is_right.mean()),
        "accuracy_low": low,
        "accuracy_high": high,
        "balanced_accuracy": balanced_accuracy(scorable.predicted, scorable.label) if one_length else None,
        "majority_share": majority_share(scorable.label),
        "nll_scorable": float(scorable.nll.mean()),
        "brier_score_scorable": float(scorable.brier_score.mean()),
        "ece_15_scorable": ece(confidence, scorable.correctness, n_bins=15),
        "auroc_confidence": auroc(confidence, scorable.is_right),
        "aurc": aurc(confidence, wrong),
        "excess_aurc": excess_aurc(confidence, wrong),
        "selective_accuracy_50": selective_accuracy(confidence, wrong, coverage=0.5),
        "coverage_in_sample": coverage_at_risk(confidence, wrong, risk=error_budget),
    }


def _automation(scorable: QuestionColumns) -> dict[str, Any]:
    if np.all(np.isnan(scorable.threshold)):
        return {}
    automated = scorable.is_automated
    n, errors = int(automated.sum()), int((automated & ~scorable.is_right).sum())
    return {
        "n_automated": n,
        "n_automated_errors": errors,
        "coverage": n / len(scorable),
        "realised_error": errors / n if n else None,
    }


def _level_scores(levels: QuestionColumns) -> dict[str, Any]:
    """Ordered questions only; none where the group has no such questions."""
    if not len(levels):
        return {}
    scorable = levels.take(levels.is_scorable)
    found: dict[str, Any] = {"ranked_probability_score": float(levels.rps.mean())}
    if len(scorable):
        found["mean_absolute_error"] = mean_absolute_error(scorable.predicted, scorable.label)
        found["mean_absolute_error_expected"] = mean_absolute_error(scorable.expected_level, scorable.label)
        if np.unique(scorable.n_options).size == 1:
            n_levels = int(scorable.n_options[0])
            found["quadratic_weighted_kappa"] = quadratic_weighted_kappa(
                scorable.predicted, scorable.label, n_levels=n_levels
            )
    return found


def _accuracy_interval(scorable: QuestionColumns) -> tuple[float, float]:
    """95 % Wilson interval with the number of questions divided by the clusters' design effect (at least 1)."""
    right = scorable.is_right.astype(np.float64)
    n, mean = right.size, float(right.mean())
    sums = np.bincount(np.unique(scorable.cluster, return_inverse=True)[1], weights=right - mean)
    clustered = float(sums @ sums) * sums.size / max(1, sums.size - 1)
    independent = n * mean * (1 - mean)
    effect = max(1.0, clustered / independent) if independent > 0 else 1.0
    low, high = cast(  # numbers in, numbers out
        "tuple[float, float]", proportion_confint(mean * n / effect, n / effect, alpha=0.05, method="wilson")
    )
    return float(low), float(high)
