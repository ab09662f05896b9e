"""Fit a calibration by steps, each kept only where it helps on questions it was not fitted on.

Steps, in order: a temperature for each question type (or one for all), a bias on yes, a bias for each level of a score
family, a temperature for each family. A step's gain is the fall of the negative log-likelihood on held-out folds,
against the steps accepted before it, which are fitted on the same training folds. Folds keep clusters whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from forthwith.calibration.affine import Affine, Matrix, fit_affine, fit_temperature
from forthwith.calibration.apply import Binding, Calibration, FloatArray
from forthwith.calibration.grid import grid_temperature
from forthwith.calibration.scored import QUESTION_TYPES, BoolArray, ScoredQuestions
from forthwith.errors import ConfigError, DataError
from forthwith.metrics import PROBABILITY_FLOOR

__all__ = ["MAX_BIAS", "FitConfig", "FitStep", "fit_calibration"]

MAX_BIAS = 10.0
"""Largest bias, in nats, that is applied."""


@dataclass(frozen=True)
class FitConfig:
    """What may be fitted, and how much evidence a step needs.

    Attributes:
        scope: one temperature for each question type, or one pooled over all.
        uses_soft_targets: fit to the gold shares; otherwise to the right option alone.
        includes_ambiguous: let questions whose options tie take part (a tie has no right option, only shares).
        fits_noul_bias: allow a bias on yes.
        fits_score_bias: allow a bias for each level of a score family.
        fits_families: allow a temperature for each family.
        folds: number of cross-fitting folds.
        min_rows: fewest questions for a temperature of a type, or a bias on yes.
        min_family_rows: fewest questions for anything that is fitted to one family.
        min_gain_errors: a step is kept if its mean held-out gain exceeds this many standard errors of that mean.
        score_ridge: penalty on level biases, in questions.
        seed: of the assignment of clusters to folds.
    """

    scope: Literal["type", "pooled"] = "type"
    uses_soft_targets: bool = True
    includes_ambiguous: bool = False
    fits_noul_bias: bool = True
    fits_score_bias: bool = True
    fits_families: bool = True
    folds: int = 5
    min_rows: int = 50
    min_family_rows: int = 200
    min_gain_errors: float = 1.645
    score_ridge: float = 1.0
    seed: int = 20260930


@dataclass(frozen=True)
class FitStep:
    """One step of a fit: what was tried, on how much, what it gained on held-out folds, and whether it was kept.

    `gain` and `standard_error` are nats a question (None where there was too little to try); `parameters` are those
    fitted on all questions.
    """

    name: str
    n_questions: int
    n_clusters: int
    gain: float | None
    standard_error: float | None
    is_applied: bool
    reason: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class _Trial:
    """A step before it is tried: on which rows, with how many at least, and how a calibration changes."""

    name: str
    rows: BoolArray
    min_rows: int
    update: Callable[[ScoredQuestions, Calibration], dict[str, Any]]


def fit_calibration(questions: ScoredQuestions, binding: Binding, config: FitConfig | None = None) -> Calibration:
    """Temperatures and biases that lower the negative log-likelihood out of fold; thresholds are left empty.

    Args:
        questions: answered questions of data the model was not trained on.
        binding: what the log-scores depend on.
        config: what may be fitted.

    Returns:
        A calibration; `provenance["steps"]` lists every `FitStep`, kept or not, `provenance["gain"]` the cross-fitted
        gain of all kept steps together, and `provenance["pooled_grid"]` the reference method's temperature.

    Raises:
        DataError: every question is ambiguous and ambiguous ones are left out.
        ConfigError: fewer than two folds.
    """
    config = config or FitConfig()
    if config.folds < 2:
        raise ConfigError(f"folds is {config.folds}; cross-fitting needs at least 2", "folds")
    usable = questions if config.includes_ambiguous else questions.take(~questions.is_ambiguous)
    if not len(usable):
        raise DataError(f"all {len(questions)} questions are ambiguous; include ambiguous questions or label more")
    hard = usable if config.uses_soft_targets else _one_hot(usable)
    folds = _Folds(hard, Calibration(binding=binding), config)
    for trial in _trials(hard, config):
        folds.attempt(trial)
    return folds.calibration.model_copy(
        update={
            "provenance": {
                "config": asdict(config),
                "n_questions": len(usable),
                "n_ambiguous_left_out": len(questions) - len(usable),
                "n_clusters": int(np.unique(usable.cluster).size),
                "gain": folds.total_gain(),
                "steps": [asdict(step) for step in folds.steps],
                "pooled_grid": asdict(grid_temperature(questions)),
            }
        }
    )


class _Folds:
    """The steps accepted so far, fitted on all questions and on each fold's training part."""

    def __init__(self, questions: ScoredQuestions, start: Calibration, config: FitConfig) -> None:
        self.questions, self.config = questions, config
        self.calibration = start
        self.steps: list[FitStep] = []
        self._start = start
        self._fold = _assign_folds(questions, config)
        self._by_fold = [start] * config.folds

    def attempt(self, trial: _Trial) -> None:
        """Try one step and keep it if it helps."""
        rows = np.flatnonzero(trial.rows)
        n_clusters = int(np.unique(self.questions.cluster[rows]).size)
        if rows.size < trial.min_rows or n_clusters < 2 * self.config.folds:
            needed = f"needs {trial.min_rows} questions from {2 * self.config.folds} clusters"
            reason = f"too few: {needed}, found {rows.size} from {n_clusters}"
            self._record(trial, rows.size, n_clusters, None, reason, {})
            return
        candidates = [
            self._updated(trial, self._by_fold[fold], rows[self._fold[rows] != fold])
            for fold in range(self.config.folds)
        ]
        gain, error = self._gain(rows, self._by_fold, candidates)
        is_applied = gain > max(0.0, self.config.min_gain_errors * error)
        after = self._updated(trial, self.calibration, rows)
        changed = _changes(self.calibration, after)
        if is_applied:
            self.calibration, self._by_fold = after, candidates
            reason = "helps out of fold"
        elif changed:
            reason = "no gain out of fold beyond its standard error"
        else:
            reason = "the optimum lies outside what is allowed, or nothing was left to fit"
        self._record(trial, rows.size, n_clusters, (gain, error), reason, changed, is_applied=is_applied)

    def _record(
        self,
        trial: _Trial,
        n_questions: int,
        n_clusters: int,
        gain: tuple[float, float] | None,
        reason: str,
        parameters: dict[str, Any],
        *,
        is_applied: bool = False,
    ) -> None:
        mean, error = gain or (None, None)
        step = FitStep(trial.name, int(n_questions), n_clusters, mean, error, is_applied, reason, parameters)
        self.steps.append(step)

    def total_gain(self) -> dict[str, float]:
        """Held-out gain of all kept steps over no calibration."""
        before = [self._start] * self.config.folds
        gain, error = self._gain(np.arange(len(self.questions)), before, self._by_fold)
        return {"nll": gain, "standard_error": error}

    def _updated(self, trial: _Trial, base: Calibration, rows: np.ndarray[Any, np.dtype[np.int64]]) -> Calibration:
        return base.model_copy(update=trial.update(self.questions.take(rows), base))

    def _gain(self, rows: Any, before: list[Calibration], after: list[Calibration]) -> tuple[float, float]:
        falls, clusters = [np.zeros(0)], [np.zeros(0, dtype=np.int64)]
        for fold in range(self.config.folds):
            held_out = self.questions.take(rows[self._fold[rows] == fold])
            if len(held_out):
                falls.append(_losses(held_out, before[fold]) - _losses(held_out, after[fold]))
                clusters.append(held_out.cluster)
        fall = np.concatenate(falls)
        sums = np.bincount(np.unique(np.concatenate(clusters), return_inverse=True)[1], weights=fall - fall.mean())
        error = np.sqrt(float(sums @ sums) * sums.size / max(1, sums.size - 1)) / fall.size
        return float(fall.mean()), float(error)


