"""Fitting recovers what was put in, applies what was fitted, and keeps nothing that does not help."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from forthwith.calibration import (
    Binding,
    FitConfig,
    ScoredQuestion,
    ScoredQuestions,
    fit_calibration,
    grid_temperature,
    softmax,
)
from forthwith.calibration.affine import Matrix, fit_affine, fit_temperature
from forthwith.calibration.grid import temperature_grid
from forthwith.errors import ConfigError, DataError

BINDING = Binding(weights_sha256="w", adapter_sha256=None, template_sha256="t", readout="label", precision="fp32")


def world(
    kind: str,
    n: int,
    *,
    temperature: float = 1.0,
    bias: float = 0.0,
    n_options: int = 2,
    family: str = "f",
    seed: int = 0,
    per_cluster: int = 1,
) -> list[ScoredQuestion]:
    """Questions whose labels follow softmax((log_scores + bias on the last option) / temperature)."""
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(n):
        z = rng.normal(0, 3, size=n_options)
        p = softmax((z + np.eye(n_options)[-1] * bias) / temperature)
        label = int(rng.choice(n_options, p=p))
        target = tuple(np.eye(n_options)[label])
        rows.append(ScoredQuestion(kind, family, f"{family}-{index // per_cluster}", z.tolist(), target, label))
    return rows


def steps(calibration) -> dict[str, dict]:
    return {step["name"]: step for step in calibration.provenance["steps"]}


def test_a_temperature_for_each_type_is_recovered() -> None:
    questions = ScoredQuestions.from_rows(
        world("choice", 3000, temperature=2.5, n_options=4, family="c")
        + world("score", 3000, temperature=0.6, n_options=3)
    )
    fitted = fit_calibration(questions, BINDING, FitConfig(fits_families=False, fits_score_bias=False))
    assert fitted.temperature["choice"] == pytest.approx(2.5, rel=0.08)
    assert fitted.temperature["score"] == pytest.approx(0.6, rel=0.08)
    assert fitted.provenance["gain"]["nll"] > 0.1


def test_yes_bias_is_recovered_together_with_its_temperature() -> None:
    questions = ScoredQuestions.from_rows(world("noul", 4000, temperature=1.5, bias=-2.0))
    fitted = fit_calibration(questions, BINDING)
    assert fitted.noul_bias == pytest.approx(-2.0, abs=0.25)
    assert fitted.temperature["noul"] == pytest.approx(1.5, rel=0.1)
    assert steps(fitted)["bias of yes"]["is_applied"]


def test_bias_of_yes_and_no_words_is_measured_from_swapped_wording() -> None:
    """A model that follows the word and not the state shows as a bias that the fit removes."""
    questions = ScoredQuestions.from_rows(world("noul", 2000, bias=1.5))
    fitted = fit_calibration(questions, BINDING)
    before = questions.probabilities().reshape(-1, 2)[:, 1].mean()
    after = questions.probabilities(fitted).reshape(-1, 2)[:, 1].mean()
    truth = questions.label.mean()
    assert abs(after - truth) < 0.01 < abs(before - truth)


def test_level_biases_of_a_score_family_are_recovered() -> None:
    questions = ScoredQuestions.from_rows(world("score", 4000, bias=2.0, n_options=5, family="stars"))
    fitted = fit_calibration(questions, BINDING)
    biases = np.array(fitted.score_bias["stars"])
    assert biases[-1] - biases[0] == pytest.approx(2.0, abs=0.4)
    assert np.abs(biases[1:4]).max() < 0.4


def test_a_family_that_differs_from_its_type_gets_its_own_temperature() -> None:
    questions = ScoredQuestions.from_rows(
        world("choice", 1500, temperature=1.0, n_options=3, family="easy")
        + world("choice", 1500, temperature=4.0, n_options=3, family="hard", seed=1)
    )
    fitted = fit_calibration(questions, BINDING)
    assert fitted.family_temperature["hard"] == pytest.approx(4.0, rel=0.2)
    assert fitted.family_temperature["easy"] == pytest.approx(1.0, rel=0.2)


def test_six_rows_fit_nothing_and_say_so() -> None:
    fitted = fit_calibration(ScoredQuestions.from_rows(world("noul", 6, temperature=20)), BINDING)
    assert fitted.temperature == {}
    assert fitted.noul_bias == 0.0
    assert "too few" in steps(fitted)["temperature of noul"]["reason"]
    assert "found 6" in steps(fitted)["temperature of noul"]["reason"]


def test_many_rows_of_few_clusters_fit_nothing() -> None:
    fitted = fit_calibration(ScoredQuestions.from_rows(world("noul", 400, temperature=3, per_cluster=100)), BINDING)
    assert fitted.temperature == {}
    assert "from 4" in steps(fitted)["temperature of noul"]["reason"]


def test_calibrated_answers_are_mostly_left_alone() -> None:
    kept = 0
    for seed in range(12):
        questions = ScoredQuestions.from_rows(world("choice", 300, n_options=3, seed=seed))
        kept += bool(fit_calibration(questions, BINDING).temperature)
    assert kept <= 2


def test_always_right_does_not_become_certain() -> None:
    rows = [ScoredQuestion("noul", "f", str(i), [0.0, 1.0], (0.0, 1.0), 1) for i in range(300)]
    fitted = fit_calibration(ScoredQuestions.from_rows(rows), BINDING, FitConfig(fits_noul_bias=False))
    assert fitted.temperature == {}
    assert fitted.family_temperature == {}
    assert "outside" in steps(fitted)["temperature of noul"]["reason"]


def test_ties_stay_out_unless_asked_for() -> None:
    rows = world("choice", 400, n_options=2)
    ties = [ScoredQuestion("choice", "f", f"tie{i}", [5.0, 0.0], (0.5, 0.5), 0, True) for i in range(200)]
    questions = ScoredQuestions.from_rows(rows + ties)
    without = fit_calibration(questions, BINDING)
    with_ties = fit_calibration(questions, BINDING, FitConfig(includes_ambiguous=True))
    assert without.provenance["n_ambiguous_left_out"] == 200
    assert with_ties.temperature["choice"] > 1.5  # ties inflate the temperature
    assert without.temperature.get("choice", 1.0) < 1.5


def test_hard_targets_ignore_the_shares() -> None:
    rng = np.random.default_rng(0)
    rows = [
        ScoredQuestion("choice", "f", str(i), [float(z), 0.0], (0.6, 0.4), 0)
        for i, z in enumerate(rng.uniform(1, 4, 500))
    ]
    questions = ScoredQuestions.from_rows(rows)
    soft = fit_calibration(questions, BINDING, FitConfig(fits_families=False))
    hard = fit_calibration(questions, BINDING, FitConfig(fits_families=False, uses_soft_targets=False))
    assert soft.temperature["choice"] > 3
    assert "choice" not in hard.temperature  # all right: the optimum is at the edge


def test_pooled_scope_gives_every_type_one_temperature() -> None:
    questions = ScoredQuestions.from_rows(
        world("choice", 500, temperature=3, n_options=3) + world("noul", 500, temperature=3)
    )
    fitted = fit_calibration(questions, BINDING, FitConfig(scope="pooled", fits_families=False, fits_noul_bias=False))
    assert len(set(fitted.temperature.values())) == 1
    assert set(fitted.temperature) == {"noul", "choice", "score"}


def test_what_was_minimised_is_what_is_applied() -> None:
    """The loss of the fitted calibration, applied one question at a time as in serving, is the optimum found apart."""
    rows = world("choice", 600, temperature=2.0, n_options=3)
    fitted = fit_calibration(ScoredQuestions.from_rows(rows), BINDING, FitConfig(fits_families=False))

    def loss(temperature: float) -> float:
        return float(np.mean([-np.log(softmax(np.array(row.log_scores) / temperature)[row.label]) for row in rows]))

    served = np.mean([-np.log(fitted.probabilities(np.array(r.log_scores), "choice", "f")[r.label]) for r in rows])
    best = minimize_scalar(loss, bounds=(0.1, 10), method="bounded", options={"xatol": 1e-10})
    assert served == pytest.approx(best.fun, abs=1e-9)
    assert fitted.temperature["choice"] == pytest.approx(best.x, rel=1e-4)


def test_grid_temperature_is_the_reference_grid_and_counts_ties() -> None:
    grid = temperature_grid()
    assert grid.size == 481
    assert grid[[0, -1]] == pytest.approx([0.05, 50])
    found = grid_temperature(ScoredQuestions.from_rows(world("choice", 2000, temperature=2.7715, n_options=4)))
    assert found.temperature == pytest.approx(2.7715, rel=0.1)
    assert found.nll_after < found.nll_before
    assert not found.at_grid_edge
    assert found.n_questions == 2000


def test_grid_edge_is_flagged() -> None:
    rows = [ScoredQuestion("noul", "f", str(i), [0.0, 1.0], (0.0, 1.0), 1) for i in range(5)]
    assert grid_temperature(ScoredQuestions.from_rows(rows)).at_grid_edge


def test_affine_fit_of_two_options_equals_logistic_regression() -> None:
    from sklearn.linear_model import LogisticRegression

    rows = world("noul", 500, temperature=1.7, bias=0.8)
    scores = np.array([row.log_scores for row in rows])
    target = np.array([row.target for row in rows])
    fitted = fit_affine(Matrix(scores, target), ridge=0.0, is_free=(False, True))
    model = LogisticRegression(C=np.inf, tol=1e-10).fit((scores[:, 1] - scores[:, 0])[:, None], target[:, 1])
    assert 1 / fitted.temperature == pytest.approx(model.coef_[0, 0], rel=1e-4)
    assert fitted.bias[1] / fitted.temperature == pytest.approx(model.intercept_[0], rel=1e-3)


def test_bad_input_is_refused() -> None:
    with pytest.raises(DataError, match="no answered questions"):
        ScoredQuestions.from_rows([])
    with pytest.raises(DataError, match="NaN"):
        ScoredQuestions.from_rows([ScoredQuestion("noul", "f", "c", [float("nan"), 0.0], (1.0, 0.0), 0)])
    ties = ScoredQuestions.from_rows([ScoredQuestion("noul", "f", "c", [0.0, 0.0], (0.5, 0.5), 0, True)])
    with pytest.raises(DataError, match="ambiguous"):
        fit_calibration(ties, BINDING)
    with pytest.raises(ConfigError, match="folds"):
        fit_calibration(ScoredQuestions.from_rows(world("noul", 10)), BINDING, FitConfig(folds=1))


@settings(max_examples=30, deadline=None)
@given(st.floats(0.3, 5.0), st.integers(0, 10_000))
def test_temperature_never_changes_the_argmax(temperature, seed) -> None:
    rows = world("choice", 40, n_options=4, seed=seed)
    fitted = fit_temperature(
        [Matrix(np.array([r.log_scores for r in rows]) * temperature, np.array([r.target for r in rows]))]
    )
    for row in rows:
        z = np.array(row.log_scores)
        assert np.argmax(softmax(z / fitted.temperature)) == np.argmax(z)


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(12)))
def test_taking_rows_and_blocks_keeps_each_question_whole(order) -> None:
    rows = world("choice", 6, n_options=4, family="a") + world("noul", 6, family="b", seed=1)
    questions = ScoredQuestions.from_rows(rows)
    probabilities = questions.probabilities()
    taken = questions.take(np.array(order))
    moved = taken.probabilities()
    for place, row in enumerate(order):
        here = moved[taken.starts[place] : taken.starts[place + 1]]
        there = probabilities[questions.starts[row] : questions.starts[row + 1]]
        assert here == pytest.approx(there)
        assert here == pytest.approx(softmax(np.array(rows[row].log_scores)))


def test_one_class_only_gets_no_bias() -> None:
    rng = np.random.default_rng(0)
    rows = [
        ScoredQuestion("noul", "f", str(i), [0.0, float(z)], (0.0, 1.0), 1) for i, z in enumerate(rng.normal(size=300))
    ]
    fitted = fit_calibration(ScoredQuestions.from_rows(rows), BINDING)
    assert fitted.noul_bias == 0.0
    assert not steps(fitted)["bias of yes"]["is_applied"]


def test_a_score_family_of_one_level_gets_no_biases() -> None:
    rng = np.random.default_rng(0)
    rows = [
        ScoredQuestion("score", "stars", str(i), rng.normal(size=3).tolist(), (0.0, 0.0, 1.0), 2) for i in range(300)
    ]
    fitted = fit_calibration(ScoredQuestions.from_rows(rows), BINDING, FitConfig(score_ridge=0.0))
    assert fitted.score_bias == {}


def test_answers_that_are_always_wrong_do_not_get_an_endless_temperature() -> None:
    rows = [ScoredQuestion("choice", "f", str(i), [1.0, 0.0], (0.0, 1.0), 1) for i in range(300)]
    assert fit_calibration(ScoredQuestions.from_rows(rows), BINDING).temperature == {}


def test_families_of_one_score_type_keep_their_level_biases_beside_their_temperature() -> None:
    rows = world("score", 1500, bias=2.0, n_options=4, family="a") + world(
        "score", 1500, n_options=4, family="b", seed=1
    )
    fitted = fit_calibration(ScoredQuestions.from_rows(rows), BINDING)
    assert set(fitted.score_bias) == {"a"}
    assert "a" in fitted.family_temperature
    assert not steps(fitted)["temperature of family a"]["is_applied"]
    assert "nothing was left to fit" in steps(fitted)["temperature of family a"]["reason"]


def test_no_questions_have_no_blocks() -> None:
    questions = ScoredQuestions.from_rows(world("noul", 3))
    assert list(questions.take(np.zeros(3, dtype=bool)).blocks()) == []
