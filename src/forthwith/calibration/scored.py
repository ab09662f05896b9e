"""Answered questions with known answers, as columns: what calibration is fitted on and metrics are taken from.

Options differ in number from question to question, so their values lie end to end in one array, and arithmetic runs on
blocks of questions with equally many options.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from forthwith.calibration.apply import Calibration, FloatArray, QuestionType
from forthwith.errors import DataError

__all__ = ["QUESTION_TYPES", "Block", "ScoredQuestion", "ScoredQuestions"]

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

QUESTION_TYPES: tuple[QuestionType, ...] = ("noul", "choice", "score")


class ScoredQuestion(NamedTuple):
    """One answered question: log-scores (nats) and gold distribution over its K options, and what it belongs to."""

    type: QuestionType
    family: str
    cluster: str
    log_scores: list[float]
    target: tuple[float, ...]
    label: int
    is_ambiguous: bool = False


class Block(NamedTuple):
    """Questions with equally many options, one type and one family.

    `rows` (n,) are their places among all questions, `slots` (n, K) the places of their options among all options.
    """

    rows: IntArray
    slots: IntArray
    type: QuestionType
    family: str


@dataclass(frozen=True)
class ScoredQuestions:
    """N questions with V options in all.

    Attributes:
        log_scores: shape (V,), nats, before temperature.
        target: shape (V,), gold distribution of each question.
        starts: shape (N + 1,), where each question's options begin.
        types: shape (N,), index into `QUESTION_TYPES`.
        family: shape (N,), index into `families`.
        cluster: shape (N,), equal for questions that are not independent.
        label: shape (N,), index of the right option.
        is_ambiguous: shape (N,), whether options tie for the largest gold share.
        families: names, sorted.
    """

    log_scores: FloatArray
    target: FloatArray
    starts: IntArray
    types: IntArray
    family: IntArray
    cluster: IntArray
    label: IntArray
    is_ambiguous: BoolArray
    families: tuple[str, ...]

    @classmethod
    def from_rows(cls, rows: Iterable[ScoredQuestion]) -> ScoredQuestions:
        """Columns from single questions.

        Raises:
            DataError: there are none, or a log-score is not finite.
        """
        listed = list(rows)
        if not listed:
            raise DataError("there are no answered questions with a target; check that the records carry targets")
        families = sorted({row.family for row in listed})
        codes = {name: code for code, name in enumerate(families)}
        log_scores = np.array([value for row in listed for value in row.log_scores], dtype=np.float64)
        if not np.all(np.isfinite(log_scores)):
            raise DataError("a log-score is NaN or infinite; score the data again")
        return cls(
            log_scores=log_scores,
            target=np.array([value for row in listed for value in row.target], dtype=np.float64),
            starts=np.cumsum([0, *(len(row.log_scores) for row in listed)]).astype(np.int64),
            types=np.array([QUESTION_TYPES.index(row.type) for row in listed], dtype=np.int64),
            family=np.array([codes[row.family] for row in listed], dtype=np.int64),
            cluster=np.unique(np.array([row.cluster for row in listed]), return_inverse=True)[1].astype(np.int64),
            label=np.array([row.label for row in listed], dtype=np.int64),
            is_ambiguous=np.array([row.is_ambiguous for row in listed], dtype=np.bool_),
            families=tuple(families),
        )

    def __len__(self) -> int:
        """Number of questions."""
        return self.types.size

    @property
    def n_options(self) -> IntArray:
        """Shape (N,), number of options of each question."""
        return np.diff(self.starts)

    def take(self, rows: IntArray | BoolArray) -> ScoredQuestions:
        """The given questions only, in the given order; family and cluster codes stay as they are."""
        chosen = np.arange(len(self))[rows]
        sizes = self.n_options[chosen]
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        shifts = np.repeat(self.starts[chosen] - starts[:-1], sizes)
        slots = shifts + cast("IntArray", np.arange(starts[-1]))
        return ScoredQuestions(
            log_scores=self.log_scores[slots],
            target=self.target[slots],
            starts=starts,
            types=self.types[chosen],
            family=self.family[chosen],
            cluster=self.cluster[chosen],
            label=self.label[chosen],
            is_ambiguous=self.is_ambiguous[chosen],
            families=self.families,
        )

    def blocks(self) -> Iterator[Block]:
        """The questions, grouped by number of options, type and family, so that each group is one matrix."""
        if not len(self):
            return
        keys = np.stack([self.n_options, self.types, self.family])
        order = np.lexsort(keys)
        ordered = keys[:, order]
        edges = np.flatnonzero(np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)) + 1
        for rows in np.split(order, edges):
            first = int(rows[0])
            slots = self.starts[rows][:, None] + cast("IntArray", np.arange(self.n_options[first]))
            family = self.families[int(self.family[first])]
            yield Block(rows, slots, QUESTION_TYPES[int(self.types[first])], family)

    def probabilities(self, calibration: Calibration | None = None) -> FloatArray:
        """Distributions over the options, shape (V,), by `Calibration.probabilities`; at temperature 1 without one."""
        result = np.empty_like(self.log_scores)
        applied = calibration or _identity()
        for block in self.blocks():
            result[block.slots] = applied.probabilities(self.log_scores[block.slots], block.type, block.family)
        return result


def _identity() -> Calibration:
    nothing = {"weights_sha256": "", "adapter_sha256": None, "template_sha256": "", "readout": "", "precision": ""}
    return Calibration.model_validate({"binding": nothing})
