"""`forthwith cascade`: what it brings to hand unsure questions to a second model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from forthwith.evaluation.cascade import CascadeReport

__all__ = ["cascade"]


def cascade(
    data: Annotated[Path, typer.Option(help="The records that both models predicted.")],
    first: Annotated[Path, typer.Option(help="Predictions of the model that is asked always.")],
    second: Annotated[Path, typer.Option(help="Predictions of the model that is asked when the first is unsure.")],
    first_calibration: Annotated[Path | None, typer.Option(help="Calibration of the first model.")] = None,
    second_calibration: Annotated[Path | None, typer.Option(help="Calibration of the second model.")] = None,
    first_usd: Annotated[float, typer.Option(min=0, help="Cost of a question to the first model.")] = 0.0,
    second_usd: Annotated[float, typer.Option(min=0, help="Cost of a question to the second model.")] = 0.0,
    error_usd: Annotated[float | None, typer.Option(min=0, help="Cost of a wrong answer.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where the numbers go, as JSON.")] = None,
) -> None:
    """Accuracy and cost against the share of questions that the first model hands to the second."""
    from forthwith.evaluation.align import align_files
    from forthwith.evaluation.calibrate import calibration_for
    from forthwith.evaluation.cascade import CascadeOptions, cascade_questions, measure_cascade
    from forthwith.evaluation.checkpoint import model_names

    names = model_names([first, second])
    questions = cascade_questions(
        align_files(first, data),
        align_files(second, data),
        calibrations=(
            None if first_calibration is None else calibration_for(first_calibration, first),
            None if second_calibration is None else calibration_for(second_calibration, second),
        ),
        usd_per_question=(first_usd, second_usd),
    )
    report = measure_cascade(
        questions,
        first=names[0],
        second=names[1],
        options=CascadeOptions(error_usd=error_usd),
    )
    _show(report)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
        typer.echo(str(out))


def _show(report: CascadeReport) -> None:
    from forthwith.cli.terminal import new_table, open_console

    console = open_console()
    console.print(
        f"{report.first} alone {report.first_accuracy:.3f}, {report.second} alone {report.second_accuracy:.3f}, "
        f"either {report.either_accuracy:.3f}; {report.questions} questions, {report.clusters} clusters"
    )
    curves = {"one threshold": report.one_threshold, "a threshold per family": report.threshold_per_family}
    for policy, points in curves.items():
        table = new_table(
            "share", "accuracy", "95 % interval", "macro", "at random", "USD a question", "with errors", title=policy
        )
        for point in points:
            total = point.total_usd_per_question
            table.add_row(
                f"{point.share:.2f}",
                f"{point.accuracy:.3f}",
                f"{point.low:.3f} to {point.high:.3f}",
                f"{point.macro_accuracy:.3f}",
                f"{point.random_accuracy:.3f}",
                f"{point.usd_per_question:.5f}",
                "–" if total is None else f"{total:.5f}",
            )
        console.print(table)
    if report.cheapest is not None:
        console.print(f"cheapest: {report.cheapest[0]}, share {report.cheapest[1]:.2f}")
