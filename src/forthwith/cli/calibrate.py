"""`forthwith calibrate`: a prediction file on held-out data to a calibration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from forthwith.calibration import Calibration

__all__ = ["calibrate"]


def calibrate(
    data: Annotated[Path, typer.Option(help="The records that were predicted; none the model was trained on.")],
    preds: Annotated[Path, typer.Option(help="The prediction file.")],
    out: Annotated[Path, typer.Option(help="Where the calibration goes.")],
    trained_on: Annotated[
        list[str] | None,
        typer.Option(
            help="What the model was trained on, whose states are refused here: a bundle, a run's folder, its"
            " trained_states.bin, or a record file. A bundle that ships with the package is found by itself."
        ),
    ] = None,
    onto: Annotated[
        Path | None,
        typer.Option(
            help="A calibration of the same model for everything else, fitted before: the families of these records"
            " get temperatures and thresholds of their own beside it."
        ),
    ] = None,
    budget: Annotated[float, typer.Option(help="Largest share of wrong answers among automated ones.")] = 0.05,
    confidence_level: Annotated[float, typer.Option(help="Confidence with which the budget is promised.")] = 0.95,
    all_families: Annotated[  # noqa: FBT002
        bool, typer.Option("--all-families", help="Promise the budget for all families at once, not each by itself.")
    ] = False,
    pooled: Annotated[bool, typer.Option("--pooled", help="One temperature for all question types.")] = False,  # noqa: FBT002
    hard_targets: Annotated[  # noqa: FBT002
        bool,
        typer.Option("--hard-targets", help="Fit to the right option alone, not to the shares of people's answers."),
    ] = False,
    include_ambiguous: Annotated[  # noqa: FBT002
        bool, typer.Option("--include-ambiguous", help="Let questions whose options tie take part in the fit.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the cross-fitting folds.")] = 20260930,
) -> None:
    """Fit temperatures, biases and thresholds, keep what helps on held-out folds, and say what was promised."""
    from forthwith.bundle import read_calibration
    from forthwith.calibration import FitConfig
    from forthwith.evaluation.align import AlignConfig
    from forthwith.evaluation.calibrate import calibrate_files
    from forthwith.evaluation.checkpoint import read_meta
    from forthwith.evaluation.selective import ThresholdConfig
    from forthwith.evaluation.trained_on import states_trained_on

    trained = states_trained_on(read_meta(preds).fingerprint.binding, trained_on or ())
    calibration = calibrate_files(
        data,
        preds,
        onto=None if onto is None else read_calibration(onto),
        align=AlignConfig(training_hashes=trained),
        fit=FitConfig(
            scope="pooled" if pooled else "type",
            uses_soft_targets=not hard_targets,
            includes_ambiguous=include_ambiguous,
            seed=seed,
        ),
        thresholds=ThresholdConfig(
            error_budget=budget, confidence_level=confidence_level, families="all" if all_families else "each"
        ),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(calibration.model_dump_json(indent=2) + "\n", encoding="utf-8")
    _show(calibration)
    if len(trained):
        typer.echo(f"none of the records' states is among the {len(trained):,} that the model was trained on")
    if calibration.applies_nothing:
        typer.echo(
            f"warning: nothing could be fitted, the reasons stand above; answers with {out} are not calibrated,"
            " also where the bundle's own calibration would be: leave it out until there are more labels",
            err=True,
        )
    typer.echo(
        f"{out}: bound to {calibration.binding.readout} readout, weights {calibration.binding.weights_sha256[:12]}"
    )


def _show(calibration: Calibration) -> None:
    from forthwith.cli.terminal import new_table, open_console

    console = open_console()
    steps = new_table(
        "step", "questions", "gain (nats)", "std. error", "kept", "why", title="Calibration, out of fold", text=(0, 5)
    )
    for step in calibration.provenance["steps"]:
        gain, error = (f"{step[name]:+.4f}" if step[name] is not None else "–" for name in ("gain", "standard_error"))
        steps.add_row(
            step["name"], str(step["n_questions"]), gain, error, "yes" if step["is_applied"] else "no", step["reason"]
        )
    console.print(steps)
    thresholds = calibration.thresholds
    if thresholds is None:
        return
    title = f"Thresholds: at most {thresholds.error_budget:.0%} wrong, confidence {thresholds.confidence_level:.0%}"
    table = new_table(
        "family", "threshold", "coverage", "error", "upper bound", "questions", "labels missing", title=title
    )
    for family, detail in sorted(thresholds.details.get("families", {}).items()):
        missing = detail["labels_missing"]
        table.add_row(
            family,
            "ask always" if detail["threshold"] is None else f"{detail['threshold']:.3f}",
            f"{detail['coverage']:.2f}",
            "–" if detail["error"] is None else f"{detail['error']:.3f}",
            "–" if detail["upper_bound"] is None else f"{detail['upper_bound']:.3f}",
            str(detail["n_questions"]),
            "unknown" if missing is None else str(missing),
        )
    console.print(table)
