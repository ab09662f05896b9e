"""An evaluation to the page about it."""

from __future__ import annotations

from scipy.stats import beta  # pyright: ignore[reportUnknownVariableType]

from forthwith.evaluation.compare import Comparison
from forthwith.evaluation.document import EvaluatedModel, Evaluation
from forthwith.evaluation.gates import GateReport
from forthwith.evaluation.report.charts import (
    CurvePoint,
    Interval,
    ReliabilityBin,
    difference_chart,
    interval_chart,
    reliability_chart,
    risk_coverage_chart,
)
from forthwith.evaluation.report.tables import (
    automation_table,
    comparison_table,
    family_tables,
    gate_table,
    judged_on,
    models_table,
    none_table,
    safety_table,
    slice_tables,
)
from forthwith.evaluation.report.view import ErrorView, Picture, ReportPage, Table, Tile, confusion_view, percent
from forthwith.evaluation.results import Reliability, RiskCoverageCurve, Scores

__all__ = ["report_page"]

_DRAWN_MODELS = 5
_SMALL = 250


def report_page(evaluation: Evaluation, *, gate: GateReport | None = None, title: str | None = None) -> ReportPage:
    """The page about an evaluation: its first model, with the others beside it, and a gate's verdict if there is one."""
    models = evaluation.models
    main = models[0].report
    drawn = models[:_DRAWN_MODELS]  # as many as there are colours
    return ReportPage(
        title=title or f"Evaluation of {main.name}",
        lede=_lede(evaluation),
        models=[model.report.name for model in drawn],
        tiles=[*_tiles(evaluation), *_gate_tiles(gate, evaluation.data_sha256)],
        family_chart=interval_chart(_family_rows(drawn), "Accuracy by family"),
        risk_chart=risk_coverage_chart(
            [(model.report.name, _curve(model.report.risk_coverage["all"])) for model in drawn if _has_curve(model)],
            "Share wrong against share answered",
            budget=main.error_budget,
        ),
        notes=_notes(evaluation),
        metric_tables=[*([models_table(models)] if len(models) > 1 else []), *family_tables(main)],
        differences=[_difference(found) for found in evaluation.comparisons],
        difference_tables=[comparison_table(evaluation.comparisons)] if evaluation.comparisons else [],
        checks=None if gate is None else gate_table(gate, evaluation.data_sha256),
        reliability=[
            Picture(
                model.report.name,
                reliability_chart(
                    _bins(model.report.reliability["all"]), f"Reliability of {model.report.name}", series=place
                ),
            )
            for place, model in enumerate(drawn, start=1)
        ],
        reliability_by_family=[
            Picture(name, reliability_chart(_bins(found), f"Reliability of {main.name} on {name}", size=_SMALL))
            for name, found in main.reliability.items()
            if name != "all" and len(main.families) > 1
        ],
        automation=_automation(models[0]),
        slices=slice_tables(main),
        confusions=[confusion_view(name, found) for name, found in main.confusion.items()],
        errors=_errors(evaluation),
        footer=_footer(evaluation),
    )


def _lede(evaluation: Evaluation) -> str:
    report = evaluation.models[0].report
    parts = [f"{report.n_questions:,} questions in {len(report.families)} families of {evaluation.data}"]
    parts.append(f"{report.n_clusters:,} independent clusters")
    parts.append("calibrated" if report.is_calibrated else "not calibrated")
    return ", ".join(parts) + "."


def _tiles(evaluation: Evaluation) -> list[Tile]:
    main = evaluation.models[0]
    report, macro = main.report, main.report.macro
    tiles = [Tile("Macro accuracy", percent(macro.accuracy), _micro_note(report.micro))]
    for found in evaluation.comparisons[:1]:
        low, high = 100 * found.macro.low, 100 * found.macro.high
        tone = "good" if low > 0 else "bad" if high < 0 else ""
        note = f"{low:+.1f} to {high:+.1f} points"
        tiles.append(Tile(f"Against {found.baseline}", f"{100 * found.macro.difference:+.1f}", note, tone))
    tiles.append(Tile("Calibration error", _three(macro.ece_15), f"debiased {_three(macro.ece_debiased)}"))
    tiles.append(Tile("Brier score", _three(macro.brier_score), f"NLL {_three(macro.nll)}"))
    if main.thresholds is not None:
        error = report.micro.realised_error
        tone = "" if error is None else "good" if error <= report.error_budget else "bad"
        note = "nothing is automated" if error is None else f"{percent(error)} of those wrong"
        tiles.append(Tile("Answered without asking", percent(report.micro.coverage), note, tone))
    else:
        note = f"at {report.error_budget:.0%} wrong, chosen on these very questions"
        tiles.append(Tile("Could be automated", percent(report.micro.coverage_in_sample), note))
    return tiles


