"""Two runs side by side."""

from __future__ import annotations

import math

import pytest

from forthwith.errors import DataError
from forthwith.evaluation.predictions import Prediction
from forthwith.evaluation.reproduce import reproduce


def line(name: str, *scores: float, options: str = "ab") -> Prediction:
    return Prediction(
        id=name, qid="q", type="choice", family="f", options=list(options[: len(scores)]), readout="label",
        log_scores=list(scores), probabilities=[0.5] * len(scores),
    )  # fmt: skip


def test_the_same_answers_in_another_order_and_scale_are_reproduced() -> None:
    first = [line("r0", 0.0, -1.0), line("r1", -2.0, -1.0)]
    second = [line("r1", 1.0, 2.0), line("r0", -5.0, -6.0)]
    found = reproduce(first, second)
    assert found.is_reproduced
    assert (found.changed_answers, found.max_probability_difference) == (0, 0)
    assert found.largest_gap_of_changed is None


def test_a_changed_near_tie_is_named_with_its_gap() -> None:
    found = reproduce([line("r0", 0.02, 0.0), line("r1", 1.0, 0.0)], [line("r0", 0.0, 0.02), line("r1", 1.0, 0.0)])
    assert found.changed == ["r0/q"]
    assert found.largest_gap_of_changed == pytest.approx(math.tanh(0.01))
    assert found.max_log_score_difference == pytest.approx(0.02)
    assert not found.is_reproduced


def test_a_probability_that_moves_too_far_is_not_reproduced() -> None:
    found = reproduce([line("r0", 1.0, 0.0)], [line("r0", 2.0, 0.0)])
    assert found.changed_answers == 0
    assert found.max_probability_difference == pytest.approx(1 / (1 + math.exp(-2)) - 1 / (1 + math.exp(-1)))
    assert not found.is_reproduced


def test_other_questions_are_refused() -> None:
    with pytest.raises(DataError, match=r"no answer for r1/q"):
        reproduce([line("r1", 0.0, 1.0)], [line("r0", 0.0, 1.0)])
    with pytest.raises(DataError, match=r"other options for r0/q"):
        reproduce([line("r0", 0.0, 1.0)], [line("r0", 0.0, 1.0, options="ba")])
    with pytest.raises(DataError, match=r"1 more questions .first r1/q"):
        reproduce([line("r0", 0.0, 1.0)], [line("r0", 0.0, 1.0), line("r1", 0.0, 1.0)])
    with pytest.raises(DataError, match="no predictions"):
        reproduce([], [])
