"""`forthwith validity`: is the test itself sound?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from forthwith.evaluation.soundness import ValidityReport

__all__ = ["validity"]


def validity(
    data: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="Records with targets.")],
    preds: Annotated[list[Path] | None, typer.Option(help="Predictions, weakest model first; repeatable.")] = None,
    permutations: Annotated[int, typer.Option(min=20, help="Permutations of the labels.")] = 50,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples of the clusters.")] = 2_000,
    out: Annotated[Path | None, typer.Option(help="Where the numbers go, as JSON.")] = None,
) -> None:
    """Oracle, null baselines, a learned baseline that does not read the state, shortcuts, noise floor, capability ladder."""
    from forthwith.evaluation.soundness import ValidityOptions, check_validity

    options = ValidityOptions(n_permutations=permutations, n_resamples=resamples)
    report = check_validity(data, preds or [], options)
    _show(report)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
        typer.echo(str(out))


def _show(report: ValidityReport) -> None:
    from forthwith.cli.terminal import new_table, open_console

    console = open_console()
    heads = (
        "family",
        "questions",
        "chance",
        "± ",
        "commonest",
        "best position",
        "permuted",
        "words alone",
        "best shortcut",
    )
    table = new_table(*heads, title=f"What {report.data} gives away without being read")
    for family, found in report.null_baselines.items():
        blind = report.blind.get(family)
        best = max(report.shortcuts.get(family, {}).values(), key=lambda result: result.accuracy, default=None)
        table.add_row(
            family,
            str(found.n_questions),
            f"{found.chance:.3f}",
            f"{found.half_width:.3f}",
            f"{found.majority:.3f}",
            f"{found.best_position:.3f}",
            "–" if found.permuted is None else f"{found.permuted:.3f}",
            "–" if blind is None else f"{blind.accuracy:.3f}",
            "–" if best is None else f"{best.name} {best.accuracy:.3f}",
        )
    console.print(table)
    for name, floor in report.noise_floor.items():
        if name == "macro":
            console.print(
                f"macro accuracy {floor.accuracy:.3f} ± {floor.half_width:.3f}; "
                f"a gain above {floor.paired_half_width:.3f} can be told from noise"
            )
    for step in report.ladder:
        console.print(f"{step.weaker} → {step.stronger}: {step.difference:+.3f} [{step.low:+.3f}, {step.high:+.3f}]")
    for finding in report.findings:
        console.print(f"- {finding}")
    console.print("sound" if not report.findings else f"{len(report.findings)} findings")