def _gate_tiles(gate: GateReport | None, data_sha256: str) -> list[Tile]:
    if gate is None:
        return []
    passed = sum(check.passed for check in gate.checks)
    figure, tone = ("passed", "good") if gate.passed else ("failed", "bad")
    return [Tile("Gate", figure, f"{passed} of {len(gate.checks)} checks, {judged_on(gate, data_sha256)}", tone)]


def _micro_note(micro: Scores) -> str:
    if micro.accuracy is None or micro.accuracy_low is None or micro.accuracy_high is None:
        return ""
    return f"all questions {percent(micro.accuracy)}, {100 * micro.accuracy_low:.1f} to {100 * micro.accuracy_high:.1f}"


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _notes(evaluation: Evaluation) -> list[str]:
    report = evaluation.models[0].report
    notes: list[str] = []
    if report.n_ambiguous:
        notes.append(
            f"{report.n_ambiguous} questions have options that tie: they count in NLL, Brier and ECE, "
            "and in nothing that is made of right and wrong answers."
        )
    if report.n_without_target:
        notes.append(f"{report.n_without_target} questions have no right answer on record and are left out.")
    if evaluation.records_left_out:
        notes.append(f"{evaluation.records_left_out} records were not predicted and are left out: a partial run.")
    return notes


def _family_rows(models: list[EvaluatedModel]) -> list[tuple[str, list[Interval]]]:
    rows: list[tuple[str, list[Interval]]] = []
    for family in models[0].report.families:
        row = [
            Interval(model.report.name, scores.accuracy, scores.accuracy_low, scores.accuracy_high)
            for model in models
            if (scores := model.report.families.get(family)) is not None
            and scores.accuracy is not None
            and scores.accuracy_low is not None
            and scores.accuracy_high is not None
        ]
        if row:
            rows.append((family, row))
    return rows


def _has_curve(model: EvaluatedModel) -> bool:
    return "all" in model.report.risk_coverage


def _curve(curve: RiskCoverageCurve) -> list[CurvePoint]:
    return [CurvePoint(coverage, risk) for coverage, risk in zip(curve.coverage, curve.risk, strict=True)]


def _bins(reliability: Reliability) -> list[ReliabilityBin]:
    """Bins that hold questions, with Clopper-Pearson intervals of the share right."""
    bins: list[ReliabilityBin] = []
    for place, count in enumerate(reliability.count):
        if not count:
            continue
        right = reliability.correctness[place] * count
        edges = reliability.edges[place], reliability.edges[place + 1]
        interval = _clopper_pearson(right, count - right)
        bins.append(
            ReliabilityBin(*edges, count, reliability.confidence[place], reliability.correctness[place], *interval)
        )
    return bins


def _clopper_pearson(right: float, wrong: float) -> tuple[float, float]:
    low = float(beta.ppf(0.025, right, wrong + 1)) if right > 0 else 0.0  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    high = float(beta.ppf(0.975, right + 1, wrong)) if wrong > 0 else 1.0  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return low, high


def _difference(comparison: Comparison) -> Picture:
    named = {**comparison.families, "macro": comparison.macro, "micro": comparison.micro}
    rows = [Interval(name, found.difference, found.low, found.high) for name, found in named.items()]
    title = f"{comparison.candidate} minus {comparison.baseline}, points of accuracy"
    return Picture(title, difference_chart(rows, title))


def _automation(model: EvaluatedModel) -> list[Table]:
    tables = (automation_table(model), safety_table(model.report), none_table(model.report))
    return [table for table in tables if table is not None]


def _errors(evaluation: Evaluation) -> list[ErrorView]:
    texts = {(text.id, text.qid): text for text in evaluation.texts}
    views: list[ErrorView] = []
    for error in evaluation.models[0].report.worst_errors:
        text = texts.get((error.id, error.qid))
        views.append(
            ErrorView(
                record=error.id,
                qid=error.qid,
                family=error.family,
                right=error.label,
                answered=error.answer,
                confidence=error.confidence,
                automated=bool(error.is_automated),
                question=text.question if text else "",
                state=text.state if text else "",
            )
        )
    return views


def _footer(evaluation: Evaluation) -> list[str]:
    lines = [f"Data {evaluation.data}, SHA-256 {evaluation.data_sha256}"]
    for model in evaluation.models:
        binding = model.binding
        adapter = f", adapter {binding.adapter_sha256[:12]}" if binding.adapter_sha256 else ""
        weights = (
            binding.weights_sha256 if binding.weights_sha256.startswith("remote:") else binding.weights_sha256[:12]
        )
        lines.append(
            f"{model.report.name}: weights {weights}{adapter}, template {binding.template_sha256[:12]}, "
            f"readout {binding.readout}, {binding.precision}, predictions {model.predictions_sha256[:12]}"
        )
    return lines
