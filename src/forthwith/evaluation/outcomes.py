"""What came of each question: the likeliest option, how probable it was, and whether it was right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forthwith.calibration import Calibration
from forthwith.errors import DataError
from forthwith.evaluation.align import AlignedQuestions
from forthwith.metrics import BoolArray, FloatArray, IntArray

__all__ = ["Outcomes", "check_same_questions", "outcomes"]


@dataclass(frozen=True)
class Outcomes:
    """Per question, in the order of the aligned questions; N of them.

    Attributes:
        probabilities: shape (V,), calibrated, laid out as `AlignedQuestions.scored`.
        predicted: shape (N,), index of the likeliest option, the first of equals.
        confidence: shape (N,), its probability.
        correctness: shape (N,), gold mass on it; 0 or 1 for hard labels.
        is_correct: shape (N,), whether it is the right option; meaningless where ambiguous.
        is_scorable: shape (N,), whether there is one right option.
    """

    probabilities: FloatArray
    predicted: IntArray
    confidence: FloatArray
    correctness: FloatArray
    is_correct: BoolArray
    is_scorable: BoolArray


def outcomes(questions: AlignedQuestions, calibration: Calibration | None = None) -> Outcomes:
    """The outcome of every question, with a calibration or at temperature 1."""
    scored = questions.scored
    probabilities = scored.probabilities(calibration)
    predicted = np.zeros(len(scored), dtype=np.int64)
    confidence = np.zeros(len(scored))
    correctness = np.zeros(len(scored))
    for block in scored.blocks():
        p = probabilities[block.slots]  # (n, K)
        best = np.argmax(p, axis=1)
        rows = np.arange(block.rows.size)
        predicted[block.rows] = best
        confidence[block.rows] = p[rows, best]
        correctness[block.rows] = scored.target[block.slots][rows, best]
    return Outcomes(probabilities, predicted, confidence, correctness, predicted == scored.label, ~scored.is_ambiguous)


def check_same_questions(first: AlignedQuestions, second: AlignedQuestions, names: tuple[str, str]) -> None:
    """Refuse two sets of predictions that do not answer the same questions.

    Raises:
        DataError: with the first question in which they differ.
    """
    one = list(zip(first.record_ids, first.qids, strict=True))
    two = list(zip(second.record_ids, second.qids, strict=True))
    if one != two:
        stray = next(iter(set(one) ^ set(two)), None)
        where = "in another order" if stray is None else f"first difference {stray[0]}/{stray[1]}"
        raise DataError(
            f"{names[0]} and {names[1]} do not answer the same questions ({len(one)} and {len(two)}; {where}); "
            "predict the same file with both"
        )
