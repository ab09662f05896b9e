"""`forthwith export`: a finished run as a bundle, merged weights, a GGUF file or a vLLM-ready adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["export"]


def export(
    run: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Folder of a finished run.")],
    out: Annotated[Path, typer.Option(help="A new folder, or a new file for gguf.")],
    kind: Annotated[str, typer.Option("--as", help="bundle, merged, gguf or vllm.")] = "bundle",
    val: Annotated[
        list[Path] | None, typer.Option(exists=True, dir_okay=False, help="Records to calibrate a bundle on.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the bundle. Default: the configuration's.")] = None,
    version: Annotated[str, typer.Option(help="Version of the bundle.")] = "1",
    licence: Annotated[str | None, typer.Option(help="Licence of the base, for the manifest.")] = None,
    adapter_dtype: Annotated[
        str, typer.Option(help="How a bundle stores the adapter: float32, float16, bfloat16.")
    ] = "float32",
    full: Annotated[bool, typer.Option("--full", help="GGUF matrices in float32 instead of float16.")] = False,  # noqa: FBT002
    device: Annotated[str | None, typer.Option(help="cpu, cuda, …")] = None,
) -> None:
    """Export a run; what is written is scored on probes and compared with the trained model."""
    from forthwith.errors import ConfigError
    from forthwith.training import export as exports
    from forthwith.training.data_files import read_files

    if kind not in ("bundle", "merged", "gguf", "vllm"):
        raise ConfigError(f"--as: {kind!r} is none of bundle, merged, gguf, vllm", "as")
    if kind != "bundle" and (val or adapter_dtype != "float32"):
        raise ConfigError(f"--val and --adapter-dtype are for a bundle; {kind} has neither, leave them out", "as")
    if full and kind != "gguf":
        raise ConfigError(f"--full is for a GGUF file, not for {kind}; leave it out", "full")
    opened = exports.open_run(run)
    match kind:
        case "bundle":
            if adapter_dtype not in ("float32", "float16", "bfloat16"):
                raise ConfigError(
                    f"--adapter-dtype: {adapter_dtype!r} is none of float32, float16, bfloat16", "adapter_dtype"
                )
            done = exports.export_bundle(
                opened, out, read_files(val or ()).records, name=name or opened.summary["config"]["name"], version=version,
                licence=licence, adapter_dtype=adapter_dtype, device=device,
            )  # fmt: skip
        case "merged":
            done = exports.export_merged(opened, out, device=device)
        case "gguf":
            done = exports.export_gguf(opened, out, half=not full)
        case _:
            done = exports.export_vllm_adapter(opened, out)
    gap = done.gap
    checked = (
        f"{gap.questions} probe questions agree within {gap.largest:.1g} nats"
        if gap.questions
        else "tensor names checked against the checkpoint; prove it on the server with adapter-check"
    )
    typer.echo(f"{done.place}: {checked}")
    if kind in ("merged", "gguf"):
        typer.echo(f"it does not say how it is read: load it with --readout {opened.readout.name}", err=True)
