"""The numbers behind the pictures, on four questions worked by hand."""

from __future__ import annotations

import math

import pytest

from forthwith.calibration import Binding, Calibration, Thresholds
from forthwith.evaluation.align import AlignedQuestions, align
from forthwith.evaluation.predictions import Prediction
from forthwith.evaluation.report.figures import add_texts, model_figures
from forthwith.schema import Record, parse_record

KEYS = ["a", "b"]
# (right option, probability of a): right at .9, wrong at .8, right at .6, a tie
QUESTIONS = [("a", 0.9), ("b", 0.8), ("b", 0.4), (None, 0.7)]


def records() -> list[Record]:
    return [
        parse_record(
            {
                "id": f"r{n}",
                "task": "pick",
                "state": {"text": f"state {n}"},
                "questions": {
                    "q": {"type": "choice", "instructions": f"Which {n}?", "criteria": {"a": None, "b": None}}
                },
                "targets": {"q": {"label": label} if label else {"distribution": {"a": 0.5, "b": 0.5}}},
            }
        )
        for n, (label, _) in enumerate(QUESTIONS)
    ]


def aligned() -> AlignedQuestions:
    predictions = [
        Prediction(
            id=f"r{n}", qid="q", type="choice", family="pick", options=KEYS, readout="label",
            log_scores=[math.log(p), math.log(1 - p)], probabilities=[p, 1 - p],
        )
        for n, (_, p) in enumerate(QUESTIONS)
    ]  # fmt: skip
    return align(predictions, records())


def test_reliability_counts_ties_by_their_share_and_risk_leaves_them_out() -> None:
    figures = model_figures("m", aligned())
    assert [(item.count, item.confidence, item.correctness) for item in figures.overall.reliability] == [
        (1, pytest.approx(0.6), 1.0),
        (1, pytest.approx(0.7), 0.5),
        (1, pytest.approx(0.8), 0.0),
        (1, pytest.approx(0.9), 1.0),
    ]
    assert [(point.coverage, point.risk) for point in figures.overall.risk_coverage] == [
        (pytest.approx(1 / 3), 0.0),
        (pytest.approx(2 / 3), 0.5),
        (1.0, pytest.approx(1 / 3)),
    ]
    assert [(part.name, part.questions) for part in figures.families] == [("pick", 4)]
    only = figures.overall.reliability[0]
    assert (only.low, only.high) == (pytest.approx(0.025), 1.0)  # Clopper-Pearson, 1 of 1


def test_confusion_counts_rows_by_the_right_option() -> None:
    confusion = model_figures("m", aligned()).confusions[0]
    assert confusion.options == KEYS
    assert confusion.counts == [[1, 0], [1, 1]]
    assert confusion.pairs == [("b", "a", 1)]


def test_confident_errors_carry_probabilities_texts_and_whether_they_would_have_been_automated() -> None:
    binding = Binding(
        weights_sha256="w", adapter_sha256=None, template_sha256="t", readout="label", precision="float32"
    )
    promised = Thresholds(error_budget=0.05, confidence_level=0.95, method="m", by_family={"pick": 0.75})
    figures = model_figures("m", aligned(), calibration=Calibration(binding=binding, thresholds=promised))
    (error,) = figures.confident_errors
    assert (error.record, error.answered, error.right, error.automated) == ("r1", "a", "b", True)
    assert (error.confidence, error.right_probability) == (pytest.approx(0.8), pytest.approx(0.2))
    assert error.state == ""
    (shown,) = add_texts(figures, records()).confident_errors
    assert shown.question == "Which 1?"
    assert '"state 1"' in shown.state
    assert not model_figures("m", aligned()).confident_errors[0].automated


def test_only_so_many_errors_are_kept() -> None:
    assert model_figures("m", aligned(), errors=0).confident_errors == []
