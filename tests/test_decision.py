from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.decision import Answer, Decision, choice_confidence, confidence, score_confidence, verdict

distributions = st.lists(st.floats(0.001, 1.0), min_size=2, max_size=10).map(lambda w: np.array(w) / np.sum(w))


def answer(question_type: str, keys: tuple[str, ...], probabilities: list[float]) -> Answer:
    array = np.array(probabilities)
    return Answer(question_type, keys, array, np.log(array), confidence(question_type, array))


def test_worked_examples_of_the_confidence_formulas() -> None:
    assert choice_confidence(np.array([0.88, 0.06, 0.06])) == pytest.approx(0.82)
    assert score_confidence(np.array([0.0, 0.95, 0.05])) == pytest.approx(0.925)
    assert confidence("noul", np.array([0.2, 0.8])) == pytest.approx(0.6)
    assert confidence("score", np.array([0.5, 0.0, 0.5])) == 0.0


@given(distributions)
def test_confidence_is_between_uniform_and_certain(probabilities: np.ndarray) -> None:
    for question_type in ("choice", "score"):
        assert 0.0 <= confidence(question_type, probabilities) <= 1.0
    certain = np.zeros_like(probabilities)
    certain[0] = 1.0
    assert confidence("choice", certain) == confidence("score", certain) == pytest.approx(1.0)
    uniform = np.full_like(probabilities, 1 / probabilities.size)
    assert confidence("choice", uniform) == pytest.approx(0.0, abs=1e-12)


def test_values_by_question_type() -> None:
    assert answer("noul", ("false", "true"), [0.3, 0.7]).value == pytest.approx(0.7)
    assert answer("choice", ("a", "b"), [0.3, 0.7]).value == "b"
    assert answer("choice", ("a", "b"), [0.5, 0.5]).key == "a"
    assert answer("score", ("0", "1", "2"), [0.25, 0.25, 0.5]).value == pytest.approx(1.25)


def test_a_verdict_needs_a_threshold_and_reaches_it() -> None:
    probabilities = np.array([0.3, 0.7])
    assert verdict(probabilities, 0.7) == "automate"
    assert verdict(probabilities, 0.71) == "ask"
    assert verdict(probabilities, None) == "ask"


def test_a_decision_is_indexed_by_question_id() -> None:
    only = answer("noul", ("false", "true"), [0.3, 0.7])
    assert Decision({"q": only}, "m", calibrated=False)["q"] is only
