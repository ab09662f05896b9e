"""Scores to tables: one row a family or slice, columns only where a number exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from forthwith.evaluation.compare import Comparison, Difference
from forthwith.evaluation.document import EvaluatedModel
from forthwith.evaluation.gates import GateReport
from forthwith.evaluation.report.view import Cell, Head, Row, Table, number
from forthwith.evaluation.results import EvaluationReport, MacroScores, Scores

__all__ = [
    "automation_table",
    "comparison_table",
    "family_tables",
    "gate_table",
    "judged_on",
    "models_table",
    "none_table",
    "safety_table",
    "slice_tables",
]


class _Column(NamedTuple):
    """A column of scores: its head, what it means, the field it shows, and how its interval is found."""

    name: str
    hint: str
    field: str
    interval: Callable[[MacroScores], tuple[float, float] | None] | None = None

    def value(self, scores: MacroScores) -> float | None:
        """The number of the column; None where these scores have none."""
        number: float | None = getattr(scores, self.field)
        return number


def _accuracy_interval(scores: MacroScores) -> tuple[float, float] | None:
    if not isinstance(scores, Scores) or scores.accuracy_low is None or scores.accuracy_high is None:
        return None
    return scores.accuracy_low, scores.accuracy_high


def _ece_interval(scores: MacroScores) -> tuple[float, float] | None:
    if not isinstance(scores, Scores) or scores.ece_debiased_low is None or scores.ece_debiased_high is None:
        return None
    return scores.ece_debiased_low, scores.ece_debiased_high


_ACCURACY = _Column("accuracy", "share right, of questions with one right answer", "accuracy", _accuracy_interval)
_ANSWERS = (
    _ACCURACY,
    _Column(
        "commonest",
        "share of the commonest right answer: what always giving it would score",
        "majority_share",
    ),
    _Column("balanced", "mean over right options of the share right", "balanced_accuracy"),
    _Column("AUROC", "chance that a right answer is more confident than a wrong one", "auroc_confidence"),
    _Column("AURC", "area under the risk-coverage curve; lower is better", "aurc"),
    _Column("right of surest half", "accuracy of the more confident half", "selective_accuracy_50"),
)
_PROBABILITIES = (
    _Column("NLL", "negative log-likelihood in nats; lower is better", "nll"),
    _Column("Brier", "squared distance to the right distribution, 0 to 2; lower is better", "brier_score"),
    _Column("ECE", "calibration error, 15 bins of equal width; lower is better", "ece_15"),
    _Column("ECE, debiased", "without what sampling noise adds", "ece_debiased", _ece_interval),
    _Column("ECE, one answer", "15 bins, without questions whose options tie", "ece_15_scorable"),
    _Column("TVD", "distance to the shares of people's answers", "total_variation_distance"),
)
_LEVELS = (
    _Column("RPS", "ranked probability score; lower is better", "ranked_probability_score"),
    _Column("MAE", "mean distance of the answer to the right level", "mean_absolute_error"),
    _Column("MAE, expected", "mean distance of the expected level", "mean_absolute_error_expected"),
    _Column("kappa", "quadratic weighted kappa", "quadratic_weighted_kappa"),
)
_SUMMARY = (_ACCURACY, _PROBABILITIES[0], _PROBABILITIES[1], _PROBABILITIES[2], _ANSWERS[3], _ANSWERS[4])


def family_tables(report: EvaluationReport) -> list[Table]:
    """Answers, probabilities and, where there are ordered levels, levels; one row a family, then the macro row."""
    kinds = {"Answers": _ANSWERS, "Probabilities": _PROBABILITIES, "Ordered levels": _LEVELS}
    tables: list[Table] = []
    for caption, columns in kinds.items():
        known = [column for column in columns if column.value(report.micro) is not None or _in_any(column, report)]
        if not known:
            continue
        rows = [
            _row(name, scores, known)
            for name, scores in report.families.items()
            if any(column.value(scores) is not None for column in known)
        ]
        rows.append(_row("macro", report.macro, known, strong=True, questions=report.n_questions))
        tables.append(Table(f"{caption} of {report.name}", _heads("family", known), rows))
    return tables


def slice_tables(report: EvaluationReport) -> list[Table]:
    """One table for each slicing with more than one value."""
    return [
        Table(
            f"By {name.replace('_', ' ')}",
            _heads(name.replace("_", " "), _SUMMARY),
            [_row(value, scores, _SUMMARY) for value, scores in slices.items()],
        )
        for name, slices in report.slices.items()
        if len(slices) > 1
    ]


def models_table(models: Sequence[EvaluatedModel]) -> Table:
    """Macro figures, one row a model."""
    rows: list[Row] = []
    for model in models:
        report = model.report
        cells = [number(column.value(report.macro)) for column in _SUMMARY]
        automated = [number(report.macro.coverage), number(report.macro.realised_error)]
        calibrated = Cell("yes" if report.is_calibrated else "no", is_text=True)
        rows.append(Row([Cell(report.name), calibrated, *cells, *automated]))
    heads = [Head("model"), Head("calibrated", text_column=True), *(Head(c.name, c.hint) for c in _SUMMARY)]
    heads += [Head("automated", "macro share answered without asking"), Head("wrong of those", "macro realised error")]
    return Table("Models, mean over families", heads, rows)


def automation_table(model: EvaluatedModel) -> Table | None:
    """What the thresholds in force let through, family by family; None without thresholds."""
    report, thresholds = model.report, model.thresholds
    if thresholds is None:
        return None
    rows: list[Row] = []
    for name, scores in report.families.items():
        threshold = thresholds.by_family.get(name)
        shown = Cell("ask always") if threshold is None else number(threshold)
        error = number(scores.realised_error)
        verdict = Cell("nothing automated", tone="none")
        if scores.realised_error is not None:
            over = scores.realised_error > report.error_budget
            verdict = Cell("over budget", tone="bad") if over else Cell("within budget", tone="good")
        counts = [Cell(str(count or 0), count or 0) for count in (scores.n_automated, scores.n_automated_errors)]
        rows.append(Row([Cell(name), shown, number(scores.coverage), *counts, error, verdict]))
    macro = [number(report.macro.coverage), Cell(""), Cell(""), number(report.macro.realised_error), Cell("")]
    rows.append(Row([Cell("macro"), Cell(""), *macro], strong=True))
    heads = [
        Head("family"),
        Head("threshold", "least confidence to act without asking"),
        Head("coverage", "share answered without asking"),
        Head("automated"),
        Head("wrong"),
        Head("realised error"),
        Head("here", "the promise is about the calibration data's like; this is what happened on these questions"),
    ]
    promise = f"at most {thresholds.error_budget:.0%} wrong with confidence {thresholds.confidence_level:.0%}"
    return Table(f"Thresholds of {report.name}: {promise} ({thresholds.method})", heads, rows)


def safety_table(report: EvaluationReport) -> Table | None:
    """Risky answers that were missed; None where no family has any."""
    if not report.safety:
        return None
    rows = [
        Row(
            [
                Cell(rate.family),
                Cell(rate.risky_label, is_text=True),
                Cell(str(rate.n_at_risk), rate.n_at_risk),
                Cell(str(rate.n_missed), rate.n_missed),
                number(rate.rate),
                number(rate.rate_automated),
            ]
        )
        for rate in report.safety
    ]
    heads = [Head("family"), Head("risky answer", text_column=True), Head("at risk"), Head("missed"), Head("rate")]
    heads.append(Head("rate, automated", "missed among answers that would have been automated"))
    return Table(f"Risky answers that {report.name} missed", heads, rows)


def none_table(report: EvaluationReport) -> Table | None:
    """How well it is told that no option is right; None where no question offers that."""
    if not report.none_of_these:
        return None
    rows = [
        Row(
            [
                Cell(found.signal),
                Cell(str(found.n_none), found.n_none),
                Cell(str(found.n_other), found.n_other),
                number(found.auroc),
            ]
        )
        for found in report.none_of_these
    ]
    heads = [Head("signal"), Head("none is right"), Head("one is right"), Head("AUROC")]
    return Table(f"None of these, as told by {report.name}", heads, rows)


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """One row a baseline: differences in points, p-values, discordant questions."""
    rows: list[Row] = []
    for found in comparisons:
        discordant = Cell(f"{found.only_candidate} vs {found.only_baseline}", is_text=True)
        p_values = [_p(found.p_value), _p(found.p_holm), _p(found.sign_flip_p), _p(found.mcnemar_p)]
        rows.append(Row([Cell(found.baseline), _points(found.macro), _points(found.micro), *p_values, discordant]))
    heads = [
        Head("against"),
        Head("macro, points"),
        Head("micro, points"),
        Head("p", "one-sided, paired bootstrap of clusters"),
        Head("p, Holm", "corrected for all comparisons here"),
        Head("p, sign flips", "two-sided, clusters swapped at random"),
        Head("p, McNemar", "exact, two-sided; questions as if independent"),
        Head(
            "only one right", "questions that only the candidate, or only the other, answers rightly", text_column=True
        ),
    ]
    return Table(f"Paired differences of {comparisons[0].candidate}", heads, rows)


def judged_on(gate: GateReport, data_sha256: str) -> str:
    """Whether the gate judged the data of the report."""
    if gate.data_sha256 is None:
        return "on data that it does not name"
    return "on these data" if gate.data_sha256 == data_sha256 else f"on other data ({gate.data_sha256[:12]})"


def gate_table(gate: GateReport, data_sha256: str) -> Table:
    """One row a check: what was asked, what was found, passed or failed."""
    rows: list[Row] = []
    for check in gate.checks:
        verdict = Cell("passed", tone="good") if check.passed else Cell("failed", tone="bad")
        found = "–" if check.found is None else f"{check.found:.4g}"
        rows.append(Row([Cell(check.name), Cell(check.asked, is_text=True), Cell(found, check.found), verdict]))
    heads = [Head("check"), Head("asked", text_column=True), Head("found"), Head("verdict")]
    title = f"{gate.name}: {gate.n_scorable} questions, {gate.n_clusters} clusters, {judged_on(gate, data_sha256)}"
    return Table(title, heads, rows)


def _in_any(column: _Column, report: EvaluationReport) -> bool:
    return any(column.value(scores) is not None for scores in report.families.values())


def _heads(first: str, columns: Sequence[_Column]) -> list[Head]:
    return [Head(first), Head("questions"), *(Head(column.name, column.hint) for column in columns)]


def _row(
    name: str, scores: MacroScores, columns: Sequence[_Column], *, strong: bool = False, questions: int = 0
) -> Row:
    count = scores.n_questions if isinstance(scores, Scores) else questions
    cells = [
        number(column.value(scores), interval=column.interval(scores) if column.interval else None)
        for column in columns
    ]
    return Row([Cell(name), Cell(str(count), count), *cells], strong=strong)


def _points(found: Difference) -> Cell:
    shown = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
    return Cell(f"{100 * found.difference:+.1f}", found.difference, shown)


def _p(value: float) -> Cell:
    return Cell(f"{value:.2g}", value)
