"""`forthwith compare`: is one model better than others on the same questions?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from forthwith.evaluation.compare import Comparison

__all__ = ["compare"]


def compare(
    data: Annotated[Path, typer.Option(help="The records that all models predicted.")],
    preds: Annotated[Path, typer.Option(help="Predictions of the candidate.")],
    baseline: Annotated[list[Path], typer.Option(help="Predictions of a model to beat; repeat for more.")],
    margin: Annotated[
        float | None, typer.Option(help="Macro difference that does not matter: tests equivalence and non-inferiority.")
    ] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples of the clusters.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of the resamples.")] = 20260930,
    by_state: Annotated[bool, typer.Option("--by-state", help="Cluster by state, not by user.")] = False,  # noqa: FBT002
    out: Annotated[Path | None, typer.Option(help="Where the numbers go, as JSON.")] = None,
) -> None:
    """Paired cluster bootstrap, exact McNemar, sign flips and Holm's correction, candidate against each baseline."""
    import json

    from forthwith.evaluation.align import AlignConfig, align_files
    from forthwith.evaluation.calibrate import check_data
    from forthwith.evaluation.checkpoint import model_names
    from forthwith.evaluation.compare import CompareOptions, Contender
    from forthwith.evaluation.compare import compare as run

    config = AlignConfig(cluster_by="state" if by_state else "user")

    files = [preds, *baseline]
    for path in files:
        check_data(data, path)
    contenders = [
        Contender(name, align_files(path, data, config)) for name, path in zip(model_names(files), files, strict=True)
    ]
    options = CompareOptions(n_resamples=resamples, seed=seed, margin=margin)
    results = run(contenders[0], contenders[1:], options)
    _show(results)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        body = [result.model_dump(mode="json") for result in results]
        out.write_text(json.dumps(body, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        typer.echo(str(out))


def _show(results: list[Comparison]) -> None:
    from forthwith.cli.terminal import new_table, open_console

    console = open_console()
    for result in results:
        title = f"{result.candidate} minus {result.baseline}: {result.questions} questions, {result.clusters} clusters"
        table = new_table("family", "difference", "95 % interval", title=title)
        for name, found in {**result.families, "macro": result.macro, "micro": result.micro}.items():
            table.add_row(
                name, f"{100 * found.difference:+.1f}", f"{100 * found.low:+.1f} to {100 * found.high:+.1f} points"
            )
        console.print(table)
        console.print(
            f"one-sided p {result.p_value:.2g} (Holm {result.p_holm:.2g}), sign flips p {result.sign_flip_p:.2g}, "
            f"McNemar {result.only_candidate} vs {result.only_baseline}, p {result.mcnemar_p:.2g}"
        )
        if result.equivalence is not None:
            verdict = "equivalent" if result.equivalence.is_equivalent else "not shown to be equivalent"
            inferior = "not inferior" if result.equivalence.is_not_inferior else "not shown to be not inferior"
            console.print(f"within {100 * result.equivalence.margin:.1f} points: {verdict}, {inferior}")
