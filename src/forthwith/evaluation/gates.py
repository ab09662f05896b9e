"""The verdict of a gate: what a candidate shows against a baseline before it is released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from forthwith.calibration import Calibration
from forthwith.errors import ConfigError, DataError
from forthwith.evaluation.align import AlignedQuestions
from forthwith.evaluation.columns import QuestionColumns, question_columns
from forthwith.evaluation.gate_spec import (
    Check,
    CoverageCheck,
    DifferenceCheck,
    FamiliesCheck,
    GateSpec,
    GuardCheck,
    IntervalCheck,
    PValueCheck,
    SafetyCheck,
    example_gate,
    read_gate,
)
from forthwith.evaluation.measure import SafetyRule
from forthwith.evaluation.resampling import Interval, PairedBootstrap, PairedValues, paired_bootstrap
from forthwith.evaluation.significance import mcnemar
from forthwith.metrics import BoolArray

__all__ = [
    "CheckResult",
    "GateInput",
    "GateReport",
    "GateSpec",
    "example_gate",
    "gate_input",
    "read_gate",
    "run_gate",
]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class GateInput:
    """Both predictors' answers to the same questions, row by row.

    Attributes:
        baseline: columns of the baseline.
        candidate: columns of the candidate.
        families: names, by code.
        n_states: different states among them.
    """

    baseline: QuestionColumns
    candidate: QuestionColumns
    families: tuple[str, ...]
    n_states: int


class CheckResult(_Frozen):
    """One check: whether it passed, the number it looked at, and what was asked of it."""

    name: str
    kind: str
    passed: bool
    found: float | None
    asked: str


class Estimate(_Frozen):
    """Candidate minus baseline with its 95 % interval."""

    difference: float
    low: float
    high: float


class SafetyEstimate(_Frozen):
    """Rates of a safety miss among those at risk, and the rise from baseline to candidate."""

    n_at_risk: int
    baseline: float | None
    candidate: float | None
    rise: Estimate | None


class GateReport(_Frozen):
    """The verdict. Holds counts and aggregates only, so that it can be published for sealed data.

    Attributes:
        data_sha256: of the file that decided; None in verdicts that were written before it was noted.
    """

    format: Literal["forthwith-gate-report/1"] = "forthwith-gate-report/1"
    name: str
    data_sha256: str | None = None
    passed: bool
    checks: list[CheckResult]
    n_questions: int
    n_scorable: int
    n_ambiguous: int
    n_states: int
    n_clusters: int
    macro: Estimate
    families: dict[str, Estimate]
    safety: dict[str, SafetyEstimate]
    p_value: float
    mcnemar_gained: int
    mcnemar_lost: int
    mcnemar_p: float
    coverage_baseline: float | None
    coverage_candidate: float | None
    guard: Estimate | None


def gate_input(
    baseline: AlignedQuestions,
    candidate: AlignedQuestions,
    calibrations: tuple[Calibration | None, Calibration | None] = (None, None),
) -> GateInput:
    """Two predictors' answers to one file, each with its own calibration and thresholds.

    Args:
        baseline: aligned predictions of the baseline.
        candidate: aligned predictions of the candidate, on the same records.
        calibrations: of the baseline and of the candidate.

    Raises:
        DataError: they answer different questions.
    """
    places = [list(zip(side.record_ids, side.qids, strict=True)) for side in (baseline, candidate)]
    if places[0] != places[1]:
        counts = f"{len(places[0])} and {len(places[1])}"
        raise DataError(f"the predictors answered different questions ({counts}); predict the same file with both")
    columns = [question_columns(side, fit) for side, fit in zip((baseline, candidate), calibrations, strict=True)]
    return GateInput(columns[0], columns[1], baseline.scored.families, baseline.n_states)


def run_gate(
    spec: GateSpec, data: GateInput, guard: GateInput | None = None, safety_rules: tuple[SafetyRule, ...] = ()
) -> GateReport:
    """Judge a candidate by every check of a gate.

    Args:
        spec: the gate.
        data: answers to the committed data.
        guard: answers to the guard set, due where a check asks for it.
        safety_rules: families whose misses are counted.

    Raises:
        ConfigError: a guard check without guard answers, or a coverage check without thresholds.
        DataError: the two predictors answered different questions, or none has a right answer.
    """
    evidence = _Evidence(spec, data, guard, safety_rules)
    results = [_judge(check, evidence, spec.tolerance) for check in spec.checks]
    right = [side.is_right[evidence.scorable] for side in (data.baseline, data.candidate)]
    pairs = mcnemar(*right)
    return GateReport(
        name=spec.name,
        passed=all(result.passed for result in results),
        checks=results,
        n_questions=len(data.baseline),
        n_scorable=int(evidence.scorable.sum()),
        n_ambiguous=int((~evidence.scorable).sum()),
        n_states=data.n_states,
        n_clusters=evidence.result.n_clusters,
        macro=_estimate(evidence.result.macro),
        families={data.families[code]: _estimate(item) for code, item in evidence.result.families.items()},
        safety=evidence.safety,
        p_value=evidence.result.p_value,
        mcnemar_gained=pairs.only_candidate,
        mcnemar_lost=pairs.only_baseline,
        mcnemar_p=pairs.p_value,
        coverage_baseline=evidence.coverage[0],
        coverage_candidate=evidence.coverage[1],
        guard=None if evidence.guard is None else _estimate(evidence.guard.macro),
    )


def check_inputs(spec: GateSpec, *, has_thresholds: bool, has_guard: bool) -> None:
    """Whether the gate's checks have what they need; to be asked before a one-shot gate is used up.

    Raises:
        ConfigError: a guard check without guard answers, or a coverage check without thresholds of both.
    """
    for check in spec.checks:
        if isinstance(check, CoverageCheck) and not has_thresholds:
            raise _lacks_thresholds(check)
        if isinstance(check, GuardCheck) and not has_guard:
            raise _lacks_guard(check)


def _lacks_thresholds(check: CoverageCheck) -> ConfigError:
    return ConfigError(f"check {check.name!r} needs both predictors' thresholds; calibrate both", "thresholds")


def _lacks_guard(check: GuardCheck) -> ConfigError:
    return ConfigError(f"check {check.name!r} needs predictions on a guard set; give both predictors'", "guard")


class _Evidence:
    """Everything the checks look at, computed once."""

    def __init__(
        self, spec: GateSpec, data: GateInput, guard: GateInput | None, safety_rules: tuple[SafetyRule, ...]
    ) -> None:
        self.scorable = _scorable(data)
        self.result = _paired(data, self.scorable, spec)
        self.guard = None if guard is None else _paired(guard, _scorable(guard), spec)
        self.coverage = tuple(_macro_coverage(side.take(self.scorable)) for side in (data.baseline, data.candidate))
        self.safety = {rule.family: _safety(data, rule, spec) for rule in safety_rules if rule.family in data.families}


def _judge(check: Check, evidence: _Evidence, slack: float) -> CheckResult:
    match check:
        case DifferenceCheck():
            found, passed = evidence.result.macro.difference, evidence.result.macro.difference >= check.at_least - slack
            asked = f"macro difference at least {check.at_least:g}"
        case IntervalCheck():
            found, passed = evidence.result.macro.low, evidence.result.macro.low > check.low_above + slack
            asked = f"lower end above {check.low_above:g}"
        case FamiliesCheck():
            return _judge_families(check, evidence, slack)
        case SafetyCheck():
            lows = [item.rise.low for item in evidence.safety.values() if item.rise is not None]
            found = max(lows, default=None)
            passed = found is None or found <= check.low_at_most + slack
            asked = f"every rise of a miss rate: lower end at most {check.low_at_most:g}"
        case GuardCheck():
            return _judge_guard(check, evidence, slack)
        case PValueCheck():
            found, passed = evidence.result.p_value, evidence.result.p_value < check.below - slack
            asked = f"one-sided p below {check.below:g}"
        case CoverageCheck():
            baseline, candidate = evidence.coverage
            if baseline is None or candidate is None:
                raise _lacks_thresholds(check)
            found, passed = candidate - baseline, candidate - baseline > check.above_baseline_by + slack
            asked = f"macro coverage above the baseline's by more than {check.above_baseline_by:g}"
    return CheckResult(name=check.name, kind=check.kind, passed=passed, found=found, asked=asked)


def _judge_families(check: FamiliesCheck, evidence: _Evidence, slack: float) -> CheckResult:
    families = evidence.result.families.values()
    passed = all(
        item.high >= check.high_at_least - slack and item.difference >= check.difference_at_least - slack
        for item in families
    )
    asked = (
        f"every family: difference at least {check.difference_at_least:g}, upper end at least {check.high_at_least:g}"
    )
    worst = min(item.difference for item in families)
    return CheckResult(name=check.name, kind=check.kind, passed=passed, found=worst, asked=asked)


def _judge_guard(check: GuardCheck, evidence: _Evidence, slack: float) -> CheckResult:
    if evidence.guard is None:
        raise _lacks_guard(check)
    macro = evidence.guard.macro
    limits = [("difference", macro.difference, check.at_least), ("lower end", macro.low, check.low_at_least)]
    asked = [(what, value, limit) for what, value, limit in limits if limit is not None]
    if not asked:
        raise ConfigError(f"check {check.name!r} has neither at_least nor low_at_least; set one", "guard")
    passed = all(value >= limit - slack for _, value, limit in asked)
    text = ", ".join(f"{what} at least {limit:g}" for what, _, limit in asked)
    return CheckResult(name=check.name, kind=check.kind, passed=passed, found=asked[-1][1], asked=f"guard: {text}")


def _scorable(data: GateInput) -> BoolArray:
    one, two = data.baseline, data.candidate
    if len(one) != len(two) or not np.array_equal(one.label, two.label) or not np.array_equal(one.family, two.family):
        raise DataError(
            f"the predictors answered different questions ({len(one)} and {len(two)}); predict the same file"
        )
    if not one.is_scorable.any():
        raise DataError(f"none of the {len(one)} questions has one right answer; a gate needs some")
    return one.is_scorable


def _paired(data: GateInput, rows: BoolArray, spec: GateSpec) -> PairedBootstrap:
    values = PairedValues(
        data.baseline.is_right[rows].astype(np.float64),
        data.candidate.is_right[rows].astype(np.float64),
        data.baseline.family[rows],
        data.baseline.cluster[rows],
    )
    return paired_bootstrap(values, n_resamples=spec.resamples, seed=spec.seed)


def _safety(data: GateInput, rule: SafetyRule, spec: GateSpec) -> SafetyEstimate:
    columns, risky = data.baseline, int(rule.risky_label == "true")
    rows = (columns.family == data.families.index(rule.family)) & columns.is_scorable
    rows &= (columns.label == risky) & (columns.n_options == 2)
    n = int(rows.sum())
    if n == 0:
        return SafetyEstimate(n_at_risk=0, baseline=None, candidate=None, rise=None)
    missed = [~side.is_right[rows] for side in (data.baseline, data.candidate)]
    values = PairedValues(
        missed[0].astype(np.float64), missed[1].astype(np.float64), columns.family[rows], columns.cluster[rows]
    )
    rise = paired_bootstrap(values, n_resamples=spec.resamples, seed=spec.seed).macro
    rates = [float(item.mean()) for item in missed]
    return SafetyEstimate(n_at_risk=n, baseline=rates[0], candidate=rates[1], rise=_estimate(rise))


def _macro_coverage(scorable: QuestionColumns) -> float | None:
    if np.all(np.isnan(scorable.threshold)):
        return None
    automated = scorable.is_automated
    return float(np.mean([automated[scorable.family == code].mean() for code in np.unique(scorable.family)]))


def _estimate(interval: Interval) -> Estimate:
    return Estimate(difference=interval.difference, low=interval.low, high=interval.high)
