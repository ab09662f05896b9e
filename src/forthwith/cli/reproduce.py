"""`forthwith reproduce`: did a second run give the same answers?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["reproduce"]


def reproduce(
    first: Annotated[Path, typer.Argument(help="Predictions of the run to be reproduced.")],
    second: Annotated[Path, typer.Argument(help="Predictions of the run that should give the same.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line on standard output.")] = False,  # noqa: FBT002
) -> None:
    """Compare two runs of one model; the exit code is 1 if an answer changed or a probability moved by more than 0.05."""
    from forthwith.evaluation.predictions import read_predictions
    from forthwith.evaluation.reproduce import reproduce as run

    found = run(read_predictions(first), read_predictions(second))
    if as_json:
        typer.echo(found.model_dump_json())
    else:
        typer.echo(
            f"{found.questions} questions, {found.changed_answers} answers changed; "
            f"probabilities moved by {found.mean_probability_difference:.2g} (at most {found.max_probability_difference:.2g}), "
            f"log-scores by {found.mean_log_score_difference:.2g} (at most {found.max_log_score_difference:.2g})"
        )
        for place in found.changed:
            typer.echo(f"changed: {place}")
        typer.echo("reproduced" if found.is_reproduced else "not reproduced")
    if not found.is_reproduced:
        raise typer.Exit(1)
