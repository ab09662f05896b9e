"""Is the test itself sound? A perfect predictor scores full marks, a blind one stays near chance, stronger ones rise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from pydantic import BaseModel, ConfigDict

from forthwith.errors import ConfigError, DataError
from forthwith.evaluation.align import AlignedQuestions
from forthwith.evaluation.columns import QuestionColumns, question_columns
from forthwith.evaluation.resampling import PairedValues, paired_bootstrap
from forthwith.metrics import FloatArray, IntArray

__all__ = [
    "LadderStep",
    "NoiseFloor",
    "NullBaseline",
    "OracleResult",
    "Rung",
    "SeedSpread",
    "ladder",
    "noise_floor",
    "null_baselines",
    "oracle",
    "seed_spread",
]

_Z = 1.959964
_LEAST_PERMUTATIONS = 20


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OracleResult(_Frozen):
    """The gold distributions, fed in as log-scores through the whole path of evaluation.

    `n_contradicted` counts questions whose label is not the option with the largest gold share (the source's own label
    against the shares of its annotators); no predictor can satisfy both, so accuracy leaves them out.
    """

    n_contradicted: int
    accuracy: float
    brier_score: float
    is_sound: bool


class NullBaseline(_Frozen):
    """What can be had in one family without reading the state.

    Attributes:
        n_questions: questions with one right answer.
        chance: mean of 1/K.
        half_width: binomial half-width of 95 % at chance.
        majority: accuracy of always giving the commonest label.
        best_position: accuracy of always giving the best single position.
        permuted: mean accuracy of the predictor against labels permuted among questions with equally many options; None
            without a predictor.
        is_sound: majority and best position lie at most a half-width above chance, `permuted` within it.
    """

    n_questions: int
    chance: float
    half_width: float
    majority: float
    best_position: float
    permuted: float | None
    is_sound: bool


class NoiseFloor(_Frozen):
    """How exactly an accuracy is known, and the least gain that can be told from noise.

    `paired_half_width` is √2 times the half-width: that of a difference if the two predictors were independent, so an
    upper guess before a paired comparison is made.
    """

    n_questions: int
    accuracy: float
    headroom: float
    half_width: float
    binomial_half_width: float | None
    paired_half_width: float


class LadderStep(_Frozen):
    """From one predictor to the next stronger one: the macro difference with its interval, and families that fall."""

    weaker: str
    stronger: str
    difference: float
    low: float
    high: float
    falling_families: list[str]
    is_sound: bool


class SeedSpread(_Frozen):
    """Differences between trainings that differ in their seed only: what a gain must exceed to be more than luck."""

    n_seeds: int
    macro_accuracies: list[float]
    largest_difference: float
    standard_deviation: float


@dataclass(frozen=True)
class Rung:
    """One predictor of a ladder."""

    name: str
    columns: QuestionColumns


def oracle(aligned: AlignedQuestions) -> OracleResult:
    """Score the gold distribution itself: 100 % right, and a Brier score under 1e-6, or the path has a fault."""
    scored = aligned.scored
    perfect = replace(scored, log_scores=np.log(np.maximum(scored.target, 1e-300)))
    columns = question_columns(replace(aligned, scored=perfect))
    contradicted = columns.is_scorable & ~columns.is_right & columns.is_soft
    rows = columns.is_scorable & ~contradicted
    if not rows.any():
        raise DataError(f"none of the {len(columns)} questions has one right answer; label some without ties")
    accuracy, loss = float(columns.is_right[rows].mean()), float(columns.brier_score.max())
    return OracleResult(
        n_contradicted=int(contradicted.sum()),
        accuracy=accuracy,
        brier_score=loss,
        is_sound=accuracy == 1.0 and loss < 1e-6,
    )


def null_baselines(
    aligned: AlignedQuestions, *, uses_predictions: bool = True, n_permutations: int = 50, seed: int = 20260930
) -> dict[str, NullBaseline]:
    """Majority label, best constant position, and permuted labels, by family.

    Raises:
        ConfigError: fewer than 20 permutations.
    """
    if n_permutations < _LEAST_PERMUTATIONS:
        raise ConfigError(f"n_permutations is {n_permutations}; use at least {_LEAST_PERMUTATIONS}", "n_permutations")
    columns = question_columns(aligned)
    keys = np.array([aligned.label_key(row) for row in range(len(aligned))])
    rng = np.random.default_rng(seed)
    found: dict[str, NullBaseline] = {}
    for code, name in enumerate(aligned.scored.families):
        rows = np.flatnonzero((columns.family == code) & columns.is_scorable)
        if rows.size:
            permuted = _permuted_accuracy(columns.take(rows), rng, n_permutations) if uses_predictions else None
            found[name] = _null_baseline(columns.take(rows), np.unique(keys[rows], return_inverse=True)[1], permuted)
    return found


def noise_floor(
    columns: QuestionColumns, families: Sequence[str], *, n_resamples: int = 2000, seed: int = 20260930
) -> dict[str, NoiseFloor]:
    """Half-widths of the accuracy of each family, and of the macro average as `"macro"`.

    Args:
        columns: a baseline's answers.
        families: names, by code.
        n_resamples: cluster resamples.
        seed: of the resamples.
    """
    rows = columns.take(columns.is_scorable)
    if not len(rows):
        raise DataError(f"none of the {len(columns)} questions has one right answer; label some without ties")
    right = rows.is_right.astype(np.float64)
    values = PairedValues(np.zeros_like(right), right, rows.family, rows.cluster)
    result = paired_bootstrap(values, n_resamples=n_resamples, seed=seed)
    found: dict[str, NoiseFloor] = {}
    for code, interval in result.families.items():
        n, accuracy = int(np.count_nonzero(rows.family == code)), interval.difference
        binomial = float(_Z * np.sqrt(accuracy * (1 - accuracy) / n))
        found[families[code]] = _floor(n, accuracy, (interval.high - interval.low) / 2, binomial)
    macro = result.macro
    found["macro"] = _floor(len(rows), macro.difference, (macro.high - macro.low) / 2, None)
    return found


def ladder(
    rungs: Sequence[Rung], families: Sequence[str], *, n_resamples: int = 2000, seed: int = 20260930
) -> list[LadderStep]:
    """Steps from the weakest to the strongest predictor; a step is sound if neither macro nor a family falls for sure.

    Args:
        rungs: weakest first, the same questions in the same order.
        families: names, by code.
        n_resamples: cluster resamples.
        seed: of the resamples.

    Raises:
        ConfigError: fewer than two predictors.
        DataError: other questions.
    """
    if len(rungs) < 2:
        raise ConfigError(f"a ladder needs at least 2 predictors, found {len(rungs)}", "rungs")
    steps: list[LadderStep] = []
    for weaker, stronger in pairwise(rungs):
        values = _paired_accuracy(weaker, stronger)
        result = paired_bootstrap(values, n_resamples=n_resamples, seed=seed)
        falling = [families[code] for code, interval in result.families.items() if interval.high < 0]
        macro = result.macro
        steps.append(
            LadderStep(
                weaker=weaker.name,
                stronger=stronger.name,
                difference=macro.difference,
                low=macro.low,
                high=macro.high,
                falling_families=falling,
                is_sound=macro.high >= 0 and not falling,
            )
        )
    return steps


def seed_spread(runs: Sequence[QuestionColumns]) -> SeedSpread:
    """Spread of the macro accuracy over trainings that differ in their seed only.

    Raises:
        ConfigError: fewer than two runs.
    """
    if len(runs) < 2:
        raise ConfigError(f"a spread needs at least 2 trainings, found {len(runs)}", "runs")
    macros = [_macro_accuracy(run.take(run.is_scorable)) for run in runs]
    return SeedSpread(
        n_seeds=len(runs),
        macro_accuracies=macros,
        largest_difference=max(macros) - min(macros),
        standard_deviation=float(np.std(macros, ddof=1)),
    )


def _null_baseline(rows: QuestionColumns, label_codes: IntArray, permuted: float | None) -> NullBaseline:
    n = len(rows)
    chance = float(np.mean(1 / rows.n_options))
    half_width = float(_Z * np.sqrt(chance * (1 - chance) / n))
    majority = float(np.bincount(label_codes).max() / n)
    best_position = float(np.bincount(rows.label).max() / n)
    is_sound = max(majority, best_position) <= chance + half_width + 1e-12
    if permuted is not None:
        is_sound = is_sound and abs(permuted - chance) <= half_width + 1e-12
    return NullBaseline(
        n_questions=n,
        chance=chance,
        half_width=half_width,
        majority=majority,
        best_position=best_position,
        permuted=permuted,
        is_sound=is_sound,
    )


def _permuted_accuracy(rows: QuestionColumns, rng: np.random.Generator, n_permutations: int) -> float:
    groups = [np.flatnonzero(rows.n_options == size) for size in np.unique(rows.n_options)]
    hits = 0
    for _ in range(n_permutations):
        for group in groups:
            hits += int(np.count_nonzero(rng.permutation(rows.label[group]) == rows.predicted[group]))
    return hits / (n_permutations * len(rows))


def _floor(n: int, accuracy: float, half_width: float, binomial: float | None) -> NoiseFloor:
    return NoiseFloor(
        n_questions=n,
        accuracy=accuracy,
        headroom=1 - accuracy,
        half_width=half_width,
        binomial_half_width=binomial,
        paired_half_width=float(np.sqrt(2)) * half_width,
    )


def _paired_accuracy(weaker: Rung, stronger: Rung) -> PairedValues:
    one, two = weaker.columns, stronger.columns
    if len(one) != len(two) or not np.array_equal(one.label, two.label):
        raise DataError(f"{weaker.name} and {stronger.name} answered different questions; predict the same file")
    rows = one.is_scorable
    right: list[FloatArray] = [side.is_right[rows].astype(np.float64) for side in (one, two)]
    return PairedValues(right[0], right[1], one.family[rows], one.cluster[rows])


def _macro_accuracy(rows: QuestionColumns) -> float:
    return float(np.mean([rows.is_right[rows.family == code].mean() for code in np.unique(rows.family)]))
