"""Evaluation of small worlds in which every figure can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from forthwith.calibration import Binding, Calibration, Thresholds
from forthwith.evaluation.align import AlignConfig, align
from forthwith.evaluation.measure import MeasureConfig, evaluate
from forthwith.evaluation.predictions import Prediction
from forthwith.evaluation.results import EvaluationReport
from forthwith.schema import parse_record

BINDING = Binding(weights_sha256="w", adapter_sha256=None, template_sha256="t", readout="r", precision="fp32")
KINDS = {
    "noul": {"type": "noul", "instructions": "?"},
    "choice": {"type": "choice", "criteria": {"a": None, "b": None, "none": None}},
    "score": {"type": "score", "criteria": ["low", "middle", "high"]},
}
KEYS = {"noul": ["false", "true"], "choice": ["a", "b", "none"], "score": ["0", "1", "2"]}


def world(rows, *, thresholds=None, slices=None, calibrated=True, **config) -> EvaluationReport:
    """Evaluate rows (family, type, target, probabilities[, none score])."""
    records, predictions = [], []
    for index, (family, kind, target, probabilities, *rest) in enumerate(rows):
        name = f"r{index}"
        wrapped = {"distribution": target} if isinstance(target, dict) else {"label": target}
        records.append(
            parse_record(
                {
                    "id": name,
                    "task": family,
                    "state": "s",
                    "questions": {"q": KINDS[kind]},
                    "targets": {"q": wrapped},
                    "meta": {"variant": "odd" if index % 2 else "even"},
                }
            )
        )
        predictions.append(
            Prediction(
                id=name,
                qid="q",
                type=kind,
                family=family,
                options=KEYS[kind],
                log_scores=np.log(probabilities).tolist(),
                probabilities=list(probabilities),
                readout="r",
                none_score=rest[0] if rest else None,
            )
        )
    promised = thresholds and Thresholds(
        error_budget=0.05, confidence_level=0.95, method="by hand", by_family=thresholds
    )
    calibration = Calibration(binding=BINDING, thresholds=promised) if promised else None
    aligned = align(predictions, records, AlignConfig(slice_fields=slices))
    return evaluate(aligned, calibration, MeasureConfig(**config))


ROWS = [
    ("share_ok", "noul", False, [0.9, 0.1]),  # right
    ("share_ok", "noul", False, [0.2, 0.8]),  # wrong, risky, confident
    ("share_ok", "noul", True, [0.4, 0.6]),  # right
    ("share_ok", "noul", {"yes": 0.5, "no": 0.5}, [0.3, 0.7]),  # a tie
    ("pick", "choice", "a", [0.5, 0.3, 0.2]),  # right
    ("pick", "choice", "none", [0.2, 0.7, 0.1]),  # wrong
]


def test_figures_of_families_macro_and_micro_by_hand() -> None:
    report = world(ROWS)
    share, pick = report.families["share_ok"], report.families["pick"]
    assert share.accuracy == pytest.approx(2 / 3)
    assert pick.accuracy == pytest.approx(1 / 2)
    assert report.macro.accuracy == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert report.micro.accuracy == pytest.approx(3 / 5)
    assert share.majority_share == pytest.approx(2 / 3)
    assert share.balanced_accuracy == pytest.approx((1 / 2 + 1) / 2)
    assert share.brier_score_scorable == pytest.approx((0.02 + 1.28 + 0.32) / 3)
    assert share.brier_score == pytest.approx((0.02 + 1.28 + 0.32 + 0.08) / 4)
    assert share.half_brier_score == pytest.approx(share.brier_score / 2)
    nll = -np.log([0.9, 0.2, 0.6])
    assert share.nll_scorable == pytest.approx(nll.mean())
    assert share.nll == pytest.approx((nll.sum() - 0.5 * np.log(0.3 * 0.7)) / 4)
    assert (share.n_questions, share.n_scorable, share.n_ambiguous) == (4, 3, 1)
    assert report.n_ambiguous == 1
    # bins of 1/15: .6 and .7 lie in bins 9 and 10, .8 in 12, .9 in 13
    assert share.ece_15 == pytest.approx((0.4 + 0.2 + 0.8 + 0.1) / 4)
    assert share.ece_15_scorable == pytest.approx((0.4 + 0.8 + 0.1) / 3)
    assert share.total_variation_distance == pytest.approx((0.1 + 0.8 + 0.4 + 0.2) / 4)
    assert pick.total_variation_distance is None
    assert pick.ranked_probability_score is None
    assert share.accuracy_low < 2 / 3 < share.accuracy_high


def test_score_questions_are_measured_as_levels() -> None:
    report = world(
        [
            ("stars", "score", 2, [0.1, 0.2, 0.7]),
            ("stars", "score", 0, [0.2, 0.2, 0.6]),
            ("f", "noul", True, [0.5, 0.5]),
        ]
    )
    stars = report.families["stars"]
    assert stars.ranked_probability_score == pytest.approx(((0.01 + 0.09) / 2 + (0.64 + 0.36) / 2) / 2)
    assert stars.mean_absolute_error == pytest.approx(1.0)
    assert stars.mean_absolute_error_expected == pytest.approx((0.4 + 1.4) / 2)
    assert stars.quadratic_weighted_kappa == pytest.approx(0.0)
    assert report.macro.ranked_probability_score == stars.ranked_probability_score
    assert report.micro.mean_absolute_error == stars.mean_absolute_error


def test_automation_counts_only_scorable_answers_above_the_family_threshold() -> None:
    report = world(ROWS, thresholds={"share_ok": 0.7, "pick": None})
    share, pick = report.families["share_ok"], report.families["pick"]
    assert (share.n_automated, share.n_automated_errors) == (2, 1)
    assert share.coverage == pytest.approx(2 / 3)
    assert share.realised_error == pytest.approx(1 / 2)
    assert pick.coverage == 0.0
    assert pick.realised_error is None
    assert report.macro.coverage == pytest.approx(1 / 3)
    assert report.macro.realised_error == pytest.approx(1 / 2)
    assert world(ROWS).families["share_ok"].coverage is None


def test_safety_misses_at_argmax_and_among_automated_answers() -> None:
    (rate,) = world(ROWS, thresholds={"share_ok": 0.85}).safety
    assert (rate.family, rate.n_at_risk, rate.n_missed, rate.rate) == ("share_ok", 2, 1, 0.5)
    assert (rate.n_at_risk_automated, rate.n_missed_automated, rate.rate_automated) == (1, 0, 0.0)
    (plain,) = world(ROWS).safety
    assert plain.n_at_risk_automated is None


def test_none_of_these_has_a_roc_for_each_signal() -> None:
    rows = [
        ("pick", "choice", "none", [0.2, 0.2, 0.6], -2.0),
        ("pick", "choice", "a", [0.6, 0.2, 0.2], 3.0),
        ("pick", "choice", "b", [0.1, 0.2, 0.7], 1.0),
        ("pick", "choice", "none", [0.1, 0.1, 0.8], -1.0),
    ]
    by_probability, by_score = world(rows).none_of_these
    assert by_probability.signal == "probability"
    assert by_probability.auroc == pytest.approx(3 / 4)
    assert by_score.auroc == 1.0
    assert (by_score.n_none, by_score.n_other) == (2, 2)
    assert by_score.true_positive_rate[0] == 0.0
    assert world(ROWS[:4]).none_of_these == []


def test_slices_cover_the_named_fields_and_the_built_in_ones() -> None:
    report = world(ROWS, slices=("variant",))
    assert report.slices["variant"]["even"].n_questions == 3
    assert report.slices["type"]["choice"].accuracy == 0.5
    assert report.slices["options"]["below 3"].n_questions == 4


def test_confusion_worst_errors_and_curves() -> None:
    report = world(ROWS)
    assert report.confusion["pick"].counts == [[1, 0, 0], [0, 0, 0], [0, 1, 0]]
    assert [(worst.id, worst.answer, worst.label) for worst in report.worst_errors] == [
        ("r1", "true", "false"),
        ("r5", "b", "none"),
    ]
    assert report.risk_coverage["all"].coverage[-1] == 1.0
    assert report.risk_coverage["all"].risk[-1] == pytest.approx(2 / 5)
    assert sum(report.reliability["share_ok"].count) == 4


def test_aggregate_only_points_at_no_question() -> None:
    report = world(ROWS, slices=("variant",), aggregate_only=True)
    assert report.worst_errors == []
    assert report.slices == {}
    assert '"r1"' not in report.model_dump_json()


def test_a_family_of_one_class_and_a_family_of_ties_have_no_value_where_none_exists() -> None:
    report = world(
        [
            ("all", "noul", True, [0.2, 0.8]),
            ("all", "noul", True, [0.3, 0.7]),
            ("tie", "noul", {"yes": 1, "no": 1}, [0.5, 0.5]),
        ]
    )
    assert report.families["all"].auroc_confidence is None
    assert report.families["all"].accuracy == 1.0
    assert report.families["tie"].accuracy is None
    assert report.families["tie"].brier_score == 0.0
    assert report.macro.accuracy == 1.0


def test_a_report_survives_its_own_json() -> None:
    report = world(ROWS, thresholds={"share_ok": 0.7})
    assert EvaluationReport.model_validate_json(report.model_dump_json()) == report
