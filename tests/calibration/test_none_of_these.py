"""The none-of-these signal is fitted where it tells something, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from forthwith.calibration import fit_none_of_these, none_probability
from forthwith.errors import ShapeError


def test_probability_by_hand() -> None:
    parameters = {"temperature": 2.0, "bias": 1.0}
    assert none_probability(-1.0, parameters) == pytest.approx(0.5)
    assert none_probability([2 * np.log(3) - 1], parameters) == pytest.approx([0.25])
    assert none_probability([1e6, -1e6], parameters) == pytest.approx([0.0, 1.0])


def test_temperature_and_bias_are_recovered() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 4, 4000)
    none = rng.uniform(size=4000) < none_probability(scores, {"temperature": 2.0, "bias": 1.5})
    fitted = fit_none_of_these(scores, none, np.arange(4000))
    assert fitted["temperature"] == pytest.approx(2.0, rel=0.1)
    assert fitted["bias"] == pytest.approx(1.5, abs=0.25)


def test_a_signal_that_tells_nothing_or_too_few_examples_fit_nothing() -> None:
    rng = np.random.default_rng(1)
    scores, none = rng.normal(size=400), rng.uniform(size=400) < 0.3
    assert fit_none_of_these(scores, none, np.arange(400)) == {}
    assert fit_none_of_these(scores[:30], scores[:30] < 0, np.arange(30)) == {}
    assert fit_none_of_these(scores, scores < 0, np.arange(400) % 3) == {}
    assert fit_none_of_these([], [], []) == {}
    with pytest.raises(ShapeError, match="differ"):
        fit_none_of_these(scores, none[:5], np.arange(400))
