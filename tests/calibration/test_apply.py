"""Applying a calibration: hand-worked probabilities, overrides, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from forthwith.calibration import Binding, Calibration, Thresholds, log_softmax, softmax
from forthwith.errors import ConfigError, ShapeError

BINDING = Binding(weights_sha256="w", adapter_sha256=None, template_sha256="t", readout="label", precision="fp32")


def test_temperature_divides_and_family_overrides_type() -> None:
    calibration = Calibration(binding=BINDING, temperature={"choice": 2.0}, family_temperature={"route": 4.0})
    z = np.log([1.0, 16.0])
    assert calibration.probabilities(z, "choice") == pytest.approx([0.2, 0.8])  # 16^(1/2) = 4
    assert calibration.probabilities(z, "choice", "route") == pytest.approx([1 / 3, 2 / 3])  # 16^(1/4) = 2
    assert calibration.probabilities(z, "score") == pytest.approx([1 / 17, 16 / 17])


def test_yes_bias_is_added_before_the_division_and_only_to_yes() -> None:
    calibration = Calibration(binding=BINDING, temperature={"noul": 2.0}, noul_bias=float(np.log(4)))
    assert calibration.probabilities(np.zeros(2), "noul") == pytest.approx([1 / 3, 2 / 3])  # 4^(1/2) = 2
    assert calibration.probabilities(np.zeros(2), "choice") == pytest.approx([0.5, 0.5])
    with pytest.raises(ShapeError, match="found 3"):
        calibration.probabilities(np.zeros(3), "noul")


def test_level_biases_need_as_many_levels() -> None:
    calibration = Calibration(binding=BINDING, score_bias={"stars": [0.0, 0.0, float(np.log(2))]})
    assert calibration.probabilities(np.zeros(3), "score", "stars") == pytest.approx([0.25, 0.25, 0.5])
    with pytest.raises(ShapeError, match="3 levels, the question has 4"):
        calibration.probabilities(np.zeros(4), "score", "stars")


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_an_impossible_temperature_is_refused(value) -> None:
    with pytest.raises(ValidationError, match="positive"):
        Calibration(binding=BINDING, temperature={"choice": value})


def test_binding_names_what_differs() -> None:
    other = BINDING.model_copy(update={"precision": "bf16", "template_sha256": "u"})
    assert BINDING.differences(other) == ("template_sha256", "precision")
    assert BINDING.differences(BINDING) == ()


def test_a_family_that_must_ask_does_not_fall_back_to_its_type() -> None:
    thresholds = Thresholds(
        error_budget=0.05, confidence_level=0.95, method="m", by_family={"a": None, "b": 0.7}, by_type={"noul": 0.9}
    )
    assert thresholds.threshold("noul", "a") is None
    assert thresholds.threshold("noul", "b") == 0.7
    assert thresholds.threshold("noul", "unknown") == 0.9
    assert thresholds.threshold("choice", "unknown") is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-700, 700), min_size=2, max_size=8), st.permutations(range(8)))
def test_probabilities_sum_to_one_and_follow_permuted_options(values, order) -> None:
    z = np.array(values)
    order = np.array([place for place in order if place < z.size])
    calibration = Calibration(binding=BINDING, temperature={"choice": 1.7})
    p = calibration.probabilities(z, "choice")
    assert p.sum() == pytest.approx(1)
    assert calibration.probabilities(z[order], "choice") == pytest.approx(p[order])
    assert np.exp(log_softmax(z)) == pytest.approx(softmax(z))
    stacked = calibration.probabilities(np.stack([z, z[::-1]]), "choice")
    assert stacked[0] == pytest.approx(p)


def test_families_fitted_apart_keep_what_they_were_given_beside_a_general_calibration() -> None:
    promise = {"error_budget": 0.05, "confidence_level": 0.95, "method": "m"}
    general = Calibration(
        binding=BINDING,
        temperature={"choice": 2.0, "noul": 3.0},
        thresholds=Thresholds(**promise, by_type={"noul": None}),
    )
    own = Calibration(
        binding=BINDING, temperature={"noul": 1.5}, score_bias={"level": [0.0, 0.5]},
        thresholds=Thresholds(**promise, by_family={"route": 0.8, "stray": 0.1}, details={"families": {"route": {"n": 7}}}),
    )  # fmt: skip
    both = general.with_families(own, {"route": "choice", "level": "score", "asks": "noul"})
    assert both.family_temperature == {"route": 1.0, "level": 1.0, "asks": 1.5}
    z = np.log([1.0, 16.0])
    assert both.probabilities(z, "choice", "route") == pytest.approx([1 / 17, 16 / 17])
    assert both.probabilities(z, "choice") == pytest.approx([0.2, 0.8])
    assert both.score_bias == {"level": [0.0, 0.5]}
    assert both.thresholds is not None
    assert both.thresholds.threshold("choice", "route") == 0.8
    assert both.thresholds.threshold("choice", "stray") is None
    assert both.thresholds.details["families"] == {"route": {"n": 7}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"binding": BINDING.model_copy(update={"precision": "bf16"})}, "differ in precision"),
        ({"noul_bias": 0.3}, "0 and 0.3"),
        ({"thresholds": Thresholds(error_budget=0.1, confidence_level=0.95, method="m")}, "0.1 at 0.95"),
    ],
)
def test_calibrations_of_different_models_or_promises_are_not_put_together(change, said) -> None:
    general = Calibration(binding=BINDING, thresholds=Thresholds(error_budget=0.05, confidence_level=0.95, method="m"))
    with pytest.raises(ConfigError, match=said):
        general.with_families(Calibration(**{"binding": BINDING, **change}), {"route": "choice"})
