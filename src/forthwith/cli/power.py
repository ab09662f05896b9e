"""`forthwith power`: what a comparison could show, before it is run."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["power"]


def power(
    questions: Annotated[int, typer.Option(min=1, help="Questions that both models will answer.")],
    discordance: Annotated[float, typer.Option(help="Share on which exactly one of the two will be right.")] = 0.2,
    difference: Annotated[float | None, typer.Option(help="A true difference in accuracy, to get its power.")] = None,
    cluster_size: Annotated[float, typer.Option(help="Mean questions of one user or state.")] = 1.0,
    cluster_correlation: Annotated[float, typer.Option(help="Correlation of differences within one.")] = 0.0,
    alpha: Annotated[float, typer.Option(help="Two-sided level.")] = 0.05,
    target_power: Annotated[float, typer.Option(help="Power for the detectable difference.")] = 0.8,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line on standard output.")] = False,  # noqa: FBT002
) -> None:
    """The smallest difference that a paired comparison of so many questions can detect."""
    import json
    from dataclasses import asdict

    from forthwith.evaluation.significance import power as compute

    found = compute(
        questions,
        discordance=discordance,
        difference=difference,
        cluster_size=cluster_size,
        cluster_correlation=cluster_correlation,
        alpha=alpha,
        target_power=target_power,
    )
    if as_json:
        typer.echo(json.dumps(asdict(found)))
        return
    typer.echo(
        f"{questions} questions count as {questions / found.design_effect:.0f}: a difference of "
        f"{100 * found.detectable:.1f} points is found with power {target_power:.0%} at level {alpha:g}"
    )
    if found.power is not None and difference is not None:
        typer.echo(f"a true difference of {100 * difference:.1f} points is found with power {found.power:.0%}")
