"""One candidate against others on the same questions: paired, clustered, corrected for the number of comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict

from forthwith.calibration import Calibration
from forthwith.errors import ConfigError, DataError
from forthwith.evaluation.align import AlignedQuestions
from forthwith.evaluation.columns import question_columns
from forthwith.evaluation.resampling import Interval, PairedValues, paired_bootstrap, sign_flip
from forthwith.evaluation.significance import equivalence, holm, mcnemar

__all__ = [
    "CompareOptions",
    "Comparison",
    "Contender",
    "Difference",
    "EquivalenceResult",
    "check_same_questions",
    "compare",
]


@dataclass(frozen=True)
class Contender:
    """A model's name, its aligned predictions and the calibration that is applied to them."""

    name: str
    questions: AlignedQuestions
    calibration: Calibration | None = None


@dataclass(frozen=True)
class CompareOptions:
    """How to compare.

    Attributes:
        n_resamples: of the clusters, for intervals, p-values and sign flips.
        seed: of the resamples.
        margin: difference in macro accuracy that does not matter; tests equivalence and non-inferiority where given.
    """

    n_resamples: int = 10_000
    seed: int = 20260930
    margin: float | None = None

    def __post_init__(self) -> None:
        if self.margin is not None and not 0 < self.margin < 1:
            raise ConfigError(
                f"margin is {self.margin}; it is a share, as 0.01 for one point, between 0 and 1", "margin"
            )


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Difference(_Frozen):
    """Candidate minus baseline, with its 95 % interval."""

    difference: float
    low: float
    high: float


class EquivalenceResult(_Frozen):
    """Two one-sided tests against a margin at level 0.05."""

    margin: float
    p_not_worse: float
    p_not_better: float
    is_not_inferior: bool
    is_equivalent: bool


class Comparison(_Frozen):
    """One candidate against one baseline, in accuracy over questions that have one right answer.

    Attributes:
        macro, micro: mean over families, and over questions.
        families: by name.
        p_value: one-sided bootstrap p that the macro difference is not above 0; at least 1 / (n_resamples + 1).
        p_holm: the same after Holm's correction for all comparisons of the candidate.
        sign_flip_p: two-sided, clusters swapped at random.
        only_candidate, only_baseline: questions that exactly one answers rightly; `mcnemar_p` is the exact test of them.
    """

    candidate: str
    baseline: str
    questions: int
    clusters: int
    macro: Difference
    micro: Difference
    families: dict[str, Difference]
    p_value: float
    p_holm: float
    sign_flip_p: float
    only_candidate: int
    only_baseline: int
    mcnemar_p: float
    n_resamples: int
    seed: int
    equivalence: EquivalenceResult | None = None


def compare(
    candidate: Contender, baselines: Sequence[Contender], options: CompareOptions | None = None
) -> list[Comparison]:
    """The candidate against each baseline.

    Args:
        candidate: the model that may be better.
        baselines: the models to beat; answered the same questions.
        options: resamples and margin.

    Raises:
        DataError: there is no baseline, the questions differ, or none has one right answer.
    """
    if not baselines:
        raise DataError("there is nothing to compare with; give at least one baseline")
    options = options or CompareOptions()
    raw = [_compare(candidate, baseline, options) for baseline in baselines]
    adjusted = holm({str(place): result.p_value for place, result in enumerate(raw)})
    return [result.model_copy(update={"p_holm": adjusted[str(place)]}) for place, result in enumerate(raw)]


def check_same_questions(first: AlignedQuestions, second: AlignedQuestions, names: tuple[str, str]) -> None:
    """Refuse two sets of predictions that do not answer the same questions.

    Raises:
        DataError: with the first question in which they differ.
    """
    one = list(zip(first.record_ids, first.qids, strict=True))
    two = list(zip(second.record_ids, second.qids, strict=True))
    if one != two:
        stray = next(iter(sorted(set(one) ^ set(two))), None)
        where = "in another order" if stray is None else f"first difference {stray[0]}/{stray[1]}"
        raise DataError(
            f"{names[0]} and {names[1]} do not answer the same questions ({len(one)} and {len(two)}; {where}); "
            "predict the same file with both"
        )


def _compare(candidate: Contender, baseline: Contender, options: CompareOptions) -> Comparison:
    names = (candidate.name, baseline.name)
    check_same_questions(candidate.questions, baseline.questions, names)
    new = question_columns(candidate.questions, candidate.calibration)
    old = question_columns(baseline.questions, baseline.calibration)
    rows = np.flatnonzero(new.is_scorable)
    if not rows.size:
        raise DataError(f"{names[0]} and {names[1]}: no question has one right answer, so nothing can be counted")
    scored = candidate.questions.scored
    values = PairedValues(
        baseline=old.is_right[rows].astype(np.float64),
        candidate=new.is_right[rows].astype(np.float64),
        family=scored.family[rows],
        cluster=scored.cluster[rows],
    )
    result = paired_bootstrap(values, n_resamples=options.n_resamples, seed=options.seed)
    discordant = mcnemar(old.is_right[rows], new.is_right[rows])
    return Comparison(
        candidate=names[0],
        baseline=names[1],
        questions=int(rows.size),
        clusters=result.n_clusters,
        macro=_difference(result.macro),
        micro=_difference(result.micro),
        families={scored.families[code]: _difference(found) for code, found in result.families.items()},
        p_value=result.p_value,
        p_holm=result.p_value,
        sign_flip_p=sign_flip(values, n_flips=options.n_resamples, seed=options.seed),
        only_candidate=discordant.only_candidate,
        only_baseline=discordant.only_baseline,
        mcnemar_p=discordant.p_value,
        n_resamples=options.n_resamples,
        seed=options.seed,
        equivalence=None if options.margin is None else _equivalence(values, options.margin, options),
    )


def _equivalence(values: PairedValues, margin: float, options: CompareOptions) -> EquivalenceResult:
    found = equivalence(values, margin=margin, n_resamples=options.n_resamples, seed=options.seed)
    return EquivalenceResult(
        margin=margin,
        p_not_worse=found.p_not_worse,
        p_not_better=found.p_not_better,
        is_not_inferior=found.is_not_inferior,
        is_equivalent=found.is_equivalent,
    )


def _difference(interval: Interval) -> Difference:
    return Difference(difference=interval.difference, low=interval.low, high=interval.high)
