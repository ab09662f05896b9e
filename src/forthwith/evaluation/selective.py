"""Thresholds with a guarantee: the largest share of a family that may be automated within an error budget.

A threshold is a claim about answers yet to come, chosen after looking at answers seen. Choosing the best of many
claims spoils an ordinary confidence bound, so thresholds are tested one after another in an order fixed before any
error is looked at, and testing stops at the first that fails (learn then test, fixed sequence). Each test is the
one-sided exact binomial test, which rejects exactly when the Clopper-Pearson upper bound of the error lies within the
budget. Answers about one user are not independent; the test counts them as fewer answers, by their design effect.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, cast

import numpy as np
from scipy.optimize import brentq  # pyright: ignore[reportUnknownVariableType]  # SciPy ships no types
from scipy.special import betainc, betaincinv  # pyright: ignore[reportUnknownVariableType]  # SciPy ships no types

from forthwith.calibration import Calibration, FloatArray, ScoredQuestions, Thresholds
from forthwith.calibration.scored import QUESTION_TYPES
from forthwith.errors import ConfigError
from forthwith.evaluation.design_effect import intra_cluster_correlation, size_biased_mean
from forthwith.metrics import BoolArray, IntArray, risk_coverage_curve

__all__ = [
    "FamilyThreshold",
    "SelectiveAnswers",
    "ThresholdConfig",
    "fit_threshold",
    "fit_thresholds",
    "plain_threshold",
    "selective_answers",
    "upper_error_bound",
]


@dataclass(frozen=True)
class ThresholdConfig:
    """What is promised, and how it is tested.

    Attributes:
        error_budget: largest share of wrong answers among the automated ones, in (0, 1).
        confidence_level: probability, over calibration data, that the promise holds.
        families: "each" promises for every family by itself; "all" for all families at once (Bonferroni).
        clusters: "design_effect" estimates how much answers of one cluster repeat each other; "one_each" counts all
            answers of a cluster as one; "independent" takes every answer as new.
        grid_points: number of coverages at which a threshold is tested.
        fallback: give each question type a threshold for families that calibration data do not have.
    """

    error_budget: float = 0.05
    confidence_level: float = 0.95
    families: Literal["each", "all"] = "each"
    clusters: Literal["design_effect", "one_each", "independent"] = "design_effect"
    grid_points: int = 40
    fallback: bool = True

    def check(self) -> None:
        """Refuse what cannot be promised.

        Raises:
            ConfigError: names the field.
        """
        for name in ("error_budget", "confidence_level"):
            if not 0 < getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)!r}; it must lie between 0 and 1", name)
        if self.grid_points < 1:
            raise ConfigError(f"grid_points is {self.grid_points!r}; use at least 1", "grid_points")


@dataclass(frozen=True)
class FamilyThreshold:
    """What may be automated in one family, and the evidence.

    Attributes:
        threshold: least confidence to automate; None means always ask.
        n_questions: questions with a right answer.
        n_clusters: independent groups among them.
        n_errors: wrong answers among all of them.
        coverage: share at or above the threshold; 0 without one.
        error: share wrong among those; None without a threshold.
        upper_bound: upper limit of that error at the level of its test; None without a threshold.
        design_effect: how many answers count as one; at least 1.
        labels_missing: rough number of further labels with which a threshold could be promised, if errors go on as
            seen; 0 with a threshold; None if no share of the answers seen has an error clearly below the budget.
        plain_threshold: the lowest confidence whose observed error is within the budget, without any promise.
    """

    threshold: float | None
    n_questions: int
    n_clusters: int
    n_errors: int
    coverage: float
    error: float | None
    upper_bound: float | None
    design_effect: float
    labels_missing: int | None
    plain_threshold: float | None


@dataclass(frozen=True)
class SelectiveAnswers:
    """Confidence and error of questions that have a right answer; all of shape (n,)."""

    confidence: FloatArray
    is_wrong: BoolArray
    cluster: IntArray

    def take(self, rows: IntArray | BoolArray) -> SelectiveAnswers:
        """The given rows only."""
        return SelectiveAnswers(self.confidence[rows], self.is_wrong[rows], self.cluster[rows])


def selective_answers(questions: ScoredQuestions, calibration: Calibration | None) -> SelectiveAnswers:
    """Confidence (largest calibrated probability) and error of every question, ambiguous ones included."""
    probabilities = questions.probabilities(calibration)
    confidence = np.maximum.reduceat(probabilities, questions.starts[:-1])
    first_best = np.empty(len(questions), dtype=np.int64)
    for block in questions.blocks():
        first_best[block.rows] = np.argmax(probabilities[block.slots], axis=1)
    return SelectiveAnswers(confidence, first_best != questions.label, questions.cluster)


def fit_thresholds(
    questions: ScoredQuestions, calibration: Calibration | None, config: ThresholdConfig | None = None
) -> Thresholds:
    """A threshold for each family, and for each question type as a fallback, that keeps the error within the budget.

    With probability `confidence_level` over the calibration data, the error among future automated answers of a family
    is at most `error_budget`, if future questions come as these did (exchangeable users) and error does not rise with
    confidence. Ambiguous questions take no part.

    Raises:
        ConfigError: an impossible budget, level or grid.
    """
    config = config or ThresholdConfig()
    config.check()
    usable = questions.take(~questions.is_ambiguous)
    answers = selective_answers(usable, calibration)
    pooled = intra_cluster_correlation(answers.is_wrong, answers.cluster, usable.family)
    present = [code for code in range(len(usable.families)) if np.any(usable.family == code)]
    level = 1 - (1 - config.confidence_level) / (len(present) if config.families == "all" else 1)
    found: dict[str, FamilyThreshold] = {}
    types: dict[str, set[int]] = {}
    for code in present:
        rows = usable.family == code
        found[usable.families[code]] = fit_threshold(answers.take(rows), config, level, pooled)
        for kind in np.unique(usable.types[rows]):
            types.setdefault(QUESTION_TYPES[int(kind)], set()).add(code)
    by_type: dict[str, float | None] = {}
    for kind, codes in types.items() if config.fallback else ():
        rows = usable.types == QUESTION_TYPES.index(kind)  # pyright: ignore[reportArgumentType]
        pooled_fit = fit_threshold(answers.take(rows), config, config.confidence_level, pooled)
        by_type[kind] = _fallback(pooled_fit, [found[usable.families[code]] for code in sorted(codes)])
    return Thresholds(
        error_budget=config.error_budget,
        confidence_level=config.confidence_level,
        method="fixed-sequence-clopper-pearson",
        by_family={name: fit.threshold for name, fit in found.items()},
        by_type=by_type,
        details={
            "config": asdict(config),
            "families": {name: asdict(fit) for name, fit in found.items()},
            "pooled_plain_threshold": plain_threshold(answers.confidence, answers.is_wrong, config.error_budget),
        },
    )


def _fallback(pooled: FamilyThreshold, members: list[FamilyThreshold]) -> float | None:
    """The pooled threshold, not below any member's; none where a member must always ask."""
    thresholds = [pooled.threshold, *(member.threshold for member in members)]
    known = [value for value in thresholds if value is not None]
    return max(known) if len(known) == len(thresholds) else None


