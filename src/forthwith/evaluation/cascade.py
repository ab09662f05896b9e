"""Two models in a row: the first answers, and hands its least confident questions to the second.

Thresholds are chosen on other clusters than those they are measured on: shares and accuracies are what a user gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from forthwith.calibration import Calibration
from forthwith.errors import DataError, ShapeError
from forthwith.evaluation.align import AlignedQuestions
from forthwith.evaluation.columns import question_columns
from forthwith.evaluation.compare import check_same_questions

__all__ = [
    "SHARES",
    "CascadeOptions",
    "CascadeQuestions",
    "CascadeReport",
    "HandOffPoint",
    "cascade_questions",
    "measure_cascade",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Shares of questions that are meant to be handed over."""


@dataclass(frozen=True)
class CascadeQuestions:
    """Questions that both models answered and that have one right answer.

    Attributes:
        first_correct, second_correct: shape (N,), whether the model's likeliest option is right.
        first_confidence: shape (N,), the first model's largest probability, in [0, 1].
        families, clusters: N names each.
        first_usd, second_usd: shape (N,), what asking costs; zeros where it is not known.
    """

    first_correct: BoolArray
    second_correct: BoolArray
    first_confidence: FloatArray
    families: Sequence[str]
    clusters: Sequence[str]
    first_usd: FloatArray
    second_usd: FloatArray

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        lengths = {name: len(getattr(self, name)) for name in self.__dataclass_fields__}
        if len(set(lengths.values())) > 1:
            raise ShapeError(f"the questions of a cascade differ in length: {lengths}")
        if not lengths["families"]:
            raise DataError("no question was answered by both models and has one right answer")
        if not np.all(np.isfinite(self.first_confidence)):
            raise DataError("a confidence of the first model is not a number")


@dataclass(frozen=True)
class CascadeOptions:
    """How to measure.

    Attributes:
        shares: shares meant to be handed over.
        folds: clusters are split into so many parts; each part's threshold comes from the others.
        resamples: of the clusters, for the intervals.
        seed: of the split and the resamples.
        error_usd: what a wrong answer costs; with it the cheapest share is named.
    """

    shares: tuple[float, ...] = SHARES
    folds: int = 5
    resamples: int = 2_000
    seed: int = 20260930
    error_usd: float | None = None


class HandOffPoint(BaseModel):
    """One share handed over.

    Attributes:
        target_share: the share the thresholds were chosen for.
        share: the share that was handed over.
        accuracy, low, high: micro accuracy with its 95 % cluster bootstrap interval.
        macro_accuracy, macro_low, macro_high: the same for the mean over families.
        random_accuracy: micro accuracy were the same share handed over at random.
        usd_per_question: cost of asking the first model always and the second for the share.
        total_usd_per_question: the same and the cost of the errors that are left; None without a cost of an error.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    target_share: float
    share: float
    accuracy: float
    low: float
    high: float
    macro_accuracy: float
    macro_low: float
    macro_high: float
    random_accuracy: float
    usd_per_question: float
    total_usd_per_question: float | None = None


class CascadeReport(BaseModel):
    """The hand-off curves of two models: one threshold for all, and one a family.

    Attributes:
        first_accuracy, second_accuracy: micro accuracy of each alone.
        either_accuracy: were the right one of the two always known.
        cheapest: policy and target share of the least total cost; None without a cost of an error.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: str
    second: str
    questions: int
    clusters: int
    first_accuracy: float
    second_accuracy: float
    either_accuracy: float
    one_threshold: list[HandOffPoint]
    threshold_per_family: list[HandOffPoint]
    cheapest: tuple[str, float] | None = None


Policy = Literal["one threshold", "a threshold per family"]


def cascade_questions(
    first: AlignedQuestions,
    second: AlignedQuestions,
    *,
    calibrations: tuple[Calibration | None, Calibration | None] = (None, None),
    usd_per_question: tuple[float, float] = (0.0, 0.0),
) -> CascadeQuestions:
    """The questions with one right answer that both models answered.

    Args:
        first: aligned predictions of the model that is asked always.
        second: aligned predictions of the model that is asked when the first is unsure.
        calibrations: of the first and of the second.
        usd_per_question: what asking the first and the second costs.

    Raises:
        DataError: the two do not answer the same questions, or no question has one right answer.
    """
    check_same_questions(first, second, ("the first model", "the second model"))
    one, two = question_columns(first, calibrations[0]), question_columns(second, calibrations[1])
    rows = np.flatnonzero(one.is_scorable)
    scored = first.scored
    return CascadeQuestions(
        first_correct=one.is_right[rows],
        second_correct=two.is_right[rows],
        first_confidence=one.confidence[rows],
        families=[scored.families[int(code)] for code in scored.family[rows]],
        clusters=[str(code) for code in scored.cluster[rows]],
        first_usd=np.full(rows.size, usd_per_question[0]),
        second_usd=np.full(rows.size, usd_per_question[1]),
    )


