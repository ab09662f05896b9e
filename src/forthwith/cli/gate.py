"""`forthwith gate`: judge a candidate by checks that were written down before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from forthwith.evaluation.gates import GateReport

__all__ = ["gate"]


def gate(
    spec: Annotated[Path, typer.Option(help="The gate's checks, as TOML; `pev` names the shipped example.")],
    data: Annotated[Path, typer.Option(help="The data that decide.")],
    preds: Annotated[Path, typer.Option(help="Predictions of the candidate.")],
    baseline: Annotated[Path, typer.Option(help="Predictions of the baseline.")],
    calibration: Annotated[Path | None, typer.Option(help="Calibration of the candidate.")] = None,
    baseline_calibration: Annotated[Path | None, typer.Option(help="Calibration of the baseline.")] = None,
    guard_data: Annotated[Path | None, typer.Option(help="The guard set.")] = None,
    guard_preds: Annotated[Path | None, typer.Option(help="The candidate's predictions on the guard set.")] = None,
    guard_baseline: Annotated[Path | None, typer.Option(help="The baseline's predictions on the guard set.")] = None,
    commitment: Annotated[Path | None, typer.Option(help="The commitment made by `forthwith commit`.")] = None,
    by_state: Annotated[bool, typer.Option("--by-state", help="Cluster by state, not by user.")] = False,  # noqa: FBT002
    out: Annotated[
        Path | None, typer.Option(help="Where the verdict goes, as JSON; DIR/gate.json is shown by `report DIR`.")
    ] = None,
) -> None:
    """Run every check and say passed or failed; the exit code is 0 if it passed and 1 if not.

    With a commitment, data, guard and gate must be the committed ones, and a one-shot gate can be used once.
    """
    from datetime import UTC, datetime

    from forthwith.errors import ConfigError
    from forthwith.evaluation.align import AlignConfig
    from forthwith.evaluation.document import ModelFiles
    from forthwith.evaluation.judge import GateFiles, gate_path, judge_files

    guards = (guard_data, guard_preds, guard_baseline)
    guard: GateFiles | None = None
    if guard_data is not None and guard_preds is not None and guard_baseline is not None:
        guard = GateFiles(guard_data, ModelFiles(guard_preds), ModelFiles(guard_baseline))
    elif any(part is not None for part in guards):
        raise ConfigError("a guard needs --guard-data, --guard-preds and --guard-baseline; give all three", "guard")
    report = judge_files(
        gate_path(spec),
        GateFiles(data, ModelFiles(preds, calibration), ModelFiles(baseline, baseline_calibration)),
        when=datetime.now(UTC),
        guard=guard,
        commitment=commitment,
        align=AlignConfig(cluster_by="state" if by_state else "user", is_sealed=commitment is not None),
    )
    _show(report)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
        typer.echo(str(out))
    if not report.passed:
        raise typer.Exit(1)


def _show(report: GateReport) -> None:
    from forthwith.cli.terminal import new_table, open_console

    title = f"{report.name}: {report.n_scorable} questions, {report.n_clusters} clusters"
    table = new_table("check", "asked", "found", "verdict", title=title, text=(0, 1))
    for check in report.checks:
        verdict = "[green]passed[/green]" if check.passed else "[red]failed[/red]"
        table.add_row(check.name, check.asked, "–" if check.found is None else f"{check.found:.4g}", verdict)
    console = open_console()
    console.print(table)
    console.print("passed" if report.passed else "failed")
