"""Hand-worked numbers, parity with scikit-learn and SciPy, and properties of every metric."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics as sk

from forthwith.errors import ShapeError
from forthwith.metrics import (
    accuracy,
    aurc,
    auroc,
    balanced_accuracy,
    brier_score,
    confusion_counts,
    coverage_at_risk,
    debiased_ece,
    ece,
    excess_aurc,
    expected_level,
    half_brier_score,
    majority_share,
    mean_absolute_error,
    nll,
    quadratic_weighted_kappa,
    ranked_probability_score,
    reliability_bins,
    risk_coverage_curve,
    roc_curve,
    selective_accuracy,
    total_variation_distance,
)

RNG = np.random.default_rng(7)
PROBABILITIES = RNG.dirichlet(np.ones(4), size=300)
LABELS = RNG.integers(0, 4, size=300)
ONE_HOT = np.eye(4)[LABELS]


def test_scores_of_one_question_match_numbers_worked_by_hand() -> None:
    p, t = [0.7, 0.2, 0.1], [1.0, 0.0, 0.0]
    assert nll(p, t) == pytest.approx(-np.log(0.7), abs=1e-15)
    assert brier_score(p, t) == pytest.approx(0.09 + 0.04 + 0.01)
    assert half_brier_score(p, t) == pytest.approx(0.07)
    assert total_variation_distance(p, [0.5, 0.5, 0.0]) == pytest.approx(0.3)
    assert expected_level(p) == pytest.approx(0.4)


def test_ranked_probability_score_of_the_published_example_is_015() -> None:
    assert ranked_probability_score([0.1, 0.2, 0.4, 0.2, 0.1], [0, 0, 0, 1, 0]) == pytest.approx(0.15)


def test_ranked_probability_score_of_two_levels_is_half_the_brier_score() -> None:
    p = np.array([[0.3, 0.7], [0.9, 0.1]])
    t = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert ranked_probability_score(p, t) == pytest.approx(half_brier_score(p, t))


def test_an_impossible_label_costs_the_floor_and_not_infinity() -> None:
    assert nll([1.0, 0.0], [0.0, 1.0]) == pytest.approx(12 * np.log(10))


def test_proper_scores_equal_scikit_learn() -> None:
    assert nll(PROBABILITIES, ONE_HOT).mean() == pytest.approx(sk.log_loss(LABELS, PROBABILITIES), abs=1e-12)
    yes = PROBABILITIES[:, 0]
    both = np.column_stack([1 - yes, yes])
    truth = LABELS % 2
    expected = sk.brier_score_loss(truth, yes)
    assert half_brier_score(both, np.eye(2)[truth]).mean() == pytest.approx(expected, abs=1e-12)
    assert brier_score(both, np.eye(2)[truth]).mean() == pytest.approx(2 * expected, abs=1e-12)


def test_label_metrics_equal_scikit_learn() -> None:
    predicted = PROBABILITIES.argmax(axis=1)
    assert accuracy(predicted, LABELS) == pytest.approx(sk.accuracy_score(LABELS, predicted), abs=1e-12)
    assert balanced_accuracy(predicted, LABELS) == pytest.approx(
        sk.balanced_accuracy_score(LABELS, predicted), abs=1e-12
    )
    assert (confusion_counts(predicted, LABELS, n_options=4) == sk.confusion_matrix(LABELS, predicted)).all()
    kappa = sk.cohen_kappa_score(LABELS, predicted, weights="quadratic")
    assert quadratic_weighted_kappa(predicted, LABELS, n_levels=4) == pytest.approx(kappa, abs=1e-12)
    assert mean_absolute_error(predicted, LABELS) == pytest.approx(sk.mean_absolute_error(LABELS, predicted), abs=1e-12)


def test_auroc_and_roc_curve_equal_scikit_learn_with_ties() -> None:
    scores = np.round(PROBABILITIES[:, 0], 1)
    positives = LABELS == 0
    assert auroc(scores, positives) == pytest.approx(sk.roc_auc_score(positives, scores), abs=1e-12)
    curve = roc_curve(scores, positives)
    assert curve is not None
    fpr, tpr, _ = sk.roc_curve(positives, scores, drop_intermediate=False)
    assert curve.false_positive_rate == pytest.approx(fpr, abs=1e-12)
    assert curve.true_positive_rate == pytest.approx(tpr, abs=1e-12)


def test_one_class_only_has_no_auroc_and_kappa() -> None:
    assert auroc([0.1, 0.9], [1, 1]) is None
    assert roc_curve([0.1, 0.9], [0, 0]) is None
    assert quadratic_weighted_kappa([1, 1], [1, 1], n_levels=3) is None


def test_majority_share_is_the_commonest_label() -> None:
    assert majority_share([2, 2, 5, 7]) == 0.5


def test_ece_of_two_bins_by_hand() -> None:
    # lower bin: confidence .4, right half the time, gap .1; upper bin: confidence .9, all right, gap .1
    assert ece([0.4, 0.4, 0.9, 0.9], [1, 0, 1, 1], n_bins=2) == pytest.approx(0.1)


def test_a_confidence_on_an_edge_belongs_to_the_bin_that_owns_it() -> None:
    left = reliability_bins([0.5, 1.0], [1, 1], n_bins=2)
    right = reliability_bins([0.5, 0.0], [1, 1], n_bins=2, closed="right")
    assert left.count.tolist() == [0, 2]
    assert right.count.tolist() == [2, 0]
    # 0.5 shares a bin with 0.9 when the lower edge is inclusive, with 0.1 when the upper is
    assert ece([0.5, 0.9, 0.1], [1, 1, 0], n_bins=2) == pytest.approx((0.6 + 0.1) / 3)
    assert ece([0.5, 0.9, 0.1], [1, 1, 0], n_bins=2, closed="right") == pytest.approx((0.4 + 0.1) / 3)


def test_debiased_ece_of_calibrated_answers_is_near_zero_where_the_plug_in_is_not() -> None:
    rng = np.random.default_rng(3)
    results = []
    for world in range(60):
        confidence = rng.uniform(0.2, 1.0, size=400)
        correct = rng.uniform(size=400) < confidence
        results.append(debiased_ece(confidence, correct, n_bins=15, n_draws=300, seed=world))
    assert np.mean([r.plug_in for r in results]) > 0.05
    assert np.mean([r.estimate for r in results]) < 0.5 * np.mean([r.plug_in for r in results])
    assert np.mean([r.low == 0 for r in results]) > 0.9


def test_debiased_ece_interval_holds_the_true_gap() -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for world in range(100):
        confidence = rng.uniform(0.3, 0.9, size=600)
        correct = rng.uniform(size=600) < confidence - 0.15
        estimate = debiased_ece(confidence, correct, n_bins=10, n_draws=300, seed=world)
        hits += estimate.low <= 0.15 <= estimate.high
    assert hits >= 90


def test_debiased_ece_widens_when_rows_are_copies_of_each_other() -> None:
    rng = np.random.default_rng(5)
    confidence = rng.uniform(0.3, 0.9, size=100)
    correct = rng.uniform(size=100) < confidence
    tripled = debiased_ece(
        np.repeat(confidence, 3), np.repeat(correct, 3), n_bins=5, clusters=np.repeat(np.arange(100), 3)
    )
    single = debiased_ece(confidence, correct, n_bins=5)
    assert tripled.estimate == pytest.approx(single.estimate, rel=0.05)
    assert tripled.high == pytest.approx(single.high, rel=0.05)


def test_risk_coverage_by_hand_with_a_tie() -> None:
    curve = risk_coverage_curve([0.9, 0.8, 0.8, 0.5], [0, 1, 0, 1])
    assert curve.threshold.tolist() == [0.9, 0.8, 0.5]
    assert curve.coverage.tolist() == [0.25, 0.75, 1.0]
    assert curve.risk == pytest.approx([0, 1 / 3, 0.5])
    # expected errors among the top 1..4: 0, .5, 1, 2
    assert aurc([0.9, 0.8, 0.8, 0.5], [0, 1, 0, 1]) == pytest.approx((0 + 0.25 + 1 / 3 + 0.5) / 4)
    assert coverage_at_risk([0.9, 0.8, 0.8, 0.5], [0, 1, 0, 1], risk=0.34) == 0.75
    assert coverage_at_risk([0.9, 0.8], [1, 1], risk=0.1) == 0.0
    assert selective_accuracy([0.9, 0.8, 0.8, 0.5], [0, 1, 0, 1], coverage=0.5) == pytest.approx(0.75)


def test_excess_aurc_of_a_perfect_ranking_is_zero() -> None:
    assert excess_aurc([0.9, 0.8, 0.2], [0, 0, 1]) == 0.0
    assert excess_aurc([0.2, 0.8, 0.9], [0, 0, 1]) > 0


def test_aurc_of_constant_confidence_is_the_error_rate() -> None:
    assert aurc([0.5] * 4, [1, 0, 0, 0]) == pytest.approx(0.25)


@pytest.mark.parametrize(
    "call",
    [
        lambda: nll([0.5, 0.5], [1.0, 0.0, 0.0]),
        lambda: brier_score([1.0], [1.0]),
        lambda: nll([np.nan, 1.0], [0.0, 1.0]),
        lambda: accuracy([], []),
        lambda: accuracy([1], [1, 2]),
        lambda: ece([1.2], [1], n_bins=15),
        lambda: ece([0.2], [1], n_bins=0),
        lambda: confusion_counts([4], [0], n_options=4),
        lambda: selective_accuracy([0.5], [0], coverage=0.0),
        lambda: auroc([0.1, np.inf], [1, 0]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(call) -> None:
    with pytest.raises(ShapeError):
        call()


confidences = arrays(np.float64, st.integers(1, 40), elements=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))


@settings(max_examples=60, deadline=None)
@given(confidences, st.randoms(use_true_random=False))
def test_selective_metrics_ignore_the_order_of_rows(confidence, random) -> None:
    errors = np.array([random.randint(0, 1) for _ in confidence], dtype=float)
    order = np.array(random.sample(range(confidence.size), confidence.size))
    assert aurc(confidence, errors) == pytest.approx(aurc(confidence[order], errors[order]), abs=1e-12)
    assert ece(confidence, errors, n_bins=15) == pytest.approx(
        ece(confidence[order], errors[order], n_bins=15), abs=1e-12
    )
    assert risk_coverage_curve(confidence, errors).risk[-1] == pytest.approx(errors.mean())


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**31))
def test_proper_scores_are_least_on_average_at_the_truth(n_options, seed) -> None:
    rng = np.random.default_rng(seed)
    truth, other = rng.dirichlet(np.ones(n_options), size=2)
    outcomes = np.eye(n_options)
    for score in (nll, brier_score, ranked_probability_score):
        honest = truth @ score(np.tile(truth, (n_options, 1)), outcomes)
        assert honest <= truth @ score(np.tile(other, (n_options, 1)), outcomes) + 1e-9
