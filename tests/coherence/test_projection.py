"""The worked examples of the method, and what must hold for every family."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from forthwith.coherence import (
    Family,
    build_family,
    coherent_probabilities,
    family_vector,
    project,
    sure_loss,
    sure_loss_gradient,
    unit_bet_loss,
    worlds,
)
from forthwith.coherence import projection as projection_module
from forthwith.errors import ShapeError
from forthwith.schema import Choice, Noul, Score


def choice(options: int, asked: tuple[int, ...]) -> Family:
    question = Choice(criteria={f"o{index}": None for index in range(options)})
    return Family("choice", options, asked, question, {f"is:o{index}": Noul(instructions="?") for index in asked})


def score(levels: int, asked: tuple[int, ...]) -> Family:
    question = Score(criteria=[f"level {index}" for index in range(levels)])
    return Family("score", levels, asked, question, {f"at_least:{t}": Noul(instructions="?") for t in asked})


NOUL = build_family(Noul(instructions="Is it late?"), seed="s")

EXAMPLES = [
    pytest.param(choice(3, (0, 1, 2)), (0.6, 0.3, 0.1, 0.9, 0.5, 0.2), (0.65, 0.30, 0.05), 0.130, 0.6, id="all-asked"),
    pytest.param(
        choice(4, (0, 1)), (0.5, 0.3, 0.1, 0.1, 0.7, 0.2), (0.5917, 0.2417, 0.0833, 0.0833), 0.02583, None, id="2-of-4"
    ),
    pytest.param(
        choice(3, (0, 1, 2)), (0.9, 0.08, 0.02, 0.95, 0.6, 0.0), (0.7925, 0.2075, 0.0), 0.20708, None, id="clipping"
    ),
    pytest.param(NOUL, (0.8, 0.4, 0.7, 0.3), (0.30, 0.70), 0.020, 0.2, id="noul"),
    pytest.param(score(3, (1, 2)), (0.2, 0.5, 0.3, 0.9, 0.4), (0.15, 0.50, 0.35), 0.010, 0.2, id="score"),
    pytest.param(
        score(5, (1, 2, 3, 4)),
        (0.1, 0.2, 0.4, 0.2, 0.1, 0.95, 0.60, 0.70, 0.05),
        (0.0745, 0.1991, 0.2727, 0.3191, 0.1345),
        0.11664,
        None,
        id="score-non-monotone",
    ),
]


@pytest.mark.parametrize(("family", "x", "q", "d2", "d1"), EXAMPLES)
def test_worked_examples_come_out(
    family: Family, x: tuple[float, ...], q: tuple[float, ...], d2: float, d1: float | None
) -> None:
    projection = project(family, np.array(x))
    assert projection.primary == pytest.approx(q, abs=5.1e-5)
    assert sure_loss(family, np.array(x)) == pytest.approx(d2, abs=5.1e-6)
    if d1 is not None:
        assert unit_bet_loss(family, np.array(x)) == pytest.approx(d1, abs=1e-9)


def test_choice_with_all_options_asked_gains_exactly_d2_in_each_world() -> None:
    family, x = choice(3, (0, 1, 2)), np.array([0.6, 0.3, 0.1, 0.9, 0.5, 0.2])
    moved = project(family, x).members
    gains = [np.sum((world - x) ** 2) - np.sum((world - moved) ** 2) for world in worlds(family)]
    assert gains == pytest.approx([0.130] * 3, abs=1e-12)


def test_score_example_gains_exactly_d2_and_moves_the_thresholds() -> None:
    family, x = score(3, (1, 2)), np.array([0.2, 0.5, 0.3, 0.9, 0.4])
    moved = project(family, x).members
    assert moved[3:] == pytest.approx([0.85, 0.35])
    gains = [np.sum((world - x) ** 2) - np.sum((world - moved) ** 2) for world in worlds(family)]
    assert gains == pytest.approx([0.010] * 3, abs=1e-12)


def test_non_monotone_thresholds_become_monotone() -> None:
    family = score(5, (1, 2, 3, 4))
    moved = project(family, np.array([0.1, 0.2, 0.4, 0.2, 0.1, 0.95, 0.60, 0.70, 0.05])).members
    assert moved[5:] == pytest.approx([0.9255, 0.7264, 0.4536, 0.1345], abs=5.1e-5)


def test_a_pair_that_sums_to_1_19_costs_0_018() -> None:
    # P(x) + P(not x) = 1.19, and the true/false choice sits at the pair's own middle, so only the pair contributes.
    p, n = 0.7, 0.49
    middle = (p + 1 - n) / 2
    assert sure_loss(NOUL, np.array([p, n, middle, 1 - middle])) == pytest.approx(0.19**2 / 2)
    assert round(0.19**2 / 2, 3) == 0.018


def test_weight_pulls_towards_the_primary() -> None:
    x = np.array([0.8, 0.4, 0.7, 0.3])
    assert project(NOUL, x, weight=5.0).primary[1] == pytest.approx((5 * 0.8 + 0.6 + 0.7 + 0.7) / 8)
    assert project(NOUL, x, weight=math.inf).primary[1] == 0.8
    assert project(score(3, (1, 2)), np.array([0.2, 0.5, 0.3, 0.9, 0.4]), weight=math.inf).primary == pytest.approx(
        [0.2, 0.5, 0.3]
    )
    family = choice(2, (0,))
    # w = (4, 3), m = ((3·.6 + .9)/4, .4) = (.675, .4); t (1/4 + 1/3) = .075
    t = 0.075 / (1 / 4 + 1 / 3)
    assert project(family, np.array([0.6, 0.4, 0.9]), weight=3.0).primary == pytest.approx([0.675 - t / 4, 0.4 - t / 3])


@st.composite
def families_and_vectors(draw: st.DrawFn) -> tuple[Family, np.ndarray]:
    kind = draw(st.sampled_from(["choice", "noul", "score"]))
    unit = st.floats(0, 1, allow_subnormal=False)
    if kind == "noul":
        p, n, t = draw(unit), draw(unit), draw(unit)
        return NOUL, np.array([p, n, t, 1 - t])
    options = draw(st.integers(2, 7))
    first = 0 if kind == "choice" else 1
    asked = tuple(sorted(draw(st.sets(st.integers(first, options - 1), min_size=1, max_size=4))))
    family = (choice if kind == "choice" else score)(options, asked)
    raw = draw(arrays(np.float64, options, elements=st.floats(0.001, 1)))
    return family, np.concatenate([raw / raw.sum(), [draw(unit) for _ in asked]])


@settings(max_examples=150, deadline=None)
@given(families_and_vectors())
def test_moving_gains_at_least_d2_whatever_is_true(case: tuple[Family, np.ndarray]) -> None:
    family, x = case
    moved = project(family, x)
    for world in worlds(family):
        gain = np.sum((world - x) ** 2) - np.sum((world - moved.members) ** 2)
        assert gain >= moved.distance - 1e-9


@settings(max_examples=150, deadline=None)
@given(families_and_vectors(), st.sampled_from([0.5, 1.0, 2.0, 16.0]))
def test_projecting_twice_is_projecting_once(case: tuple[Family, np.ndarray], weight: float) -> None:
    family, x = case
    once = project(family, x, weight=weight)
    twice = project(family, once.members, weight=weight)
    assert twice.members == pytest.approx(once.members, abs=1e-9)
    assert twice.distance == pytest.approx(0, abs=1e-12)
    assert once.primary.sum() == pytest.approx(1)
    assert np.all(once.primary >= 0)


@settings(max_examples=60, deadline=None)
@given(families_and_vectors())
def test_gradient_equals_finite_differences(case: tuple[Family, np.ndarray]) -> None:
    family, x = case
    step = 1e-5
    for index, slope in enumerate(sure_loss_gradient(family, x)):
        nudge = np.zeros(family.size)
        nudge[index] = step
        numeric = (sure_loss(family, x + nudge) - sure_loss(family, x - nudge)) / (2 * step)
        assert slope == pytest.approx(numeric, abs=1e-4)


@settings(max_examples=100, deadline=None)
@given(families_and_vectors(), st.sampled_from([0.5, 1.0, 3.0]))
def test_closed_forms_equal_the_exhaustive_programme(case: tuple[Family, np.ndarray], weight: float) -> None:
    family, x = case
    corners = worlds(family)
    primary = 1 if family.type == "noul" else family.options
    weights = np.concatenate([np.full(primary, weight), np.ones(family.size - primary)])
    oracle = projection_module._best_support(
        (corners * weights) @ corners.T + 1e-13 * np.eye(len(corners)), (corners * weights) @ x
    )
    assert project(family, x, weight=weight).primary == pytest.approx(oracle, abs=1e-6)


def test_trying_all_supports_gives_what_changing_the_support_gives() -> None:
    hessian, pull = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]]), np.array([2.0, -1.0, 1.5])
    quick = projection_module._simplex_programme(hessian, pull)
    assert quick == pytest.approx(projection_module._simplex_programme(hessian, pull, rounds=0))
    # only the outer two take part: 2 q_0 - 2 = 2 q_2 - 1.5 and q_0 + q_2 = 1
    assert quick == pytest.approx([0.625, 0.0, 0.375])


def test_an_option_that_was_dropped_too_soon_comes_back() -> None:
    hessian = np.array([[9.0, 2, 2, -2], [2, 10, 8, 9], [2, 8, 11, 10], [-2, 9, 10, 14]])
    pull = np.array([-6.0, -2, 2, -5])
    # options 1 and 3 stay out: 9 q_0 + 2 q_2 + 6 = 2 q_0 + 11 q_2 - 2 and q_0 + q_2 = 1, so q_0 = 1/16
    assert projection_module._simplex_programme(hessian, pull) == pytest.approx([1 / 16, 0, 15 / 16, 0])


@settings(max_examples=60, deadline=None)
@given(families_and_vectors())
def test_unit_bets_win_at_least_the_euclidean_distance(case: tuple[Family, np.ndarray]) -> None:
    family, x = case
    distance = math.sqrt(sure_loss(family, x))
    assert distance - 1e-7 <= unit_bet_loss(family, x) <= math.sqrt(family.size) * distance + 1e-7


def test_answers_read_off_the_primary_cost_nothing() -> None:
    question = Score(criteria=["low", "middle", "high"])
    family = build_family(question, seed="s")
    primary = np.array([0.2, 0.5, 0.3])
    siblings = {"at_least:1": np.array([0.2, 0.8]), "at_least:2": np.array([0.7, 0.3])}
    assert coherent_probabilities(family, primary, siblings) == pytest.approx(primary)
    assert sure_loss(family, family_vector(family, primary, siblings)) == pytest.approx(0, abs=1e-15)


def test_bad_answers_are_refused_by_name() -> None:
    good = {"not": np.array([0.5, 0.5]), "true_or_false": np.array([0.5, 0.5])}
    with pytest.raises(ShapeError, match="no answer for the sibling 'not'"):
        family_vector(NOUL, np.array([0.5, 0.5]), {})
    with pytest.raises(ShapeError, match="primary: 2 probabilities are needed"):
        family_vector(NOUL, np.array([0.2, 0.3, 0.5]), good)
    with pytest.raises(ShapeError, match="no distribution"):
        family_vector(NOUL, np.array([0.5, 0.6]), good)
    with pytest.raises(ShapeError, match="has 4 finite answers"):
        project(NOUL, np.array([0.1, np.nan, 0.2, 0.8]))
    with pytest.raises(ShapeError, match="must be positive"):
        project(NOUL, np.array([0.1, 0.9, 0.2, 0.8]), weight=0.0)
