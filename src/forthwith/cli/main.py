"""`forthwith`: registers the commands and turns error classes into messages and exit codes, in one place."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer

from forthwith import __version__
from forthwith.cli.adapter_check import adapter_check
from forthwith.cli.average import average
from forthwith.cli.calibrate import calibrate
from forthwith.cli.cascade import cascade
from forthwith.cli.commit import commit
from forthwith.cli.compare import compare
from forthwith.cli.decide import decide
from forthwith.cli.doctor import doctor
from forthwith.cli.evaluate import evaluate
from forthwith.cli.export import export
from forthwith.cli.gate import gate
from forthwith.cli.models import models
from forthwith.cli.personal import app as personal
from forthwith.cli.power import power
from forthwith.cli.predict import predict
from forthwith.cli.pull import pull
from forthwith.cli.report import report
from forthwith.cli.reproduce import reproduce
from forthwith.cli.serve import new_key, serve
from forthwith.cli.show import show
from forthwith.cli.stability import stability
from forthwith.cli.train import train
from forthwith.cli.validity import validity
from forthwith.errors import ArtifactError, ConfigError, DataError, EngineError, ForthwithError, RequestError

__all__ = ["EXIT_CODES", "app", "run"]

EXIT_CODES: dict[type[ForthwithError], int] = {
    RequestError: 2,
    DataError: 2,
    ConfigError: 2,
    ArtifactError: 3,
    EngineError: 4,
}
"""Exit codes by error class: 2 bad input, 3 a model or file that does not fit, 4 an engine that failed; else 1."""

app = typer.Typer(
    name="forthwith",
    help="Typed questions about a state, answered with calibrated probabilities.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:  # noqa: FBT001 - typer's callback shape
    if value:
        typer.echo(f"forthwith {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[  # noqa: FBT002 - typer's option shape
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Typed questions about a state, answered with calibrated probabilities."""


PANELS = {
    "Decide and serve": (decide, serve, new_key),
    "Train": (train, average, export, adapter_check),
    "Models": (pull, models, show, doctor),
    "Calibrate and prove": (
        predict, calibrate, evaluate, compare, power, commit, gate, validity, stability, cascade, report,
        reproduce,
    ),
}  # fmt: skip
for panel, commands in PANELS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.add_typer(personal, name="personal", rich_help_panel="Benchmark of a personal agent")


def _show_warning(message: Warning | str, *_place: object, **_more: object) -> None:
    typer.echo(f"warning: {message}", err=True)


def run() -> None:
    """Entry point of the `forthwith` command."""
    warnings.showwarning = _show_warning
    try:
        app()
    except ForthwithError as error:
        code = next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)
        typer.echo(f"error: {error}", err=True)
        sys.exit(code)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        typer.echo(f"error: {place}{error.strerror or error}; check the path and its permissions", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(130)
