"""`forthwith evaluate`: every figure about a prediction file, and how it compares with others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from forthwith.evaluation.document import Evaluation

__all__ = ["evaluate"]


def evaluate(
    data: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="The records that were predicted.")],
    preds: Annotated[Path, typer.Option(help="Predictions of the model that is reported.")],
    out: Annotated[Path, typer.Option(help="Folder for evaluation.json, report.html and report.md.")],
    calibration: Annotated[Path | None, typer.Option(help="Calibration of that model.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of that model in the report.")] = None,
    baseline: Annotated[
        list[str] | None, typer.Option(help="PREDS[,CALIBRATION[,NAME]] of a model beside it; repeatable.")
    ] = None,
    slice_by: Annotated[
        list[str] | None, typer.Option(help="A meta field to slice by; repeatable. Default: usual ones.")
    ] = None,
    by_state: Annotated[bool, typer.Option("--by-state", help="Cluster by state, not by user.")] = False,  # noqa: FBT002
    margin: Annotated[
        float | None, typer.Option(help="Macro difference that does not matter, for equivalence.")
    ] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples of the clusters.")] = 10_000,
    partial: Annotated[bool, typer.Option("--partial", help="Leave out records that were not predicted.")] = False,  # noqa: FBT002
    texts: Annotated[bool, typer.Option(help="Show questions and states of confident errors.")] = True,  # noqa: FBT002
    aggregate_only: Annotated[  # noqa: FBT002
        bool, typer.Option("--aggregate-only", help="Sealed data: nothing that points at a single question.")
    ] = False,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
) -> None:
    """Accuracy, proper scores, calibration, automation and safety by family and slice; paired differences; a report."""
    from forthwith.errors import ConfigError
    from forthwith.evaluation.align import AlignConfig
    from forthwith.evaluation.calibrate import packaged_calibration
    from forthwith.evaluation.compare import CompareOptions
    from forthwith.evaluation.document import EvaluationOptions, ModelFiles, evaluate_files, write_evaluation
    from forthwith.evaluation.measure import MeasureConfig
    from forthwith.evaluation.report import write_report

    if margin is not None and not baseline:
        raise ConfigError("--margin is for the difference from a baseline; give --baseline, or leave it out", "margin")
    if out.is_file():
        raise ConfigError(f"--out: {out} is a file; name a folder for numbers and report", "out")
    options = EvaluationOptions(
        align=AlignConfig(
            cluster_by="state" if by_state else "user",
            slice_fields=tuple(slice_by) if slice_by else None,
            is_sealed=aggregate_only,
        ),
        measure=MeasureConfig(aggregate_only=aggregate_only),
        compare=CompareOptions(n_resamples=resamples, margin=margin),
        is_partial=partial,
        shows_texts=texts,
    )
    others: list[ModelFiles] = []
    for given in baseline or []:
        parts = [*given.split(","), "", ""][:3]
        others.append(ModelFiles(Path(parts[0]), Path(parts[1]) if parts[1] else None, parts[2] or None))
    evaluation = evaluate_files(data, ModelFiles(preds, calibration, name), others, options)
    write_evaluation(out, evaluation)
    html, _ = write_report(out, title=title)
    _show(evaluation)
    if calibration is None:
        own = packaged_calibration(preds)
        typer.echo(
            "no calibration was applied" if own is None else f"no calibration was applied; the bundle's own: {own}",
            err=True,
        )
    typer.echo(str(html))


def _show(evaluation: Evaluation) -> None:
    from forthwith.cli.terminal import new_table, open_console

    report = evaluation.models[0].report
    console = open_console()
    heads = (
        "family",
        "questions",
        "accuracy",
        "95 % interval",
        "NLL",
        "Brier",
        "ECE",
        "AUROC",
        "automated",
        "wrong of those",
    )
    table = new_table(*heads, title=f"{report.name} on {evaluation.data}")

    def shown(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    for family, scores in report.families.items():
        interval = "–"
        if scores.accuracy_low is not None and scores.accuracy_high is not None:
            interval = f"{scores.accuracy_low:.3f} to {scores.accuracy_high:.3f}"
        numbers = (
            scores.nll,
            scores.brier_score,
            scores.ece_15,
            scores.auroc_confidence,
            scores.coverage,
            scores.realised_error,
        )
        table.add_row(family, str(scores.n_questions), shown(scores.accuracy), interval, *map(shown, numbers))
    macro = report.macro
    numbers = (macro.nll, macro.brier_score, macro.ece_15, macro.auroc_confidence, macro.coverage, macro.realised_error)
    table.add_section()
    table.add_row("macro", str(report.n_questions), shown(macro.accuracy), "", *map(shown, numbers))
    console.print(table)
    if report.n_without_target:
        console.print(f"{report.n_without_target} questions have no right answer on record and are left out")
    if evaluation.records_left_out:
        console.print(f"{evaluation.records_left_out} records were not predicted and are left out")
    for found in evaluation.comparisons:
        console.print(
            f"minus {found.baseline}: {100 * found.macro.difference:+.1f} points "
            f"[{100 * found.macro.low:+.1f}, {100 * found.macro.high:+.1f}], Holm p {found.p_holm:.2g}"
        )
