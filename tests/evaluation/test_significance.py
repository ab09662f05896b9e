"""Paired tests: hand-worked and published figures, parity with SciPy and statsmodels, and honest error rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from forthwith.errors import ConfigError, ShapeError
from forthwith.evaluation.significance import (
    PairedValues,
    equivalence,
    holm,
    mcnemar,
    minimum_detectable_effect,
    paired_bootstrap,
    power,
    sign_flip,
)


def paired(baseline, candidate, family=None, cluster=None) -> PairedValues:
    n = len(baseline)
    return PairedValues(
        np.asarray(baseline, dtype=float),
        np.asarray(candidate, dtype=float),
        np.zeros(n, dtype=np.int64) if family is None else np.asarray(family),
        np.arange(n) if cluster is None else np.asarray(cluster),
    )


def test_five_comparisons_at_the_bootstrap_floor_have_the_published_holm_p() -> None:
    always_better = paired(np.zeros(300), np.ones(300))
    floor = paired_bootstrap(always_better).p_value
    assert floor == pytest.approx(1 / 10_001)
    assert floor == pytest.approx(1e-4, rel=1e-3)
    adjusted = holm(dict.fromkeys(("astra", "kev", "jev", "base", "4b"), floor))
    assert set(adjusted.values()) == {5 * floor}
    assert 5 * floor == pytest.approx(5e-4, rel=1e-3)


def test_mcnemar_of_the_published_counts() -> None:
    both = np.zeros(2106, dtype=bool)
    baseline, candidate = both.copy(), both.copy()
    candidate[:359] = True
    baseline[359 : 359 + 48] = True
    result = mcnemar(baseline, candidate)
    assert (result.only_candidate, result.only_baseline) == (359, 48)
    expected = statsmodels_mcnemar([[0, 48], [359, 0]], exact=True).pvalue
    assert result.p_value == pytest.approx(expected, rel=1e-9)
    assert result.p_value < 1e-50


def test_mcnemar_by_hand() -> None:
    # 4 gained, 1 lost: two-sided exact p = 2·(C(5,0) + C(5,1))/2^5 = 0.375
    result = mcnemar([0, 0, 0, 0, 1, 1], [1, 1, 1, 1, 0, 1])
    assert result.p_value == pytest.approx(0.375)
    assert mcnemar([1, 0], [1, 0]).p_value == 1.0


def test_holm_by_hand_and_against_statsmodels() -> None:
    values = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.9}
    assert holm(values) == pytest.approx({"a": 0.04, "b": 0.09, "c": 0.09, "d": 0.9})
    assert list(holm(values).values()) == pytest.approx(list(multipletests(list(values.values()), method="holm")[1]))
    assert holm({}) == {}


def test_macro_is_the_mean_of_families_and_micro_of_questions() -> None:
    # family 0: 4 questions, difference 0.5; family 1: 1 question, difference 1
    values = paired([0, 0, 0, 0, 0], [1, 1, 0, 0, 1], family=[0, 0, 0, 0, 1])
    result = paired_bootstrap(values, n_resamples=200)
    assert result.macro.difference == pytest.approx(0.75)
    assert result.micro.difference == pytest.approx(0.6)
    assert result.families[0].difference == pytest.approx(0.5)
    assert result.families[1].low == result.families[1].high == 1.0


def test_intervals_agree_with_scipy_for_independent_questions() -> None:
    rng = np.random.default_rng(0)
    difference = rng.choice([-1.0, 0.0, 1.0], size=400, p=[0.1, 0.6, 0.3])
    ours = paired_bootstrap(paired(np.zeros(400), difference)).macro
    theirs = bootstrap((difference,), np.mean, n_resamples=10_000, method="percentile", rng=rng).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=0.006)
    assert ours.high == pytest.approx(theirs.high, abs=0.006)


def test_copies_in_one_cluster_do_not_narrow_the_interval() -> None:
    rng = np.random.default_rng(1)
    difference = rng.choice([-1.0, 0.0, 1.0], size=200)
    once = paired_bootstrap(paired(np.zeros(200), difference), n_resamples=2000).macro
    copied = paired(np.zeros(1000), np.repeat(difference, 5), cluster=np.repeat(np.arange(200), 5))
    assert paired_bootstrap(copied, n_resamples=2000).macro == once
    naive = paired_bootstrap(paired(np.zeros(1000), np.repeat(difference, 5)), n_resamples=2000).macro
    assert naive.high - naive.low < 0.6 * (once.high - once.low)


def test_the_same_seed_gives_the_same_numbers_whatever_the_order_of_rows() -> None:
    rng = np.random.default_rng(2)
    n = 300
    new, old = rng.integers(0, 2, n), rng.integers(0, 2, n)
    family, cluster = rng.integers(0, 4, n), rng.integers(0, 80, n)
    order = rng.permutation(n)
    first = paired_bootstrap(paired(old, new, family, cluster), n_resamples=500)
    second = paired_bootstrap(paired(old[order], new[order], family[order], cluster[order]), n_resamples=500)
    renamed = paired_bootstrap(paired(old, new, family, 1000 - cluster), n_resamples=500)
    assert first.macro == second.macro == renamed.macro
    assert paired_bootstrap(paired(old, new, family, cluster), n_resamples=500, seed=1).macro != first.macro


def test_p_values_of_equal_predictors_are_not_small_too_often() -> None:
    rng = np.random.default_rng(3)
    boot, flip = [], []
    for seed in range(200):
        user = np.repeat(np.arange(40), 5)
        lean = rng.normal(0, 0.2, 40)[user]
        old = rng.uniform(size=200) < 0.7
        new = rng.uniform(size=200) < np.clip(0.7 + lean, 0, 1)
        values = paired(old, new, cluster=user)
        boot.append(paired_bootstrap(values, n_resamples=300, seed=seed).p_value)
        flip.append(sign_flip(values, n_flips=300, seed=seed))
    assert np.mean(np.array(boot) <= 0.05) < 0.1
    assert np.mean(np.array(flip) <= 0.05) < 0.1


def test_sign_flip_of_few_clusters_by_hand() -> None:
    # three clusters, all better: |δ*| ≥ |δ| only for all plus or all minus, 2 of 8 flips
    assert sign_flip(paired([0, 0, 0], [1, 1, 1]), n_flips=20_000) == pytest.approx(0.25, abs=0.01)


def test_equivalence_of_equal_predictors_and_of_a_clear_loss() -> None:
    rng = np.random.default_rng(4)
    right = rng.uniform(size=2000) < 0.8
    flipped = right ^ (rng.uniform(size=2000) < 0.01)
    same = equivalence(paired(right, flipped), margin=0.02, n_resamples=1000)
    assert same.is_equivalent
    assert same.is_not_inferior
    worse = equivalence(paired(right, right & (rng.uniform(size=2000) < 0.9)), margin=0.02, n_resamples=1000)
    assert not worse.is_not_inferior
    assert worse.p_not_better < 0.01
    better = equivalence(paired(right & (rng.uniform(size=2000) < 0.9), right), margin=0.02, n_resamples=1000)
    assert better.is_not_inferior
    assert not better.is_equivalent


def test_power_solves_its_own_equation() -> None:
    result = power(1409, discordance=0.19, difference=0.03)
    d = result.detectable
    z = 1.959963985 + 0.841621234
    assert d == pytest.approx(z * np.sqrt((0.19 - d**2) / 1409), rel=1e-8)
    assert power(1409, discordance=0.19, difference=d).power == pytest.approx(0.8, abs=1e-6)
    clustered = power(1409, discordance=0.19, cluster_size=5, cluster_correlation=0.25)
    assert clustered.design_effect == 2.0
    assert clustered.detectable > result.detectable
    assert minimum_detectable_effect(4, discordance=0.1) == 0.1


def test_power_agrees_with_simulation() -> None:
    rng = np.random.default_rng(5)
    n, up, down = 400, 0.14, 0.08
    found = 0
    for _ in range(2000):
        difference = rng.choice([1.0, -1.0, 0.0], size=n, p=[up, down, 1 - up - down])
        error = difference.std() / np.sqrt(n)
        found += abs(difference.mean()) > 1.96 * error
    assert power(n, discordance=0.22, difference=0.06).power == pytest.approx(found / 2000, abs=0.04)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: paired([], []), ShapeError),
        (lambda: PairedValues(np.zeros(2), np.zeros(3), np.zeros(2, int), np.zeros(2, int)), ShapeError),
        (lambda: equivalence(paired([0], [1]), margin=0.0), ConfigError),
        (lambda: equivalence(paired([0], [1]), margin=0.1, alpha=0.7), ConfigError),
        (lambda: power(0, discordance=0.1), ConfigError),
        (lambda: power(10, discordance=0.0), ConfigError),
        (lambda: power(10, discordance=0.1, difference=0.2), ConfigError),
        (lambda: power(10, discordance=0.1, cluster_size=0.5), ConfigError),
    ],
)
def test_impossible_comparisons_are_refused(call, error) -> None:
    with pytest.raises(error):
        call()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_swapping_the_predictors_mirrors_the_interval(seed) -> None:
    rng = np.random.default_rng(seed)
    old, new = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    family = rng.integers(0, 3, 60)
    there = paired_bootstrap(paired(old, new, family), n_resamples=2000).macro
    back = paired_bootstrap(paired(new, old, family), n_resamples=2000).macro
    assert there.difference == pytest.approx(-back.difference, abs=1e-12)
    assert there.low == pytest.approx(-back.high, abs=0.03)
    assert there.low <= there.difference <= there.high
