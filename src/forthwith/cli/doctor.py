"""`forthwith doctor`: what this machine and this model can do."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from forthwith.cli.model_options import (
    Adapter,
    CacheDir,
    Calibration,
    Device,
    ModelName,
    Precision,
    Readout,
    Tokenizer,
    load,
)
from forthwith.cli.pull import cache_dir_from_environment

__all__ = ["doctor"]


def doctor(
    model: ModelName = None,
    adapter: Adapter = None,
    readout: Readout = None,
    calibration: Calibration = None,
    device: Device = None,
    precision: Precision = None,
    cache_dir: CacheDir = None,
    tokenizer: Tokenizer = None,
    as_json: Annotated[bool, typer.Option("--json", help="All checks as one JSON object.")] = False,  # noqa: FBT002
) -> None:
    """Check versions, devices and cache, then load the model and check labels, determinism, executors and speed."""
    from rich.console import Console
    from rich.text import Text

    from forthwith.doctor import Check, Diagnosis, diagnose

    console = Console(highlight=False)
    checks: list[Check] = []
    for check in diagnose(
        lambda: load(model, adapter, readout, calibration, device, precision, cache_dir, tokenizer),
        cache_dir_from_environment(cache_dir),
    ):
        checks.append(check)
        if not as_json:
            sign = Text("ok  ", style="green") if check.is_ok else Text("BAD ", style="bold red")
            console.print(sign + Text(f"{check.name:<12}", style="bold") + Text(check.told), soft_wrap=True)
    diagnosis = Diagnosis(tuple(checks))
    if as_json:
        typer.echo(json.dumps(diagnosis.as_json(), ensure_ascii=False))
    if not diagnosis.is_healthy:
        raise typer.Exit(1)
