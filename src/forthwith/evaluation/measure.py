"""Evaluate one predictor: per family, macro, micro and by slice, with curves and the errors worth reading."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from forthwith.calibration import Calibration
from forthwith.evaluation.align import AlignedQuestions
from forthwith.evaluation.columns import QuestionColumns, question_columns
from forthwith.evaluation.results import (
    Confusion,
    EvaluationReport,
    MacroScores,
    NoneDetection,
    Reliability,
    RiskCoverageCurve,
    SafetyRate,
    Scores,
    WorstError,
)
from forthwith.evaluation.scores import group_scores
from forthwith.metrics import FloatArray, confusion_counts, reliability_bins, risk_coverage_curve, roc_curve
from forthwith.metrics import auroc as area_under_roc

__all__ = ["MeasureConfig", "SafetyRule", "evaluate", "macro_scores"]

_Made = TypeVar("_Made")


@dataclass(frozen=True)
class SafetyRule:
    """A yes/no family in which one answer is risky to miss."""

    family: str
    risky_label: Literal["true", "false"]


_SAFETY_RULES = (
    SafetyRule("needs_approval", "true"),
    SafetyRule("forgotten_violation", "true"),
    SafetyRule("share_ok", "false"),
)


@dataclass(frozen=True)
class MeasureConfig:
    """What is reported.

    Attributes:
        name: of the predictor, for tables.
        safety_rules: reported where the family occurs.
        none_keys: option keys that say that no option is right.
        n_worst: how many of the most confident errors to list.
        max_confusion_options: families with more options get no confusion table.
        aggregate_only: nothing that points at single questions.
        error_budget: for the in-sample coverage, and where no thresholds say otherwise.
    """

    name: str = "model"
    safety_rules: tuple[SafetyRule, ...] = _SAFETY_RULES
    none_keys: tuple[str, ...] = ("none", "none_of_these", "none of these", "none_of_the_above")
    n_worst: int = 50
    max_confusion_options: int = 40
    aggregate_only: bool = False
    error_budget: float = 0.05


def evaluate(
    aligned: AlignedQuestions, calibration: Calibration | None = None, config: MeasureConfig | None = None
) -> EvaluationReport:
    """All figures of one predictor.

    Args:
        aligned: predictions beside records.
        calibration: applied if given, thresholds included; whether it belongs to the predictions is for the caller to
            check (`Binding`).
        config: what is reported.
    """
    config = config or MeasureConfig()
    columns = question_columns(aligned, calibration)
    thresholds = calibration.thresholds if calibration else None
    budget = thresholds.error_budget if thresholds else config.error_budget
    families = {
        name: group_scores(columns.take(columns.family == code), budget)
        for code, name in enumerate(aligned.scored.families)
        if np.any(columns.family == code)
    }
    return EvaluationReport(
        name=config.name,
        readout=aligned.readout,
        is_calibrated=calibration is not None,
        is_aggregate_only=config.aggregate_only,
        error_budget=budget,
        n_questions=len(columns),
        n_states=aligned.n_states,
        n_clusters=int(np.unique(columns.cluster).size),
        n_ambiguous=int(np.count_nonzero(~columns.is_scorable)),
        n_without_target=aligned.n_without_target,
        micro=group_scores(columns, budget),
        macro=macro_scores(families),
        families=families,
        slices={} if config.aggregate_only else _slices(aligned, columns, budget),
        safety=_safety(aligned, columns, config),
        none_of_these=_none_detection(aligned, calibration, config),
        confusion=_confusion(aligned, columns, config),
        reliability=_by_group(aligned, columns, _reliability),
        risk_coverage=_by_group(aligned, columns.take(columns.is_scorable), _risk_coverage),
        worst_errors=[] if config.aggregate_only else _worst(aligned, columns, config),
    )


def macro_scores(families: dict[str, Scores]) -> MacroScores:
    """Unweighted means over families, families without a value skipped."""
    means: dict[str, float | None] = {}
    for name in MacroScores.model_fields:
        values = [value for scores in families.values() if (value := getattr(scores, name)) is not None]
        means[name] = float(np.mean(values)) if values else None
    return MacroScores(**means)


def _slices(aligned: AlignedQuestions, columns: QuestionColumns, budget: float) -> dict[str, dict[str, Scores]]:
    found: dict[str, dict[str, Scores]] = {}
    for name, values in aligned.slices.items():
        keys, codes = np.unique(np.array(values), return_inverse=True)
        found[name] = {str(key): group_scores(columns.take(codes == place), budget) for place, key in enumerate(keys)}
    return found


def _safety(aligned: AlignedQuestions, columns: QuestionColumns, config: MeasureConfig) -> list[SafetyRate]:
    rates: list[SafetyRate] = []
    has_thresholds = bool(np.any(~np.isnan(columns.threshold)))
    for rule in config.safety_rules:
        if rule.family not in aligned.scored.families:
            continue
        code = aligned.scored.families.index(rule.family)
        risky = int(rule.risky_label == "true")
        at_risk = (columns.family == code) & columns.is_scorable & (columns.label == risky) & (columns.n_options == 2)
        missed = at_risk & ~columns.is_right
        n_at_risk, n_missed = int(at_risk.sum()), int(missed.sum())
        automated = int((at_risk & columns.is_automated).sum())
        missed_automated = int((missed & columns.is_automated).sum())
        rates.append(
            SafetyRate(
                family=rule.family,
                risky_label=rule.risky_label,
                n_at_risk=n_at_risk,
                n_missed=n_missed,
                rate=n_missed / n_at_risk if n_at_risk else None,
                n_at_risk_automated=automated if has_thresholds else None,
                n_missed_automated=missed_automated if has_thresholds else None,
                rate_automated=missed_automated / automated if automated else None,
            )
        )
    return rates


def _none_detection(
    aligned: AlignedQuestions, calibration: Calibration | None, config: MeasureConfig
) -> list[NoneDetection]:
    none_keys = set(config.none_keys)
    is_choice = [kind == "choice" for kind in aligned.slices["type"]]
    place = np.array(
        [next((i for i, key in enumerate(keys) if key in none_keys), -1) for keys in aligned.options], dtype=np.int64
    )
    rows = np.flatnonzero((place >= 0) & np.array(is_choice))
    if not rows.size:
        return []
    is_none = aligned.scored.label[rows] == place[rows]
    probabilities = aligned.scored.probabilities(calibration)
    found = [_detection("probability", probabilities[aligned.scored.starts[rows] + place[rows]], is_none)]
    scores = aligned.none_scores[rows]
    known = ~np.isnan(scores)
    if known.any():
        found.append(_detection("none_score", -scores[known], is_none[known]))
    return found


def _detection(
    signal: Literal["probability", "none_score"],
    scores: FloatArray,
    is_none: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> NoneDetection:
    curve = roc_curve(scores, is_none)
    keep = _thinned(curve.threshold.size if curve else 0, 101)
    return NoneDetection(
        signal=signal,
        n_none=int(is_none.sum()),
        n_other=int((~is_none).sum()),
        auroc=area_under_roc(scores, is_none),
        false_positive_rate=curve.false_positive_rate[keep].tolist() if curve else [],
        true_positive_rate=curve.true_positive_rate[keep].tolist() if curve else [],
    )


def _confusion(aligned: AlignedQuestions, columns: QuestionColumns, config: MeasureConfig) -> dict[str, Confusion]:
    options: dict[int, set[tuple[str, ...]]] = {}
    for code, keys in zip(columns.family.tolist(), aligned.options, strict=True):
        options.setdefault(code, set()).add(keys)
    tables: dict[str, Confusion] = {}
    for code, variants in sorted(options.items()):
        keys = next(iter(variants))
        rows = columns.take((columns.family == code) & columns.is_scorable)
        if len(variants) == 1 and len(keys) <= config.max_confusion_options and len(rows):
            counts = confusion_counts(rows.predicted, rows.label, n_options=len(keys))
            tables[aligned.scored.families[code]] = Confusion(options=list(keys), counts=counts.tolist())
    return tables


def _by_group(
    aligned: AlignedQuestions, columns: QuestionColumns, make: Callable[[QuestionColumns], _Made]
) -> dict[str, _Made]:
    found: dict[str, _Made] = {}
    if len(columns):
        found["all"] = make(columns)
    for code, name in enumerate(aligned.scored.families):
        rows = columns.family == code
        if rows.any():
            found[name] = make(columns.take(rows))
    return found


def _reliability(columns: QuestionColumns) -> Reliability:
    bins = reliability_bins(columns.confidence, columns.correctness, n_bins=15)
    return Reliability(
        edges=bins.edges.tolist(),
        count=bins.count.astype(int).tolist(),
        confidence=bins.confidence.tolist(),
        correctness=bins.correctness.tolist(),
    )


def _risk_coverage(columns: QuestionColumns) -> RiskCoverageCurve:
    curve = risk_coverage_curve(columns.confidence, ~columns.is_right)
    keep = _thinned(curve.threshold.size, 201)
    return RiskCoverageCurve(
        threshold=curve.threshold[keep].tolist(), coverage=curve.coverage[keep].tolist(), risk=curve.risk[keep].tolist()
    )


def _thinned(size: int, most: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Places of at most so many points, ends included."""
    return (
        np.unique(np.linspace(0, max(0, size - 1), min(size, most)).astype(np.int64)) if size else np.zeros(0, np.int64)
    )


def _worst(aligned: AlignedQuestions, columns: QuestionColumns, config: MeasureConfig) -> list[WorstError]:
    wrong = np.flatnonzero(columns.is_scorable & ~columns.is_right)
    order = wrong[np.argsort(-columns.confidence[wrong], kind="stable")][: config.n_worst]
    return [
        WorstError(
            id=aligned.record_ids[row],
            qid=aligned.qids[row],
            family=aligned.scored.families[int(columns.family[row])],
            label=aligned.label_key(row),
            answer=aligned.options[row][int(columns.predicted[row])],
            confidence=float(columns.confidence[row]),
            is_automated=None if np.isnan(columns.threshold[row]) else bool(columns.is_automated[row]),
        )
        for row in map(int, order)
    ]
