"""Is one predictor better than another? Tests on paired answers to the same questions, and what a run could detect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri  # pyright: ignore[reportUnknownVariableType]  # SciPy ships no types
from scipy.stats import binomtest  # pyright: ignore[reportUnknownVariableType]

from forthwith.errors import ConfigError
from forthwith.evaluation.resampling import Interval, PairedBootstrap, PairedValues, paired_bootstrap, sign_flip

__all__ = [
    "Equivalence",
    "Interval",
    "McNemar",
    "PairedBootstrap",
    "PairedValues",
    "Power",
    "equivalence",
    "holm",
    "mcnemar",
    "minimum_detectable_effect",
    "paired_bootstrap",
    "power",
    "sign_flip",
]


@dataclass(frozen=True)
class McNemar:
    """Questions on which exactly one of two predictors is right, and the exact two-sided p-value."""

    only_candidate: int
    only_baseline: int
    p_value: float


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests of a difference against a margin.

    Attributes:
        difference: macro difference, candidate minus baseline.
        margin: what counts as no difference that matters.
        p_not_worse: p-value of "worse by the margin or more"; small shows non-inferiority.
        p_not_better: p-value of "better by the margin or more".
        low: lower end of the interval at level 1 - 2·alpha.
        high: upper end.
        is_not_inferior: `p_not_worse` is at most alpha.
        is_equivalent: both p-values are at most alpha.
    """

    difference: float
    margin: float
    p_not_worse: float
    p_not_better: float
    low: float
    high: float
    is_not_inferior: bool
    is_equivalent: bool


@dataclass(frozen=True)
class Power:
    """What a paired comparison of so many questions can show.

    Attributes:
        n_questions: questions.
        design_effect: how many questions of one cluster count as one.
        standard_error: of the difference in accuracy.
        detectable: smallest true difference found with the asked power.
        power: probability to find the asked difference; None where none was asked.
    """

    n_questions: int
    design_effect: float
    standard_error: float
    detectable: float
    power: float | None


def mcnemar(baseline: ArrayLike, candidate: ArrayLike) -> McNemar:
    """Exact two-sided binomial test on the discordant pairs.

    Args:
        baseline: shape (n,), true where right.
        candidate: shape (n,), true where right.

    References:
        McNemar (1947), Psychometrika 12(2).
    """
    old, new = np.asarray(baseline, dtype=np.bool_), np.asarray(candidate, dtype=np.bool_)
    gained, lost = int(np.count_nonzero(new & ~old)), int(np.count_nonzero(old & ~new))
    p_value = 1.0 if gained + lost == 0 else float(binomtest(gained, gained + lost, 0.5).pvalue)
    return McNemar(gained, lost, p_value)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Step-down adjusted p-values: running maximum of min(1, (m - rank)·p) over rising p.

    Example: five comparisons, each at the floor 1e-4 of 10,000 resamples, all become 5e-4.

    References:
        Holm (1979), Scandinavian Journal of Statistics 6(2).
    """
    adjusted: dict[str, float] = {}
    running = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = running
    return {name: adjusted[name] for name in p_values}


def equivalence(
    values: PairedValues, *, margin: float, alpha: float = 0.05, n_resamples: int = 10_000, seed: int = 20260930
) -> Equivalence:
    """Two one-sided tests by the paired cluster bootstrap; non-inferiority is the first of them.

    Raises:
        ConfigError: the margin is not positive, or alpha not in (0, 0.5).

    References:
        Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15(6).
    """
    if not margin > 0:
        raise ConfigError(f"margin is {margin!r}; it must be positive, in units of the metric", "margin")
    if not 0 < alpha < 0.5:
        raise ConfigError(f"alpha is {alpha!r}; it must lie between 0 and 0.5", "alpha")
    result = paired_bootstrap(values, n_resamples=n_resamples, seed=seed, confidence_level=1 - 2 * alpha)
    draws = result.macro_draws
    p_not_worse = float((1 + np.count_nonzero(draws <= -margin)) / (draws.size + 1))
    p_not_better = float((1 + np.count_nonzero(draws >= margin)) / (draws.size + 1))
    return Equivalence(
        difference=result.macro.difference,
        margin=margin,
        p_not_worse=p_not_worse,
        p_not_better=p_not_better,
        low=result.macro.low,
        high=result.macro.high,
        is_not_inferior=p_not_worse <= alpha,
        is_equivalent=max(p_not_worse, p_not_better) <= alpha,
    )


def power(
    n_questions: int,
    *,
    discordance: float,
    difference: float | None = None,
    cluster_size: float = 1.0,
    cluster_correlation: float = 0.0,
    alpha: float = 0.05,
    target_power: float = 0.8,
) -> Power:
    """What a comparison can detect before it is run, by the normal approximation for paired proportions.

        raise ConfigError(f"cluster_size {size!r} must be 1 or more, correlation {correlation!r} in [0, 1]", "cluster")

    Args:
        n_questions: questions both predictors answer.
        discordance: expected share of questions on which exactly one is right, in (0, 1].
        difference: a true difference in accuracy, to get its power.
        cluster_size: mean questions of a user or state.
        cluster_correlation: correlation of differences within one, in [0, 1].
        alpha: two-sided level.
        target_power: for the detectable difference.

    Raises:
        ConfigError: an impossible number; names the argument.

    References:
        Connor (1987), Biometrics 43(1), for paired proportions.
    """
    _check_power(n_questions, discordance, difference, cluster_size, cluster_correlation)
    effect = 1 + (cluster_size - 1) * cluster_correlation
    detectable = minimum_detectable_effect(
        n_questions / effect, discordance=discordance, alpha=alpha, target_power=target_power
    )
    error = float(np.sqrt((discordance - (difference or 0.0) ** 2) * effect / n_questions))
    found: float | None = None
    if difference is not None:
        z = float(ndtri(1 - alpha / 2))
        found = float(ndtr(abs(difference) / error - z) + ndtr(-abs(difference) / error - z)) if error > 0 else 1.0
    return Power(n_questions, effect, error, detectable, found)


def minimum_detectable_effect(
    n_effective: float, *, discordance: float, alpha: float = 0.05, target_power: float = 0.8
) -> float:
    """Smallest true difference d that is found with the target power: d = (z_alpha/2 + z_power)·sqrt((disc - d²)/n).

    Args:
        n_effective: independent questions.
        discordance: share of questions on which exactly one is right; the difference cannot exceed it.
        alpha: two-sided level.
        target_power: probability to find d.
    """
    z = float(ndtri(1 - alpha / 2) + ndtri(target_power))
    ratio = z**2 / n_effective
    return min(discordance, float(np.sqrt(ratio * discordance / (1 + ratio))))


def _check_power(n: int, discordance: float, difference: float | None, size: float, correlation: float) -> None:
    if n < 1:
        raise ConfigError(f"n_questions is {n}; a run needs at least 1", "n_questions")
    if not 0 < discordance <= 1:
        raise ConfigError(f"discordance is {discordance!r}; it is a share in (0, 1]", "discordance")
    if difference is not None and abs(difference) > discordance:
        raise ConfigError(f"difference is {difference!r}, more than the discordance {discordance!r}", "difference")
    if size < 1 or not 0 <= correlation <= 1:
        raise ConfigError(
            f"cluster_size {size!r} must be 1 or more, the correlation {correlation!r} in [0, 1]", "cluster"
        )