def measure_cascade(
    questions: CascadeQuestions, *, first: str, second: str, options: CascadeOptions | None = None
) -> CascadeReport:
    """Accuracy and cost against the share of questions handed to the second model.

    Args:
        questions: what both models did.
        first: name of the first model.
        second: name of the second model.
        options: shares, folds, resamples.

    Raises:
        DataError: fewer clusters than folds.
    """
    options = options or CascadeOptions()
    fold = _folds(questions.clusters, options)
    resampling = _Resampling.of(questions, options)
    curves: dict[Policy, list[HandOffPoint]] = {}
    for policy in ("one threshold", "a threshold per family"):
        curves[policy] = [_point(questions, fold, policy, share, resampling, options) for share in options.shares]
    costs = [
        (point.total_usd_per_question, policy, point.target_share)
        for policy, points in curves.items()
        for point in points
        if point.total_usd_per_question is not None
    ]
    cheapest = min(costs, default=None)
    return CascadeReport(
        first=first,
        second=second,
        questions=len(questions.families),
        clusters=len(set(questions.clusters)),
        first_accuracy=float(questions.first_correct.mean()),
        second_accuracy=float(questions.second_correct.mean()),
        either_accuracy=float((questions.first_correct | questions.second_correct).mean()),
        one_threshold=curves["one threshold"],
        threshold_per_family=curves["a threshold per family"],
        cheapest=None if cheapest is None else cheapest[1:],
    )


@dataclass(frozen=True)
class _Resampling:
    """Cluster weights of every resample, shape (R, C), and each question's cluster and family index."""

    weights: FloatArray
    cluster: IntArray
    family: IntArray
    count: FloatArray

    @classmethod
    def of(cls, questions: CascadeQuestions, options: CascadeOptions) -> _Resampling:
        clusters, cluster = np.unique(np.asarray(questions.clusters), return_inverse=True)
        families, family = np.unique(np.asarray(questions.families), return_inverse=True)
        stream = np.random.default_rng((options.seed, 1))
        weights = stream.multinomial(clusters.size, np.full(clusters.size, 1 / clusters.size), size=options.resamples)
        count = np.zeros((clusters.size, families.size))
        np.add.at(count, (cluster, family), 1.0)
        return cls(weights.astype(np.float64), cluster, family, count)

    def intervals(self, correct: BoolArray) -> tuple[float, float, float, float, float]:
        """Macro accuracy, then the 95 % bounds of the micro and of the macro accuracy."""
        right = np.zeros_like(self.count)
        np.add.at(right, (self.cluster, self.family), correct.astype(np.float64))
        rights, counts = self.weights @ right, self.weights @ self.count  # (R, F)
        micro = rights.sum(axis=1) / counts.sum(axis=1)
        macro = _mean_over_families(rights, counts)
        point = float((right.sum(axis=0) / self.count.sum(axis=0)).mean())
        low, high = np.percentile(micro, [2.5, 97.5]).tolist()
        macro_low, macro_high = np.percentile(macro, [2.5, 97.5]).tolist()
        return point, low, high, macro_low, macro_high


def _mean_over_families(rights: FloatArray, counts: FloatArray) -> FloatArray:
    present = counts > 0
    rates = np.divide(rights, counts, out=np.zeros_like(rights), where=present)
    return rates.sum(axis=1) / present.sum(axis=1)


def _folds(clusters: Sequence[str], options: CascadeOptions) -> IntArray:
    names, index = np.unique(np.asarray(clusters), return_inverse=True)
    if names.size < options.folds:
        raise DataError(
            f"{names.size} clusters are too few to choose thresholds on other data in {options.folds} folds; "
            "give more data or fewer folds"
        )
    order = np.random.default_rng((options.seed, 0)).permutation(names.size)
    return (order % options.folds)[index]


def _point(
    questions: CascadeQuestions,
    fold: IntArray,
    policy: Policy,
    share: float,
    resampling: _Resampling,
    options: CascadeOptions,
) -> HandOffPoint:
    handed = _handed(questions.first_confidence, resampling.family, fold, policy, share)
    correct = np.where(handed, questions.second_correct, questions.first_correct)
    macro, low, high, macro_low, macro_high = resampling.intervals(correct)
    realised, accuracy = float(handed.mean()), float(correct.mean())
    first, second = float(questions.first_correct.mean()), float(questions.second_correct.mean())
    usd = float(questions.first_usd.mean() + (questions.second_usd * handed).mean())
    return HandOffPoint(
        target_share=share,
        share=realised,
        accuracy=accuracy,
        low=low,
        high=high,
        macro_accuracy=macro,
        macro_low=macro_low,
        macro_high=macro_high,
        random_accuracy=first + realised * (second - first),
        usd_per_question=usd,
        total_usd_per_question=None if options.error_usd is None else usd + (1 - accuracy) * options.error_usd,
    )


def _handed(confidence: FloatArray, family: IntArray, fold: IntArray, policy: Policy, share: float) -> BoolArray:
    """Which questions go to the second model: those below the threshold that the other folds give for the share."""
    if share <= 0 or share >= 1:
        return np.full(confidence.shape, share >= 1)
    group = np.zeros_like(family) if policy == "one threshold" else family
    handed = np.zeros(confidence.shape, dtype=bool)
    for part in np.unique(fold):
        for kind in np.unique(group[fold == part]):
            here = (fold == part) & (group == kind)
            others = confidence[(fold != part) & (group == kind)]
            if not others.size:  # a family seen nowhere else: use everything that other folds hold
                others = confidence[fold != part]
            handed[here] = confidence[here] < np.quantile(others, share)
    return handed
