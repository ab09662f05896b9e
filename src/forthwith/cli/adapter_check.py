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
    tokenizer: Annotated[str, typer.Option(help="Folder or hub id with the base's tokenizer.")],
    readout: Annotated[str, typer.Option(help="The readout the adapter was trained with.")] = "branch",
    run: Annotated[Path | None, typer.Option(help="The run, to compare its own answers with the server's.")] = None,
) -> None:
    """Ask probes of the base and of the adapter, and compare. Exit code 3 where the adapter is not applied."""
    from transformers import AutoTokenizer

    from forthwith.encoding import Encoder
    from forthwith.engine.openai import OpenAIEngine
    from forthwith.engine.protocol import Engine
    from forthwith.engine.server_calls import CallSettings
    from forthwith.engine.transformers import TransformersEngine
    from forthwith.errors import ArtifactError
    from forthwith.readout import readout_by_name
    from forthwith.training.adapter_check import check_adapter
    from forthwith.training.export import open_run

    encoder = Encoder(AutoTokenizer.from_pretrained(tokenizer))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    reference: Engine | None = None
    if run is not None:
        reference = TransformersEngine(open_run(run).load(), str(run))
    served = [OpenAIEngine(CallSettings(url=url), model) for model in (base, adapter)]
    verdict = check_adapter(served[0], served[1], encoder, readout_by_name(readout), reference)
    typer.echo(f"{verdict.from_base.questions} probe questions, largest change {verdict.from_base.largest:.4f} nats")
    if not verdict.takes_effect:
        raise ArtifactError(verdict.reason)
    typer.echo(verdict.reason)
