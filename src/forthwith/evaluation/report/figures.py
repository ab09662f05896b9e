"""The numbers behind the pictures of a report: reliability, risk against coverage, confusions, confident errors."""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np
from pydantic import BaseModel, ConfigDict
from scipy.stats import beta  # pyright: ignore[reportUnknownVariableType]

from forthwith.calibration import Calibration, Thresholds
from forthwith.evaluation.align import AlignedQuestions
from forthwith.evaluation.outcomes import Outcomes, outcomes
from forthwith.metrics import BoolArray, IntArray, confusion_counts, reliability_bins, risk_coverage_curve
from forthwith.schema import Record

__all__ = [
    "ConfidentError",
    "Confusion",
    "CurvePoint",
    "ModelFigures",
    "ReliabilityBin",
    "SliceFigures",
    "add_texts",
    "model_figures",
]

_BINS = 15
_CURVE_POINTS = 160
_MATRIX_OPTIONS = 12
_PAIRS = 12
_EXCERPT = 700


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ReliabilityBin(_Frozen):
    """Questions of one bin of confidence: mean confidence, mean correctness with its 95 % Clopper-Pearson interval."""

    low_edge: float
    high_edge: float
    count: int
    confidence: float
    correctness: float
    low: float
    high: float


class CurvePoint(_Frozen):
    """The answers at or above a confidence: their share, and the share of them that is wrong."""

    threshold: float
    coverage: float
    risk: float


class Confusion(_Frozen):
    """How often each option was answered for each right one, for a family whose questions share their options.

    `counts[i][j]` questions have the right option i and the answer j. Above 12 options only `pairs`, the commonest
    mistakes as (right, answered, count), are kept.
    """

    family: str
    options: list[str]
    counts: list[list[int]]
    pairs: list[tuple[str, str, int]]


class ConfidentError(_Frozen):
    """A wrong answer that was given with confidence; the texts are there when a report may show them."""

    record: str
    qid: str
    family: str
    right: str
    answered: str
    confidence: float
    right_probability: float
    automated: bool
    question: str = ""
    state: str = ""


class SliceFigures(_Frozen):
    """The curves of some questions: how many, bins that are not empty, and the risk-coverage curve (thinned)."""

    name: str
    questions: int
    reliability: list[ReliabilityBin]
    risk_coverage: list[CurvePoint]


class ModelFigures(_Frozen):
    """All pictures of one model."""

    name: str
    overall: SliceFigures
    families: list[SliceFigures]
    confusions: list[Confusion]
    confident_errors: list[ConfidentError]


def model_figures(
    name: str,
    questions: AlignedQuestions,
    *,
    calibration: Calibration | None = None,
    errors: int = 40,
) -> ModelFigures:
    """The figures of one model's predictions.

    Args:
        name: of the model.
        questions: its aligned predictions.
        calibration: applied before; its thresholds say which wrong answers would have been automated.
        errors: most confident errors to keep.
    """
    outcome = outcomes(questions, calibration)
    scored = questions.scored
    families = [
        _slice(family, outcome, scored.family == code)
        for code, family in enumerate(scored.families)
        if np.any(scored.family == code)
    ]
    thresholds = calibration.thresholds if calibration is not None else None
    return ModelFigures(
        name=name,
        overall=_slice("all", outcome, np.ones(len(questions), dtype=bool)),
        families=families,
        confusions=_confusions(questions, outcome),
        confident_errors=_confident_errors(questions, outcome, thresholds, errors),
    )


def add_texts(figures: ModelFigures, records: Iterable[Record]) -> ModelFigures:
    """The same figures with question and state excerpts beside the confident errors.

    Args:
        figures: without texts.
        records: the records that were answered; streamed once.
    """
    wanted = {error.record for error in figures.confident_errors}
    texts: dict[tuple[str, str], tuple[str, str]] = {}
    for record in records:
        if record.id in wanted:
            state = _text(record.state)
            for qid, question in record.questions.items():
                texts[record.id, qid] = (_text(question.instructions), state)
    errors: list[ConfidentError] = []
    for error in figures.confident_errors:
        question, state = texts.get((error.record, error.qid), ("", ""))
        errors.append(error.model_copy(update={"question": question, "state": state}))
    return figures.model_copy(update={"confident_errors": errors})


