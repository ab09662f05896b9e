"""A model on a completions server together with its tokenizer, which stays here: prompts cross the wire as token ids."""

from __future__ import annotations

from typing import Any, cast

from forthwith.encoding import Encoder, Ids
from forthwith.engine.openai import OpenAIEngine
from forthwith.engine.server_calls import CallSettings
from forthwith.errors import ArtifactError

__all__ = ["load_served", "load_tokenizer"]


def load_served(
    settings: CallSettings, model: str | None = None, *, tokenizer: str | None = None, max_tokens: int | None = None
) -> tuple[OpenAIEngine, Encoder]:
    """An engine on a server, and the encoder that writes its prompts; the two tokenizers are compared where possible.

    Args:
        settings: where the server is.
        model: the model's name there; None takes the only one.
        tokenizer: folder or hub id of the tokenizer; None takes what the server calls its model.
        max_tokens: context length, for servers that do not tell.

    Raises:
        ArtifactError: no such tokenizer, or the server has another one.
        ConfigError: the model is not served there, or must be named.
        EngineError: the server cannot be reached.
    """
    source = tokenizer or OpenAIEngine(settings, model, max_tokens=max_tokens).identity.model
    ours = load_tokenizer(source)
    engine = OpenAIEngine(
        settings,
        model,
        token_text=lambda token: str(ours.decode([token])),
        encode=lambda text: _ids(ours, text),
        max_tokens=max_tokens,
    )
    return engine, Encoder(ours)


def load_tokenizer(source: str) -> Any:
    """A tokenizer from a folder or a hub id.

    Raises:
        ArtifactError: there is none.
    """
    from transformers import AutoTokenizer

    try:
        return cast("Any", AutoTokenizer).from_pretrained(source)
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"there is no tokenizer {source!r} here: {str(error).splitlines()[0]}; name the folder or hub id of the "
            "served model's tokenizer"
        ) from error


def _ids(tokenizer: Any, text: str) -> Ids:
    return tuple(int(token) for token in tokenizer.encode(text, add_special_tokens=False))
