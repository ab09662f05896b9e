"""Did a second run of the same model give the same answers? For another machine, another library, another batch size."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from pydantic import BaseModel, ConfigDict

from forthwith.errors import DataError
from forthwith.evaluation.predictions import Prediction

__all__ = ["PROBABILITY_TOLERANCE", "Reproduction", "reproduce"]

PROBABILITY_TOLERANCE = 0.05
"""A probability that moves by more is no rounding."""

_SHOWN = 20


class Reproduction(BaseModel):
    """Two prediction files beside each other.

    Attributes:
        changed_answers: questions whose likeliest option differs, `changed` the first of them as record/question.
        largest_gap_of_changed: how far the two likeliest options of the first run lay apart, at most, where the answer
            changed; small gaps are near ties. None where none changed.
        mean_log_score_difference, max_log_score_difference: of log-scores less their largest, in nats.
        mean_probability_difference, max_probability_difference: at temperature 1.
        is_reproduced: no answer changed and no probability moved by more than 0.05.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    questions: int
    changed_answers: int
    changed: list[str]
    largest_gap_of_changed: float | None
    mean_log_score_difference: float
    max_log_score_difference: float
    mean_probability_difference: float
    max_probability_difference: float
    is_reproduced: bool


def reproduce(first: Iterable[Prediction], second: Iterable[Prediction]) -> Reproduction:
    """Compare two runs question by question.

    Args:
        first: the run to be reproduced.
        second: the run that should give the same, in any order.

    Raises:
        DataError: the two do not answer the same questions with the same options, or there are none.
    """
    again = {(line.id, line.qid): line for line in second}
    changed: list[str] = []
    gaps: list[float] = []
    log_scores: list[float] = []
    probabilities: list[float] = []
    count = 0
    for line in first:
        count += 1
        other = again.pop((line.id, line.qid), None)
        if other is None or other.options != line.options:
            what = "no answer" if other is None else "other options"
            raise DataError(f"the second run has {what} for {line.id}/{line.qid}; predict the same file")
        one, two = _scaled(line), _scaled(other)
        p, q = np.exp(one) / np.exp(one).sum(), np.exp(two) / np.exp(two).sum()
        log_scores += np.abs(one - two).tolist()
        probabilities += np.abs(p - q).tolist()
        if int(np.argmax(one)) != int(np.argmax(two)):
            changed.append(f"{line.id}/{line.qid}")
            low, high = np.sort(p)[-2:].tolist()
            gaps.append(high - low)
    if again:
        stray = next(iter(again))
        raise DataError(f"the second run answers {len(again)} more questions (first {stray[0]}/{stray[1]})")
    if not count:
        raise DataError("there are no predictions to compare")
    return Reproduction(
        questions=count,
        changed_answers=len(changed),
        changed=changed[:_SHOWN],
        largest_gap_of_changed=max(gaps, default=None),
        mean_log_score_difference=float(np.mean(log_scores)),
        max_log_score_difference=max(log_scores),
        mean_probability_difference=float(np.mean(probabilities)),
        max_probability_difference=max(probabilities),
        is_reproduced=not changed and max(probabilities) <= PROBABILITY_TOLERANCE,
    )


def _scaled(line: Prediction) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Log-scores less their largest: a constant added to all of them changes no answer."""
    scores = np.array(line.log_scores, dtype=np.float64)
    return scores - scores.max()
