"""`forthwith adapter-check`: prove that a served adapter takes effect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["adapter_check"]


def adapter_check(
    url: Annotated[str, typer.Option(help="Address of a completions server (vLLM, llama.cpp, …).")],
    base: Annotated[str, typer.Option(help="The base model's name there.")],
    adapter: Annotated[str, typer.Option(help="The adapter's name there.")],
    tokenizer: Annotated[str, typer.Option(help="Tokenizer of the base: a folder, hub id or smollm2-135m-instruct.")],
    readout: Annotated[str, typer.Option(help="The readout the adapter was trained with.")] = "branch",
    run: Annotated[Path | None, typer.Option(help="The run, to compare its own answers with the server's.")] = None,
) -> None:
    """Ask probes of the base and of the adapter, and compare. Exit code 3 where the adapter is not applied."""
    from forthwith.default_model import SMOLLM2, ensure_default_model
    from forthwith.encoding import Encoder
    from forthwith.engine.openai import OpenAIEngine
    from forthwith.engine.protocol import Engine
    from forthwith.engine.served import load_tokenizer
    from forthwith.engine.server_calls import CallSettings
    from forthwith.engine.transformers import TransformersEngine
    from forthwith.errors import ArtifactError
    from forthwith.readout import readout_by_name
    from forthwith.training.adapter_check import check_adapter
    from forthwith.training.export import open_run

    trained = None if run is None else open_run(run)
    encoder = Encoder(load_tokenizer(str(ensure_default_model()) if tokenizer == SMOLLM2.name else tokenizer))
    reference: Engine | None = None if trained is None else TransformersEngine(trained.load(), str(run))
    served = [OpenAIEngine(CallSettings(url=url), model) for model in (base, adapter)]
    verdict = check_adapter(served[0], served[1], encoder, readout_by_name(readout), reference)
    typer.echo(f"{verdict.from_base.questions} probe questions, largest change {verdict.from_base.largest:.4f} nats")
    if not verdict.takes_effect:
        raise ArtifactError(verdict.reason)
    typer.echo(verdict.reason)
