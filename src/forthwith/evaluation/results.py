"""What an evaluation gives: versioned, typed, JSON. Reports and leaderboards are made from this alone."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Confusion",
    "EvaluationReport",
    "MacroScores",
    "NoneDetection",
    "Reliability",
    "RiskCoverageCurve",
    "SafetyRate",
    "Scores",
    "WorstError",
]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MacroScores(_Frozen):
    """Unweighted means over families; a family without a value is skipped, None where no family has one.

    Fields that end in `_scorable` leave out ambiguous questions (those whose options tie), as do accuracy, coverage
    and everything made from right and wrong answers. The other proper scores and calibration errors include them.
    """

    accuracy: float | None = None
    balanced_accuracy: float | None = None
    majority_share: float | None = None
    nll: float | None = None
    nll_scorable: float | None = None
    brier_score: float | None = None
    brier_score_scorable: float | None = None
    half_brier_score: float | None = None
    ece_15: float | None = None
    ece_15_scorable: float | None = None
    ece_15_right_closed: float | None = None
    ece_10: float | None = None
    ece_debiased: float | None = None
    total_variation_distance: float | None = None
    ranked_probability_score: float | None = None
    mean_absolute_error: float | None = None
    mean_absolute_error_expected: float | None = None
    quadratic_weighted_kappa: float | None = None
    auroc_confidence: float | None = None
    aurc: float | None = None
    excess_aurc: float | None = None
    selective_accuracy_50: float | None = None
    coverage_in_sample: float | None = None
    coverage: float | None = None
    realised_error: float | None = None


class Scores(MacroScores):
    """Metrics of one group of questions.

    `accuracy_low` and `accuracy_high` are the ends of a 95 % Wilson interval whose number of questions is divided by the
    design effect of the clusters; `ece_debiased_low` and `_high` those of the debiased calibration error.
    `coverage_in_sample` is the largest share within the error budget on these very questions, `coverage` the share at or
    above the thresholds in force.
    """

    n_questions: int
    n_scorable: int
    n_ambiguous: int
    n_clusters: int
    n_automated: int | None = None
    n_automated_errors: int | None = None
    accuracy_low: float | None = None
    accuracy_high: float | None = None
    ece_debiased_low: float | None = None
    ece_debiased_high: float | None = None


class SafetyRate(_Frozen):
    """How often the risky answer is missed: questions whose right answer is `risky_label` and that got the other one."""

    family: str
    risky_label: Literal["true", "false"]
    n_at_risk: int
    n_missed: int
    rate: float | None
    n_at_risk_automated: int | None = None
    n_missed_automated: int | None = None
    rate_automated: float | None = None


class NoneDetection(_Frozen):
    """How well a signal tells questions where no option is right from the others.

    `signal` is "probability" (of the option that says none) or "none_score" (minus the readout's log-odds that an option
    is right). The ROC is thinned to at most 101 points.
    """

    signal: Literal["probability", "none_score"]
    n_none: int
    n_other: int
    auroc: float | None
    false_positive_rate: list[float] = Field(default_factory=list[float])
    true_positive_rate: list[float] = Field(default_factory=list[float])


class Confusion(_Frozen):
    """Counts by right option (row) and given option (column), for a family whose questions share their options."""

    options: list[str]
    counts: list[list[int]]


class Reliability(_Frozen):
    """A reliability diagram of equal-width bins: count, mean confidence and mean correctness of each, empty bins 0."""

    edges: list[float]
    count: list[int]
    confidence: list[float]
    correctness: list[float]


class RiskCoverageCurve(_Frozen):
    """Error among the most confident answers against their share, thinned to at most 201 points."""

    threshold: list[float]
    coverage: list[float]
    risk: list[float]


class WorstError(_Frozen):
    """A wrong answer given with high confidence."""

    id: str
    qid: str
    family: str
    label: str
    answer: str
    confidence: float
    is_automated: bool | None


class EvaluationReport(_Frozen):
    """All figures of one predictor on one set of records.

    In aggregate-only mode `worst_errors` and `slices` are empty: nothing points at a single question.
    """

    format: Literal["forthwith-evaluation/1"] = "forthwith-evaluation/1"
    name: str
    readout: str
    is_calibrated: bool
    is_aggregate_only: bool
    error_budget: float
    n_questions: int
    n_states: int
    n_clusters: int
    n_ambiguous: int
    n_without_target: int
    micro: Scores
    macro: MacroScores
    families: dict[str, Scores]
    slices: dict[str, dict[str, Scores]]
    safety: list[SafetyRate]
    none_of_these: list[NoneDetection]
    confusion: dict[str, Confusion]
    reliability: dict[str, Reliability]
    risk_coverage: dict[str, RiskCoverageCurve]
    worst_errors: list[WorstError]
