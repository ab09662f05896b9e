"""The options by which every command names a model, and what they load."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forthwith.cli.pull import cache_dir_from_environment

if TYPE_CHECKING:
    from forthwith.deciding import Decider

__all__ = ["Adapter", "CacheDir", "Calibration", "Device", "ModelName", "Precision", "Readout", "Tokenizer", "load"]

API_KEY_VARIABLE = "TYPESAFE_API_KEY"
"""Environment variable with the key of a remote decision API; only commands read it."""

SERVED_KEY_VARIABLE = "OPENAI_API_KEY"
"""Environment variable with the key of a completions server."""

ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="A shipped bundle, a bundle or model folder, a .gguf file, a hub id, a remote API as systemone:URL[#MODEL],"
        " or a model on a completions server as openai:URL[#MODEL]. Default: the embedded model.",
    ),
]
Adapter = Annotated[str | None, typer.Option(help="A PEFT adapter folder for a bare base model.")]
Readout = Annotated[
    str | None, typer.Option(help="branch, label, label(orders=2,prior), skeleton or text. Default: the bundle's.")
]
Calibration = Annotated[Path | None, typer.Option(help="A calibration file for exactly this model and readout.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, …. Default: CUDA where there is one.")]
Precision = Annotated[
    str | None, typer.Option(help="float32, bfloat16 or float16. Default: what the bundle was fitted in.")
]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        help="Tokenizer of an openai: model: a folder, hub id or smollm2-135m-instruct. Default: the served model's name."
    ),
]
CacheDir = Annotated[Path | None, typer.Option(help="Where the default model is kept.")]


def load(
    model: str | None = None,
    adapter: str | None = None,
    readout: str | None = None,
    calibration: Path | None = None,
    device: str | None = None,
    precision: str | None = None,
    cache_dir: Path | None = None,
    tokenizer: str | None = None,
) -> Decider:
    """The model that the options name, ready to decide; says on standard error what it fetches."""
    from forthwith.model import load_decider

    def say(line: str) -> None:
        typer.echo(line, err=True)

    is_served = model is not None and model.startswith("openai:")
    return load_decider(
        model,
        api_key=os.environ.get(SERVED_KEY_VARIABLE if is_served else API_KEY_VARIABLE),
        adapter=adapter,
        readout=readout,
        calibration=calibration,
        device=device,
        precision=precision,
        cache_dir=cache_dir_from_environment(cache_dir),
        tokenizer=tokenizer,
        progress=say,
    )
