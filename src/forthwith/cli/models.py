"""`forthwith models`: the models that can be named without a download."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from forthwith.cli.model_options import CacheDir
from forthwith.cli.pull import cache_dir_from_environment

__all__ = ["models"]

_PIPED_WIDTH = 200


def models(
    cache_dir: CacheDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line a model.")] = False,  # noqa: FBT002
) -> None:
    """List the bundles that ship with the package, the default base, and what else the cache holds."""
    from rich.console import Console
    from rich.table import Table

    from forthwith.known_models import known_models

    known = known_models(cache_dir_from_environment(cache_dir))
    if as_json:
        for entry in known:
            typer.echo(json.dumps(entry.as_json(), ensure_ascii=False))
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("name", "kind", "state", "about"):
        table.add_column(column)
    for entry in known:
        table.add_row(
            f"[bold]{entry.name}[/bold]" + (" (default)" if entry.is_default else ""),
            entry.kind,
            entry.state,
            entry.about,
        )
    Console(highlight=False, width=None if sys.stdout.isatty() else _PIPED_WIDTH).print(table)
    typer.echo(
        "Any model folder, .gguf file, hub id or systemone:URL works too; see `forthwith decide --help`.", err=True
    )
