"""One value a question: what every metric, comparison and curve is made from."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from forthwith.calibration import Calibration
from forthwith.calibration.scored import QUESTION_TYPES
from forthwith.evaluation.align import AlignedQuestions
from forthwith.metrics import (
    BoolArray,
    FloatArray,
    IntArray,
    brier_score,
    expected_level,
    nll,
    ranked_probability_score,
    total_variation_distance,
)

__all__ = ["QuestionColumns", "question_columns"]


@dataclass(frozen=True)
class QuestionColumns:
    """Shape (N,) each.

    Attributes:
        predicted: index of the likeliest option (the first of equals).
        label: index of the right option.
        n_options: number of options.
        is_score: whether the options are ordered levels.
        is_scorable: whether there is one right option.
        is_soft: whether several options have a gold share.
        is_right: predicted equals label; meaningless where not scorable.
        confidence: largest probability.
        correctness: gold share of the predicted option.
        nll: nats.
        brier_score: in [0, 2].
        tvd: total variation distance to the gold shares.
        rps: ranked probability score, NaN where not a score.
        expected_level: NaN where not a score.
        threshold: least confidence to automate; infinite where always to ask, NaN without thresholds.
        family: index into the families.
        cluster: codes.
    """

    predicted: IntArray
    label: IntArray
    n_options: IntArray
    is_score: BoolArray
    is_scorable: BoolArray
    is_soft: BoolArray
    is_right: BoolArray
    confidence: FloatArray
    correctness: FloatArray
    nll: FloatArray
    brier_score: FloatArray
    tvd: FloatArray
    rps: FloatArray
    expected_level: FloatArray
    threshold: FloatArray
    family: IntArray
    cluster: IntArray

    def take(self, rows: IntArray | BoolArray) -> QuestionColumns:
        """The given rows only."""
        return QuestionColumns(**{item.name: getattr(self, item.name)[rows] for item in fields(self)})

    @property
    def is_automated(self) -> BoolArray:
        """Whether the confidence reaches the threshold in force; false throughout without thresholds."""
        return self.confidence >= self.threshold

    def __len__(self) -> int:
        """Number of questions."""
        return self.predicted.size


def question_columns(aligned: AlignedQuestions, calibration: Calibration | None = None) -> QuestionColumns:
    """Apply a calibration and reduce every question to single numbers."""
    scored = aligned.scored
    n = len(scored)
    probabilities = scored.probabilities(calibration)
    predicted = np.zeros(n, dtype=np.int64)
    values = {name: np.full(n, np.nan) for name in ("confidence", "correctness", "nll", "brier", "tvd", "rps", "level")}
    threshold = np.full(n, np.nan)
    soft = np.zeros(n, dtype=np.bool_)
    for block in scored.blocks():
        rows, p, target = block.rows, probabilities[block.slots], scored.target[block.slots]
        every = np.arange(rows.size)
        predicted[rows] = best = np.argmax(p, axis=1)
        values["confidence"][rows] = np.minimum(p[every, best], 1.0)
        values["correctness"][rows] = target[every, best]
        soft[rows] = np.max(target, axis=1) < 1 - 1e-9
        values["nll"][rows] = nll(p, target)
        values["brier"][rows] = brier_score(p, target)
        values["tvd"][rows] = total_variation_distance(p, target)
        if block.type == "score":
            values["rps"][rows] = ranked_probability_score(p, target)
            values["level"][rows] = expected_level(p)
        if calibration is not None and calibration.thresholds is not None:
            in_force = calibration.thresholds.threshold(block.type, block.family)
            threshold[rows] = np.inf if in_force is None else in_force
    return QuestionColumns(
        predicted=predicted,
        label=scored.label,
        n_options=scored.n_options,
        is_score=scored.types == QUESTION_TYPES.index("score"),
        is_scorable=~scored.is_ambiguous,
        is_soft=soft,
        is_right=predicted == scored.label,
        confidence=values["confidence"],
        correctness=values["correctness"],
        nll=values["nll"],
        brier_score=values["brier"],
        tvd=values["tvd"],
        rps=values["rps"],
        expected_level=values["level"],
        threshold=threshold,
        family=scored.family,
        cluster=scored.cluster,
    )