def _changes(before: Calibration, after: Calibration) -> dict[str, Any]:
    names = ("temperature", "family_temperature", "noul_bias", "score_bias")
    return {name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)}


def _trials(questions: ScoredQuestions, config: FitConfig) -> list[_Trial]:
    everything = np.ones(len(questions), dtype=np.bool_)
    is_noul = questions.types == QUESTION_TYPES.index("noul")
    trials: list[_Trial] = []
    if config.scope == "pooled":
        trials.append(_Trial("temperature", everything, config.min_rows, _pooled_temperature))
    else:
        for code, name in enumerate(QUESTION_TYPES):
            rows = questions.types == code
            if rows.any():
                trials.append(_Trial(f"temperature of {name}", rows, config.min_rows, _type_temperature(name)))
    if config.fits_noul_bias and is_noul.any():
        trials.append(_Trial("bias of yes", is_noul, config.min_rows, _noul_bias))
    for code in map(int, np.unique(questions.family)):
        trials.extend(_family_trials(questions, questions.families[code], questions.family == code, config))
    return trials


def _family_trials(questions: ScoredQuestions, family: str, rows: BoolArray, config: FitConfig) -> list[_Trial]:
    types = np.unique(questions.types[rows])
    is_levels = types.tolist() == [QUESTION_TYPES.index("score")] and np.unique(questions.n_options[rows]).size == 1
    is_whole_type = types.size == 1 and np.array_equal(rows, questions.types == types[0])
    trials: list[_Trial] = []
    if config.fits_score_bias and is_levels:
        update = _score_bias(family, config.score_ridge)
        trials.append(_Trial(f"level biases of {family}", rows, config.min_family_rows, update))
    if config.fits_families and not (is_whole_type and config.scope == "type"):
        update = _family_temperature(family)
        trials.append(_Trial(f"temperature of family {family}", rows, config.min_family_rows, update))
    return trials