def fit_threshold(
    answers: SelectiveAnswers, config: ThresholdConfig, confidence_level: float, pooled_correlation: float | None = None
) -> FamilyThreshold:
    """The lowest threshold of one family whose error is shown to be within the budget.

    Args:
        answers: n questions with a right answer.
        config: the promise.
        confidence_level: of this family's promise.
        pooled_correlation: correlation of errors within a cluster, used where this family has too few errors to tell.
    """
    n = answers.confidence.size
    curve = risk_coverage_curve(answers.confidence, answers.is_wrong)
    alpha = 1 - confidence_level
    correlation = _correlation(answers, config, pooled_correlation)
    effects = _design_effects(answers, curve.threshold, correlation)
    errors = curve.risk * curve.accepted
    steps = _sequence(curve.accepted / effects, config, alpha)
    effective = curve.accepted[steps] / effects[steps]
    p_values = _p_value(effective, errors[steps] / effects[steps], config.error_budget)
    failed = np.flatnonzero(p_values > alpha)
    n_passed = int(failed[0]) if failed.size else p_values.size
    plain = plain_threshold(answers.confidence, answers.is_wrong, config.error_budget)
    common = (n, int(np.unique(answers.cluster).size), int(answers.is_wrong.sum()))
    if n_passed == 0:
        first = int(steps[0]) if steps.size else 0
        missing = _labels_missing(curve.accepted[first:], errors[first:], effects[first:], config, alpha)
        return FamilyThreshold(None, *common, 0.0, None, None, float(effects[-1]), missing, plain)
    place = int(steps[n_passed - 1])
    effect = float(effects[place])
    bound = upper_error_bound(curve.accepted[place] / effect, errors[place] / effect, confidence_level)
    return FamilyThreshold(
        float(curve.threshold[place]),
        *common,
        float(curve.coverage[place]),
        float(curve.risk[place]),
        bound,
        effect,
        0,
        plain,
    )


