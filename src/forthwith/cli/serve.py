"""`forthwith serve` and `forthwith new-key`: decisions over HTTP, and who may ask for them."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forthwith.cli.pull import cache_dir_from_environment
from forthwith.errors import ConfigError

if TYPE_CHECKING:
    from forthwith.serving.server import ServerPlan
    from forthwith.serving.settings import ServingSettings

__all__ = ["new_key", "serve"]


def serve(
    model: Annotated[
        str | None, typer.Option(help="Bundle, model folder, .gguf file or hub id; default: ours.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; loopback unless you say otherwise.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port; 0 takes a free one.")] = 8000,
    adapter: Annotated[Path | None, typer.Option(help="Adapter folder for a bare base model.")] = None,
    readout: Annotated[str | None, typer.Option(help="branch, label, skeleton or text.")] = None,
    calibration: Annotated[Path | None, typer.Option(help="Calibration file for exactly this model.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, …")] = None,
    devices: Annotated[str | None, typer.Option(help="One process a device: cuda:0,cuda:1")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes behind the port; a supervisor restarts them.")] = 1,
    precision: Annotated[str | None, typer.Option(help="float32, bfloat16 or float16.")] = None,
    cache_dir: Annotated[Path | None, typer.Option(help="Where the default model is kept.")] = None,
    engine_url: Annotated[
        str | None,
        typer.Option(help="A vLLM or llama.cpp server that runs the model; --model then names its tokenizer."),
    ] = None,
    engine_model: Annotated[str | None, typer.Option(help="The model's name on that server.")] = None,
    engine_key_env: Annotated[
        str | None,
        typer.Option(help="Environment variable with that server's API key. Default: OPENAI_API_KEY, where it is set."),
    ] = None,
    keys: Annotated[Path | None, typer.Option(help="TOML file of API keys; see new-key.")] = None,
    alias: Annotated[list[str] | None, typer.Option(help="Another name for the model; repeatable.")] = None,
    cors_origin: Annotated[list[str] | None, typer.Option(help="Web origin that may call; repeatable.")] = None,
    batch_tokens: Annotated[int | None, typer.Option(min=1, help="Most tokens of one batch.")] = None,
    batch_seconds: Annotated[float | None, typer.Option(help="How long a batch should take.")] = None,
    max_waiting: Annotated[int | None, typer.Option(min=1, help="Most requests that wait; more get 429.")] = None,
    max_wait: Annotated[float | None, typer.Option(help="Longest wait for the model, in seconds.")] = None,
    max_body_bytes: Annotated[int | None, typer.Option(min=1, help="Largest body, decompressed.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Most tokens of one request.")] = None,
    traces: Annotated[str | None, typer.Option(help="OTLP/HTTP endpoint for traces.")] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    playground: Annotated[bool, typer.Option(help="Serve the page to try the model on.")] = True,  # noqa: FBT002
) -> None:
    """Serve decisions over HTTP: System One, OpenAI Decisions and OpenRouter bodies, a playground at /."""
    from forthwith.serving.keys import read_keys
    from forthwith.serving.server import ModelChoice, ServerPlan, bind, serve_here
    from forthwith.serving.settings import ServingSettings
    from forthwith.serving.supervisor import Supervisor

    settings = _bounded(
        ServingSettings(
            keys=read_keys(keys) if keys else (),
            cors_origins=tuple(cors_origin or ()),
            playground=playground,
        ),
        batch={"tokens": batch_tokens, "seconds": batch_seconds, "waiting": max_waiting, "wait_s": max_wait},
        limits={"body_bytes": max_body_bytes, "tokens": max_tokens},
    )
    settings = replace(settings, aliases=(*settings.aliases, *(alias or ())))
    places = [place.strip() for place in devices.split(",")] if devices else [device] * workers
    folder = cache_dir_from_environment(cache_dir)
    choice = ModelChoice(
        model,
        adapter=None if adapter is None else str(adapter),
        readout=readout,
        calibration=None if calibration is None else str(calibration),
        precision=precision,
        cache_dir=None if folder is None else str(folder),
        engine_url=engine_url,
        engine_model=engine_model,
        engine_key_env=_set_variable(engine_key_env) or ModelChoice.engine_key_env,
        threads=max(1, (os.cpu_count() or 1) // len(places)) if len(places) > 1 else None,
    )
    plans = [
        ServerPlan(load=replace(choice, device=place).load, settings=settings, log_level=log_level, traces=traces)
        for place in places
    ]
    listener = bind(host, port)
    _tell(host, listener.getsockname()[1], plans[0], len(plans))
    if len(plans) == 1:
        serve_here(plans[0], listener)
    else:
        Supervisor(plans, listener, log_level).run()


def _set_variable(name: str | None) -> str | None:
    """The name of an environment variable, which must be set where it is given."""
    if name is not None and not os.environ.get(name):
        raise ConfigError(f"the environment variable {name} is not set; put the key into it", "engine_key_env")
    return name


def new_key(
    name: Annotated[str, typer.Argument(help="Whose key it is; shows in the logs.")],
    keys: Annotated[Path, typer.Option(help="The keys file; the key's hash is added to it.")] = Path("keys.toml"),
) -> None:
    """Make an API key: printed once, kept as a hash."""
    from forthwith.serving.keys import add_key

    typer.echo(add_key(keys, name))


def _bounded(
    settings: ServingSettings, *, batch: dict[str, float | None], limits: dict[str, float | None]
) -> ServingSettings:
    """The settings with those numbers that were given."""
    given_batch = {name: value for name, value in batch.items() if value is not None}
    given_limits = {name: value for name, value in limits.items() if value is not None}
    return replace(
        settings,
        batch=replace(settings.batch, **given_batch),  # pyright: ignore[reportArgumentType]
        limits=replace(settings.limits, **given_limits),  # pyright: ignore[reportArgumentType]
    )


def _tell(host: str, port: int, plan: ServerPlan, processes: int) -> None:
    """Say where it will listen, and warn when strangers could reach a server without keys."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    shown = f"[{host}]" if ":" in host else host
    console.print(
        f"loading the model; then serving at http://{shown}:{port} ({processes} process{'es'[: 2 * (processes > 1)]})"
    )
    if not plan.settings.keys and not _is_loopback(host):
        console.print(
            f"[bold yellow]warning:[/] {host} can be reached from other machines and no API keys are set:"
            " anybody who reaches the port can use the model. Make a key with `forthwith new-key` and pass --keys."
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
