"""The two convex fits behind a calibration: a temperature alone, or a temperature with one bias for each option.

Both minimise the mean negative log-likelihood of the gold distribution. With β = 1/T and c = β·bias the log-scores
enter the softmax linearly, so the objective is convex in (β, c).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, cast

import numpy as np
from scipy.optimize import minimize  # pyright: ignore[reportUnknownVariableType]  # SciPy ships no types

from forthwith.calibration.apply import FloatArray, log_softmax

__all__ = ["TEMPERATURE_RANGE", "Affine", "Matrix", "fit_affine", "fit_temperature"]

TEMPERATURE_RANGE = (0.05, 20.0)
"""Temperatures outside are not fitted; a fit that ends at an edge says so."""


class Matrix(NamedTuple):
    """Log-scores and gold distributions of questions with equally many options, each of shape (n, K)."""

    log_scores: FloatArray
    target: FloatArray


class Affine(NamedTuple):
    """Fitted temperature and biases: probabilities are softmax((log_scores + bias) / temperature)."""

    temperature: float
    bias: FloatArray
    at_edge: bool


class _Minimum(Protocol):
    """What is read of SciPy's result."""

    @property
    def x(self) -> FloatArray: ...


def fit_temperature(matrices: Sequence[Matrix]) -> Affine:
    """The temperature that minimises the negative log-likelihood.

    Args:
        matrices: at least one, with at least one row in all; K may differ between them.

    References:
        Guo et al. (2017), On Calibration of Modern Neural Networks, ICML.
    """
    low, high = (1 / edge for edge in reversed(TEMPERATURE_RANGE))
    beta = _root(matrices, low, high)
    return Affine(1 / beta, np.zeros(1), beta in (low, high))


def _root(matrices: Sequence[Matrix], low: float, high: float) -> float:
    """Bisection on the derivative in β, which rises because the objective is convex."""
    if _slope(matrices, low) >= 0:
        return low
    if _slope(matrices, high) <= 0:
        return high
    while high - low > 1e-13 * high:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if _slope(matrices, middle) < 0 else (low, middle)
    return float(np.sqrt(low * high))


def _slope(matrices: Sequence[Matrix], beta: float) -> float:
    return sum(
        float(np.sum((np.exp(log_softmax(beta * scores)) * np.sum(target, axis=1, keepdims=True) - target) * scores))
        for scores, target in matrices
    )


def fit_affine(matrix: Matrix, *, ridge: float, is_free: Sequence[bool]) -> Affine:
    """Temperature and biases that minimise the mean negative log-likelihood plus `ridge·Σ c²/n`.

    Args:
        matrix: shape (n, K).
        ridge: weight of the penalty, in questions; 0 for none.
        is_free: length K; an option that is not free keeps bias 0.

    References:
        Platt (1999) for two options; vector scaling with one shared slope (Guo et al. 2017) beyond.
    """
    scores, target = matrix
    scores = scores - scores.mean(axis=1, keepdims=True)  # the softmax does not see it, the optimiser does
    n, options = scores.shape
    free = np.flatnonzero(np.asarray(is_free))

    def objective(parameters: FloatArray) -> tuple[float, FloatArray]:
        shift = np.zeros(options)
        shift[free] = parameters[1:]
        log_p = log_softmax(parameters[0] * scores + shift)
        gap = np.exp(log_p) - target
        loss = -float(np.sum(target * log_p)) + ridge * float(shift @ shift)
        gradient = np.concatenate([[np.sum(gap * scores)], gap.sum(axis=0)[free] + 2 * ridge * shift[free]])
        return loss / n, gradient / n

    low, high = (1 / edge for edge in reversed(TEMPERATURE_RANGE))
    start = np.concatenate([[1.0], np.zeros(free.size)])
    bounds = [(low, high)] + [(None, None)] * free.size
    tolerances = {"ftol": 1e-15, "gtol": 1e-10}
    fit = cast("_Minimum", minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=tolerances))
    parameters = np.asarray(fit.x, dtype=np.float64)
    beta = float(parameters[0])
    bias = np.zeros(options)
    bias[free] = parameters[1:] / beta
    return Affine(1 / beta, bias, beta in (low, high))
