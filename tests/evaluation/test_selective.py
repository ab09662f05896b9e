"""Thresholds: hand-worked bounds, what is refused, and the promise kept in simulated worlds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from forthwith.calibration import ScoredQuestion, ScoredQuestions
from forthwith.errors import ConfigError
from forthwith.evaluation.design_effect import intra_cluster_correlation, size_biased_mean
from forthwith.evaluation.selective import (
    SelectiveAnswers,
    ThresholdConfig,
    fit_threshold,
    fit_thresholds,
    plain_threshold,
    upper_error_bound,
)


def answers(confidence, is_wrong, cluster=None) -> SelectiveAnswers:
    confidence = np.asarray(confidence, dtype=float)
    codes = np.arange(confidence.size) if cluster is None else np.asarray(cluster)
    return SelectiveAnswers(confidence, np.asarray(is_wrong, dtype=bool), codes)


def test_upper_bound_by_hand_and_against_statsmodels() -> None:
    assert upper_error_bound(59, 0, 0.95) == pytest.approx(1 - 0.05 ** (1 / 59), abs=1e-12)
    assert upper_error_bound(59, 0, 0.95) < 0.05 < upper_error_bound(58, 0, 0.95)
    for n, errors in [(100, 3), (40, 39), (2106, 90)]:
        expected = proportion_confint(errors, n, alpha=0.1, method="beta")[1]
        assert upper_error_bound(n, errors, 0.95) == pytest.approx(expected, abs=1e-12)
    assert upper_error_bound(5, 5, 0.95) == 1.0


def test_the_bound_lies_within_the_budget_exactly_when_the_binomial_test_rejects() -> None:
    for n in (60, 150, 400):
        for errors in range(12):
            is_within = upper_error_bound(n, errors, 0.95) <= 0.05
            assert is_within == (binom.cdf(errors, n, 0.05) <= 0.05)


def test_plain_threshold_takes_the_lowest_admissible_confidence() -> None:
    confidence = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    # errors/accepted: 0/1, 1/2, 1/3, 1/4, 2/5 with a budget of 1/4: 0.8 and 0.7 violate it, 0.6 does not
    wrong = np.array([0, 1, 0, 0, 1], dtype=bool)
    assert plain_threshold(confidence, wrong, 0.25) == 0.6
    assert plain_threshold(confidence, ~wrong, 0.0) is None


def test_all_right_from_many_users_is_automated_whole() -> None:
    fit = fit_threshold(answers(np.linspace(0.5, 1, 200), np.zeros(200)), ThresholdConfig(), 0.95)
    assert fit.threshold == 0.5
    assert fit.coverage == 1.0
    assert fit.error == 0.0
    assert fit.upper_bound is not None
    assert fit.upper_bound <= 0.05
    assert fit.labels_missing == 0


def test_too_few_labels_ask_always_and_say_how_many_are_missing() -> None:
    fit = fit_threshold(answers(np.linspace(0.5, 1, 20), np.zeros(20)), ThresholdConfig(), 0.95)
    assert fit.threshold is None
    assert fit.labels_missing == 39  # 59 without an error suffice
    assert fit.coverage == 0.0


def test_the_missing_labels_suffice_if_errors_go_on_as_seen() -> None:
    config = ThresholdConfig(grid_points=10)
    wrong = np.arange(60) % 30 == 7  # 2 of 60
    few = fit_threshold(answers(np.linspace(0.9, 0.99, 60), wrong), config, 0.95)
    assert few.threshold is None
    assert few.labels_missing is not None
    copies = 2 * -(-(60 + few.labels_missing) // 60)
    more = fit_threshold(answers(np.tile(np.linspace(0.9, 0.99, 60), copies), np.tile(wrong, copies)), config, 0.95)
    assert more.threshold is not None


def test_a_hopeless_family_asks_always_and_no_number_of_labels_is_promised() -> None:
    rng = np.random.default_rng(0)
    fit = fit_threshold(answers(rng.uniform(0.3, 0.6, 400), rng.uniform(size=400) < 0.55), ThresholdConfig(), 0.95)
    assert fit.threshold is None
    assert fit.labels_missing is None


def test_one_user_asked_many_times_is_one_answer() -> None:
    many = fit_threshold(
        answers(np.linspace(0.5, 1, 300), np.zeros(300), np.repeat(np.arange(3), 100)), ThresholdConfig(), 0.95
    )
    assert many.threshold is None
    assert many.design_effect == pytest.approx(100)
    independent = ThresholdConfig(clusters="independent")
    assert fit_threshold(answers(np.linspace(0.5, 1, 300), np.zeros(300)), independent, 0.95).threshold == 0.5


def test_intra_cluster_correlation_of_copies_is_one_and_of_independent_rows_small() -> None:
    rng = np.random.default_rng(1)
    flips = rng.uniform(size=200) < 0.3
    clusters = np.repeat(np.arange(200), 5)
    assert intra_cluster_correlation(np.repeat(flips, 5), clusters) == 1.0
    independent = intra_cluster_correlation(rng.uniform(size=1000) < 0.3, clusters)
    assert independent is not None
    assert independent < 0.1
    assert intra_cluster_correlation(np.zeros(1000, dtype=bool), clusters) is None
    assert intra_cluster_correlation(flips, np.arange(200)) == 0.0


def test_size_biased_mean_by_hand() -> None:
    values = np.array([0.9, 0.8, 0.8, 0.1])
    cluster = np.array([0, 0, 1, 1])
    # at 0.9: sizes (1, 0); at 0.8: (2, 1) → 5/3; at 0.1: (2, 2) → 2
    assert size_biased_mean(values, cluster, np.array([0.9, 0.8, 0.1])) == pytest.approx([1, 5 / 3, 2])


def family(name: str, n: int, wrong_share: float, kind: str = "choice", seed: int = 0) -> list[ScoredQuestion]:
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(n):
        label = int(rng.uniform() < wrong_share)
        rows.append(
            ScoredQuestion(kind, name, f"{name}{index}", [rng.uniform(2, 4), 0.0], tuple(np.eye(2)[label]), label)
        )
    return rows


def test_each_family_gets_its_own_threshold_and_a_hard_one_none() -> None:
    questions = ScoredQuestions.from_rows(family("easy", 400, 0.01) + family("hard", 100, 0.4, seed=1))
    thresholds = fit_thresholds(questions, None)
    assert thresholds.by_family["easy"] is not None
    assert thresholds.by_family["hard"] is None
    assert thresholds.threshold("choice", "hard") is None
    assert thresholds.threshold("choice", "never seen") is None  # a member of the type must always ask
    assert thresholds.details["families"]["hard"]["n_errors"] > 20


def test_the_fallback_of_a_type_is_no_lower_than_its_families() -> None:
    questions = ScoredQuestions.from_rows(family("a", 400, 0.01) + family("b", 400, 0.01, seed=1))
    thresholds = fit_thresholds(questions, None)
    assert thresholds.by_type["choice"] is not None
    assert thresholds.threshold("choice", "never seen") >= max(thresholds.by_family.values())
    assert fit_thresholds(questions, None, ThresholdConfig(fallback=False)).by_type == {}


def test_a_promise_for_all_families_at_once_is_harder() -> None:
    questions = ScoredQuestions.from_rows([row for s in range(7) for row in family(f"f{s}", 100, 0.0, seed=s)])
    each = fit_thresholds(questions, None, ThresholdConfig())
    every = fit_thresholds(questions, None, ThresholdConfig(families="all"))
    assert all(value is not None for value in each.by_family.values())
    bounds = [fits.details["families"]["f0"]["upper_bound"] for fits in (each, every)]
    assert bounds[0] < bounds[1]


def test_ambiguous_questions_take_no_part() -> None:
    ties = [ScoredQuestion("choice", "easy", f"t{i}", [9.0, 0.0], (0.5, 0.5), 1, True) for i in range(300)]
    thresholds = fit_thresholds(ScoredQuestions.from_rows(family("easy", 400, 0.01) + ties), None)
    assert thresholds.details["families"]["easy"]["n_questions"] == 400


@pytest.mark.parametrize("field", ["error_budget", "confidence_level", "grid_points"])
def test_impossible_promises_are_refused(field) -> None:
    questions = ScoredQuestions.from_rows(family("a", 10, 0.0))
    with pytest.raises(ConfigError, match=field):
        fit_thresholds(questions, None, ThresholdConfig(**{field: 0}))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(20, 300))
def test_a_threshold_always_passes_its_own_bound(seed, n) -> None:
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.uniform(0.4, 1, n), 2)
    sample = answers(confidence, rng.uniform(size=n) > confidence + 0.1, rng.integers(0, n, n))
    fit = fit_threshold(sample, ThresholdConfig(error_budget=0.1), 0.95)
    if fit.threshold is not None:
        kept = confidence >= fit.threshold
        assert fit.coverage == pytest.approx(kept.mean())
        assert fit.error == pytest.approx(sample.is_wrong[kept].mean())
        assert fit.error <= fit.upper_bound <= 0.1 + 1e-9


def test_the_promise_holds_where_the_plain_rule_breaks_it() -> None:
    """200 worlds: how often the true error at the chosen threshold exceeds the budget."""
    rng = np.random.default_rng(11)
    fine = np.linspace(0.5, 1, 2001)
    error_at = (1 - fine) * 0.3
    broken, plain_broken, given_out = 0, 0, 0
    for _ in range(200):
        confidence = rng.uniform(0.5, 1, 800)
        wrong = rng.uniform(size=800) < (1 - confidence) * 0.3
        fit = fit_threshold(answers(confidence, wrong), ThresholdConfig(), 0.95)
        given_out += fit.threshold is not None
        for threshold, is_plain in ((fit.threshold, False), (fit.plain_threshold, True)):
            if threshold is not None and error_at[fine >= threshold].mean() > 0.05:
                broken += not is_plain
                plain_broken += is_plain
    assert given_out > 100
    assert broken <= 0.05 * 200
    assert plain_broken > 0.3 * 200


def test_a_start_for_every_family_size_is_fixed_without_looking_at_errors() -> None:
    """Two samples that differ in their errors only are tested at the same places."""
    rng = np.random.default_rng(2)
    confidence = rng.uniform(0.5, 1, 500)
    none = fit_threshold(answers(confidence, np.zeros(500)), ThresholdConfig(grid_points=5), 0.95)
    assert none.coverage == 1.0
    # an error among the 181 surest answers is borne: the sequence starts where four are
    slip = confidence >= np.sort(confidence)[-2]
    assert fit_threshold(answers(confidence, slip), ThresholdConfig(grid_points=5), 0.95).coverage == 1.0
