"""`forthwith average`: several adapters of one base as their mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["average"]


def average(
    adapters: Annotated[list[Path], typer.Argument(help="Folders of two or more adapters, or of runs.")],
    out: Annotated[Path, typer.Option(help="A new folder for the mean.")],
    weight: Annotated[
        list[float] | None, typer.Option(help="Of each adapter, in order; give it as often. Default: all alike.")
    ] = None,
) -> None:
    """Average the weight changes of runs that differ in their seeds; read the mean with --adapter."""
    from forthwith.training.averaging import average_adapters

    done = average_adapters(adapters, out, weight)
    typer.echo(f"{done.place}: {done.modules} modules, at most {done.lost:.2g} of a module's squared norm cut")
