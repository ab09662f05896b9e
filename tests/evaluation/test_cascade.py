"""Handing over what the first model is unsure of."""

from __future__ import annotations

import numpy as np
import pytest

from forthwith.errors import DataError, ShapeError
from forthwith.evaluation.align import align
from forthwith.evaluation.cascade import CascadeOptions, CascadeQuestions, cascade_questions, measure_cascade
from forthwith.evaluation.predictions import Prediction
from forthwith.schema import parse_record


def questions(count: int = 400, *, families: int = 2, seed: int = 0) -> CascadeQuestions:
    """A first model that is right as often as it says, and a second that is right nine times in ten."""
    stream = np.random.default_rng(seed)
    confidence = stream.uniform(0.5, 1.0, count)
    return CascadeQuestions(
        first_correct=stream.uniform(size=count) < confidence,
        second_correct=stream.uniform(size=count) < 0.9,
        first_confidence=confidence,
        families=[f"family{n % families}" for n in range(count)],
        clusters=[f"c{n // 2}" for n in range(count)],
        first_usd=np.full(count, 0.001),
        second_usd=np.full(count, 0.01),
    )


def test_the_ends_of_the_curve_are_the_two_models() -> None:
    both = questions()
    report = measure_cascade(both, first="small", second="large")
    for curve in (report.one_threshold, report.threshold_per_family):
        assert (curve[0].share, curve[0].accuracy) == (0, report.first_accuracy)
        assert (curve[-1].share, curve[-1].accuracy) == (1, report.second_accuracy)
        assert curve[0].usd_per_question == pytest.approx(0.001)
        assert curve[-1].usd_per_question == pytest.approx(0.011)
    assert report.either_accuracy == pytest.approx(np.mean(both.first_correct | both.second_correct))
    assert (report.questions, report.clusters) == (400, 200)


def test_handing_over_the_unsure_beats_handing_over_at_random() -> None:
    report = measure_cascade(questions(4000), first="small", second="large", options=CascadeOptions(resamples=200))
    middle = next(point for point in report.one_threshold if point.target_share == 0.3)
    assert middle.share == pytest.approx(0.3, abs=0.03)
    # first: mean confidence 0.75; the least sure 30 % (0.5 to 0.65, right 57.5 %) become right 90 % of the time
    assert middle.accuracy == pytest.approx(0.75 + 0.3 * (0.9 - 0.575), abs=0.02)
    assert middle.random_accuracy == pytest.approx(0.75 + 0.3 * 0.15, abs=0.02)
    assert middle.low < middle.accuracy < middle.high
    assert middle.high - middle.low < 0.04


def test_a_threshold_per_family_hands_over_the_share_in_each_family() -> None:
    base = questions(2000)
    confidence = np.where(np.arange(2000) % 2 == 0, base.first_confidence, base.first_confidence / 2)
    both = CascadeQuestions(**{**base.__dict__, "first_confidence": confidence})
    options = CascadeOptions(shares=(0.25,), resamples=50)
    report = measure_cascade(both, first="a", second="b", options=options)
    assert report.one_threshold[0].share == pytest.approx(0.25, abs=0.03)
    assert report.threshold_per_family[0].share == pytest.approx(0.25, abs=0.03)
    assert report.one_threshold[0].accuracy != report.threshold_per_family[0].accuracy


def test_thresholds_come_from_other_clusters() -> None:
    # One cluster holds all low confidences: its own quarter would be handed over, by the others' threshold all of it.
    count = 40
    clusters = [f"c{n // 10}" for n in range(count)]
    confidence = np.where(np.arange(count) < 10, 0.1, 0.9) + np.arange(count) / 1e4
    both = CascadeQuestions(
        first_correct=np.ones(count, dtype=bool),
        second_correct=np.ones(count, dtype=bool),
        first_confidence=confidence,
        families=["f"] * count,
        clusters=clusters,
        first_usd=np.zeros(count),
        second_usd=np.zeros(count),
    )
    options = CascadeOptions(shares=(0.25,), folds=4, resamples=50)
    report = measure_cascade(both, first="a", second="b", options=options)
    handed_in_low = 10
    assert report.one_threshold[0].share * count >= handed_in_low


def test_the_cheapest_share_weighs_errors_against_the_price_of_asking() -> None:
    cheap_errors = measure_cascade(
        questions(), first="a", second="b", options=CascadeOptions(error_usd=0.0001, resamples=50)
    )
    dear_errors = measure_cascade(
        questions(), first="a", second="b", options=CascadeOptions(error_usd=100, resamples=50)
    )
    assert cheap_errors.cheapest is not None
    assert dear_errors.cheapest is not None
    assert cheap_errors.cheapest[1] == 0.0
    assert dear_errors.cheapest[1] > 0.3
    assert measure_cascade(questions(), first="a", second="b").cheapest is None


def test_the_same_seed_gives_the_same_report() -> None:
    one, two = (measure_cascade(questions(), first="a", second="b") for _ in range(2))
    assert one == two


def test_bad_input_is_refused() -> None:
    base = questions(10).__dict__
    with pytest.raises(ShapeError, match="differ in length"):
        CascadeQuestions(**{**base, "families": ["f"]})
    with pytest.raises(DataError, match="no question was answered by both"):
        CascadeQuestions(**{name: value[:0] for name, value in base.items()})
    with pytest.raises(DataError, match="not a number"):
        CascadeQuestions(**{**base, "first_confidence": np.full(10, np.nan)})
    with pytest.raises(DataError, match="5 clusters are too few"):
        measure_cascade(questions(10), first="a", second="b", options=CascadeOptions(folds=6))


def test_questions_come_from_two_prediction_files_without_the_ambiguous() -> None:
    question = {"type": "noul", "instructions": "?"}
    targets = [{"label": "yes"}, {"label": "no"}, {"distribution": {"yes": 0.5, "no": 0.5}}]
    records = [
        parse_record({"id": f"r{n}", "state": "s", "questions": {"q": question}, "targets": {"q": target}})
        for n, target in enumerate(targets)
    ]

    def predictions(yes: list[float]) -> list[Prediction]:
        return [
            Prediction(
                id=f"r{n}", qid="q", type="noul", family="q", options=["false", "true"], readout="label",
                log_scores=[0.0, score], probabilities=[0.5, 0.5],
            )
            for n, score in enumerate(yes)
        ]  # fmt: skip

    first = align(predictions([1.0, 2.0, 0.0]), records)
    second = align(predictions([-1.0, -2.0, 0.0]), records)
    both = cascade_questions(first, second, usd_per_question=(0.0, 0.5))
    assert both.first_correct.tolist() == [True, False]
    assert both.second_correct.tolist() == [False, True]
    assert both.first_confidence == pytest.approx(1 / (1 + np.exp([-1.0, -2.0])))
    assert both.second_usd.tolist() == [0.5, 0.5]
    with pytest.raises(DataError, match=r"do not answer the same questions .3 and 2; first difference r2/q"):
        cascade_questions(first, align(predictions([1.0, 2.0]), records[:2]))