def plain_threshold(confidence: FloatArray, is_wrong: BoolArray, error_budget: float) -> float | None:
    """The lowest confidence at or above which the observed error is within the budget: the reference method's rule.

    Nothing is promised about new answers. None where no confidence qualifies.

    Args:
        confidence: shape (n,).
        is_wrong: shape (n,).
        error_budget: largest observed error.
    """
    curve = risk_coverage_curve(confidence, is_wrong)
    errors = np.rint(curve.risk * curve.accepted)
    admissible = np.flatnonzero(errors <= error_budget * curve.accepted + 1e-12)
    return float(curve.threshold[admissible[-1]]) if admissible.size else None


def upper_error_bound(n: float, errors: float, confidence_level: float) -> float:
    """One-sided upper limit of an error share.

    Args:
        n: answers; may be an effective, fractional number.
        errors: wrong among them.
        confidence_level: probability that the limit lies above the true share.

    Returns:
        In (0, 1]. Example: no error in 59 answers gives 0.0495 at 0.95.

    References:
        Clopper and Pearson (1934), Biometrika 26; Korn and Graubard (1998), Survey Methodology 24 (effective numbers).
    """
    return 1.0 if errors >= n else float(betaincinv(errors + 1, n - errors, confidence_level))


def _p_value(n: FloatArray, errors: FloatArray, budget: float) -> FloatArray:
    """Probability of so few errors if the true error were the budget."""
    return np.asarray(betainc(np.maximum(n - errors, 1e-9), errors + 1, 1 - budget), dtype=np.float64)


def _least_count(errors: int, budget: float, alpha: float) -> float:
    """Number of answers, with so many errors, at which the upper bound of the error just meets the budget."""
    if errors == 0:
        return float(np.log(alpha) / np.log1p(-budget))

    def excess(n: float) -> float:
        return upper_error_bound(n, errors, 1 - alpha) - budget

    return cast("float", brentq(excess, errors + 1e-9, _MOST_LABELS))


_MOST_LABELS = 1e9


def _correlation(answers: SelectiveAnswers, config: ThresholdConfig, pooled: float | None) -> float:
    if config.clusters == "independent":
        return 0.0
    if config.clusters == "one_each":
        return 1.0
    own = intra_cluster_correlation(answers.is_wrong, answers.cluster)
    known = own if own is not None else pooled
    return 1.0 if known is None else known  # nothing known: a cluster counts once


def _design_effects(answers: SelectiveAnswers, thresholds: FloatArray, correlation: float) -> FloatArray:
    """At each threshold, 1 + (size-biased mean cluster size - 1)·correlation among the answers at or above it."""
    if correlation == 0.0:
        return np.ones(thresholds.size)
    return 1 + (size_biased_mean(answers.confidence, answers.cluster, thresholds) - 1) * correlation


def _sequence(effective: FloatArray, config: ThresholdConfig, alpha: float) -> IntArray:
    """Places on the curve to test, highest confidence first, evenly by number of answers.

    Depends on confidences and clusters, never on errors. The first place has answers enough to bear up to four errors,
    as many as it can while no more than half of all answers stand before it: one slip among the very surest
    answers would otherwise end the sequence at its beginning.
    """
    n = effective[-1]
    starts = [_least_count(errors, config.error_budget, alpha) for errors in range(5)]
    if n < starts[0]:
        return np.zeros(0, dtype=np.int64)
    start = max([starts[0], *(count for count in starts if count <= n * 2 / 3)])
    wanted = cast("FloatArray", np.linspace(start, n, config.grid_points))
    return np.unique(np.searchsorted(np.maximum.accumulate(effective), wanted - 1e-9))


_TELLING_COUNT = 20
"""Fewest effective answers from which the further need of labels is projected."""


def _labels_missing(
    accepted: FloatArray, errors: FloatArray, effects: FloatArray, config: ThresholdConfig, alpha: float
) -> int | None:
    n = accepted[-1]
    share = (errors + 0.5) / (accepted + 1)
    is_below = (share < 0.9 * config.error_budget) & (accepted / effects >= _TELLING_COUNT)
    share = np.where(errors == 0, 0.0, share)
    needed: list[float] = []
    for place in np.flatnonzero(is_below):
        count = _needed_count(float(share[place]), config.error_budget, alpha)
        needed.append(count * effects[place] / (accepted[place] / n))
    return None if not needed else max(1, int(np.ceil(min(needed) - n)))


def _needed_count(share: float, budget: float, alpha: float) -> float:
    """Smallest number of answers at which a share of errors is shown to be within the budget."""
    low = high = _least_count(0, budget, alpha)
    while float(_p_value(np.array(high), np.array(share * high), budget)) > alpha:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) / 2
        is_enough = float(_p_value(np.array(middle), np.array(share * middle), budget)) <= alpha
        low, high = (low, middle) if is_enough else (middle, high)
    return high