def _pooled_temperature(questions: ScoredQuestions, base: Calibration) -> dict[str, Any]:
    del base  # the first step: nothing comes before it
    fitted = fit_temperature(_matrices(questions))
    return {} if fitted.at_edge else {"temperature": dict.fromkeys(QUESTION_TYPES, fitted.temperature)}


def _type_temperature(name: str) -> Callable[[ScoredQuestions, Calibration], dict[str, Any]]:
    def update(questions: ScoredQuestions, base: Calibration) -> dict[str, Any]:
        fitted = fit_temperature(_matrices(questions))
        return {} if fitted.at_edge else {"temperature": {**base.temperature, name: fitted.temperature}}

    return update


def _noul_bias(questions: ScoredQuestions, base: Calibration) -> dict[str, Any]:
    fitted = fit_affine(_whole(questions), ridge=0.0, is_free=(False, True))
    if fitted.at_edge or abs(fitted.bias[1]) > MAX_BIAS:
        return {}  # one class only, or classes that a line parts: the optimum is at infinity
    return {"temperature": {**base.temperature, "noul": fitted.temperature}, "noul_bias": float(fitted.bias[1])}


def _score_bias(family: str, ridge: float) -> Callable[[ScoredQuestions, Calibration], dict[str, Any]]:
    def update(questions: ScoredQuestions, base: Calibration) -> dict[str, Any]:
        matrix = _whole(questions)
        fitted = fit_affine(matrix, ridge=ridge, is_free=[level > 0 for level in range(matrix.target.shape[1])])
        return _family_update(base, family, fitted)

    return update


def _family_update(base: Calibration, family: str, fitted: Affine) -> dict[str, Any]:
    if fitted.at_edge or np.max(np.abs(fitted.bias)) > MAX_BIAS:
        return {}
    return {
        "family_temperature": {**base.family_temperature, family: fitted.temperature},
        "score_bias": {**base.score_bias, family: fitted.bias.tolist()},
    }


def _family_temperature(family: str) -> Callable[[ScoredQuestions, Calibration], dict[str, Any]]:
    def update(questions: ScoredQuestions, base: Calibration) -> dict[str, Any]:
        if family in base.score_bias:
            return {}  # the level biases came with the family's own temperature
        fitted = fit_temperature(_matrices(questions, base))
        return {} if fitted.at_edge else {"family_temperature": {**base.family_temperature, family: fitted.temperature}}

    return update


def _matrices(questions: ScoredQuestions, base: Calibration | None = None) -> list[Matrix]:
    """Blocks for a temperature fit, with the yes/no bias of `base` already added."""
    bias = base.noul_bias if base else 0.0
    return [
        Matrix(
            questions.log_scores[block.slots] + (np.array([0.0, bias]) if block.type == "noul" else 0.0),
            questions.target[block.slots],
        )
        for block in questions.blocks()
    ]


def _whole(questions: ScoredQuestions) -> Matrix:
    """All questions as one matrix; they have equally many options."""
    options = int(questions.n_options[0])
    return Matrix(questions.log_scores.reshape(-1, options), questions.target.reshape(-1, options))


def _losses(questions: ScoredQuestions, calibration: Calibration) -> FloatArray:
    terms = questions.target * np.log(np.maximum(questions.probabilities(calibration), PROBABILITY_FLOOR))
    return -np.add.reduceat(terms, questions.starts[:-1])


def _one_hot(questions: ScoredQuestions) -> ScoredQuestions:
    target = np.zeros_like(questions.target)
    target[questions.starts[:-1] + questions.label] = 1.0
    return replace(questions, target=target)


def _assign_folds(questions: ScoredQuestions, config: FitConfig) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Fold of each question; whole clusters, folds of nearly equal numbers of clusters."""
    clusters, codes = np.unique(questions.cluster, return_inverse=True)
    order = np.random.default_rng(config.seed).permutation(clusters.size)
    return (order % config.folds)[codes]
