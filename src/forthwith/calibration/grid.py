"""The single pooled temperature of the reference method, on its fixed grid: kept for comparison."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forthwith.calibration.apply import FloatArray, log_softmax
from forthwith.calibration.scored import ScoredQuestions

__all__ = ["GridTemperature", "grid_temperature", "temperature_grid"]

_LOG_FLOOR = float(np.log(1e-12))


@dataclass(frozen=True)
class GridTemperature:
    """One temperature for all questions.

    Attributes:
        temperature: the grid value with the least mean negative log-likelihood (the lowest of equals).
        nll_before: mean negative log-likelihood at temperature 1, in nats.
        nll_after: the same at the grid value.
        at_grid_edge: whether the optimum is the first or last grid value, so that the true one may lie outside.
        n_questions: questions used, ambiguous ones included.
    """

    temperature: float
    nll_before: float
    nll_after: float
    at_grid_edge: bool
    n_questions: int


def temperature_grid() -> FloatArray:
    """Shape (481,): from 0.05 to 50 in equal steps of the logarithm."""
    return np.exp(np.log(0.05) + np.arange(481) * (np.log(50) - np.log(0.05)) / 480)


def grid_temperature(questions: ScoredQuestions) -> GridTemperature:
    """Minimise the unweighted mean, over all questions, of `-Σ target·max(ln softmax(z/T), ln 1e-12)` over the grid."""
    grid = temperature_grid()
    losses = np.array([_mean_nll(questions, temperature) for temperature in grid])
    best = int(np.argmin(losses))
    return GridTemperature(
        temperature=float(grid[best]),
        nll_before=_mean_nll(questions, 1.0),
        nll_after=float(losses[best]),
        at_grid_edge=best in (0, grid.size - 1),
        n_questions=len(questions),
    )


def _mean_nll(questions: ScoredQuestions, temperature: float) -> float:
    total = 0.0
    for block in questions.blocks():
        log_p = log_softmax(questions.log_scores[block.slots] / temperature)
        total -= float(np.sum(questions.target[block.slots] * np.maximum(log_p, _LOG_FLOOR)))
    return total / len(questions)