def _slice(name: str, outcome: Outcomes, mask: BoolArray) -> SliceFigures:
    bins = reliability_bins(outcome.confidence[mask], outcome.correctness[mask], n_bins=_BINS)
    reliability = [
        _bin(*(float(value) for value in row))
        for row in zip(bins.edges[:-1], bins.edges[1:], bins.count, bins.confidence, bins.correctness, strict=True)
        if row[2]
    ]
    rows = mask & outcome.is_scorable
    return SliceFigures(
        name=name,
        questions=int(np.count_nonzero(mask)),
        reliability=reliability,
        risk_coverage=_curve(outcome, rows) if rows.any() else [],
    )


def _bin(low_edge: float, high_edge: float, count: float, confidence: float, correctness: float) -> ReliabilityBin:
    right, wrong = correctness * count, (1 - correctness) * count
    low = float(beta.ppf(0.025, right, wrong + 1)) if right > 0 else 0.0  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    high = float(beta.ppf(0.975, right + 1, wrong)) if wrong > 0 else 1.0  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return ReliabilityBin(
        low_edge=low_edge,
        high_edge=high_edge,
        count=int(count),
        confidence=confidence,
        correctness=correctness,
        low=low,
        high=high,
    )


def _curve(outcome: Outcomes, rows: BoolArray) -> list[CurvePoint]:
    curve = risk_coverage_curve(outcome.confidence[rows], ~outcome.is_correct[rows])
    kept = np.unique(np.linspace(0, curve.coverage.size - 1, _CURVE_POINTS).round().astype(np.int64))
    return [
        CurvePoint(threshold=float(curve.threshold[at]), coverage=float(curve.coverage[at]), risk=float(curve.risk[at]))
        for at in kept
    ]


def _confusions(questions: AlignedQuestions, outcome: Outcomes) -> list[Confusion]:
    scored = questions.scored
    found: list[Confusion] = []
    for code, family in enumerate(scored.families):
        rows = np.flatnonzero((scored.family == code) & outcome.is_scorable)
        options = {questions.options[int(row)] for row in rows}
        if len(options) == 1:
            found.append(_confusion(family, next(iter(options)), outcome.predicted[rows], scored.label[rows]))
    return found


def _confusion(family: str, options: tuple[str, ...], predicted: IntArray, label: IntArray) -> Confusion:
    counts = confusion_counts(predicted, label, n_options=len(options))
    mistakes = counts.copy()
    np.fill_diagonal(mistakes, 0)
    order = np.argsort(-mistakes, axis=None, kind="stable")[:_PAIRS]
    places = [divmod(int(at), len(options)) for at in order]
    return Confusion(
        family=family,
        options=list(options),
        counts=counts.tolist() if len(options) <= _MATRIX_OPTIONS else [],
        pairs=[(options[i], options[j], int(mistakes[i, j])) for i, j in places if mistakes[i, j]],
    )


def _confident_errors(
    questions: AlignedQuestions, outcome: Outcomes, thresholds: Thresholds | None, most: int
) -> list[ConfidentError]:
    wrong = np.flatnonzero(outcome.is_scorable & ~outcome.is_correct)
    worst = wrong[np.argsort(-outcome.confidence[wrong], kind="stable")][:most]
    scored = questions.scored
    errors: list[ConfidentError] = []
    for row in (int(row) for row in worst):
        family, options = scored.families[int(scored.family[row])], questions.options[row]
        kind = ("noul", "choice", "score")[int(scored.types[row])]
        threshold = None if thresholds is None else thresholds.threshold(kind, family)
        confidence = float(outcome.confidence[row])
        errors.append(
            ConfidentError(
                record=questions.record_ids[row],
                qid=questions.qids[row],
                family=family,
                right=questions.label_key(row),
                answered=options[int(outcome.predicted[row])],
                confidence=confidence,
                right_probability=float(outcome.probabilities[int(scored.starts[row]) + int(scored.label[row])]),
                automated=threshold is not None and confidence >= threshold,
            )
        )
    return errors


def _text(content: object) -> str:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=1)
    return "" if content is None else text if len(text) <= _EXCERPT else text[:_EXCERPT].rstrip() + " …"
