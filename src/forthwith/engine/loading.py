"""From a name to a torch model: local folder, GGUF file or hub id, with an optional adapter that must fit and must matter."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import torch
from safetensors import SafetensorError, safe_open

from forthwith.default_model.source import file_sha256
from forthwith.encoding import Encoder
from forthwith.errors import ArtifactError, ConfigError, UnknownModelError

__all__ = ["LoadedModel", "ModelSource", "load_model", "weights_sha256"]

Precision = Literal["float32", "bfloat16", "float16"]


@dataclass(frozen=True)
class ModelSource:
    """Which weights to load and how.

    Attributes:
        base: a model folder, a `.gguf` file, or a hub id.
        adapter: a PEFT adapter folder, or None.
        device: cpu, cuda, cuda:1, …; None takes CUDA where there is one.
        precision: None takes float32 on a CPU and bfloat16 on CUDA.
        revision: the hub revision, for a hub id.
    """

    base: str
    adapter: str | None = None
    device: str | None = None
    precision: Precision | None = None
    revision: str | None = None


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to run, with its tokenizer and what identifies both."""

    model: Any
    encoder: Encoder
    tokenizer: Any
    weights_sha256: str
    adapter_sha256: str | None
    device: str
    precision: str
    max_tokens: int
    has_recurrent_layers: bool


def load_model(source: ModelSource) -> LoadedModel:
    """Load base, tokenizer and adapter.

    Raises:
        UnknownModelError: there is no such folder or file, and no hub model of that name can be reached.
        ArtifactError: the model or adapter is broken, does not fit its base, or changes nothing.
    """
    device = _checked_device(source.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    precision = source.precision or ("float32" if device == "cpu" else "bfloat16")
    model, tokenizer, files = _load_base(source, precision)
    config = model.config.get_text_config()
    layer_types = set(getattr(config, "layer_types", None) or ())
    base_sha256 = weights_sha256(files)
    adapter_sha256 = None
    if source.adapter is not None:
        model = _with_adapter(model, Path(source.adapter), source.base)
        adapter_sha256 = file_sha256(Path(source.adapter) / "adapter_model.safetensors")
    model = model.to(device=device, dtype=getattr(torch, precision)).eval().requires_grad_(requires_grad=False)
    return LoadedModel(
        model=model,
        encoder=Encoder(tokenizer),
        tokenizer=tokenizer,
        weights_sha256=base_sha256,
        adapter_sha256=adapter_sha256,
        device=device,
        precision=precision,
        max_tokens=int(getattr(config, "max_position_embeddings", None) or 4096),
        has_recurrent_layers=bool(layer_types - {"full_attention", "sliding_attention"}),
    )


def _checked_device(device: str) -> str:
    """The device, if it is one of this machine's.

    Raises:
        ConfigError: no such device here.
    """
    try:  # torch has no one question for this: each kind of absence raises its own class
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0][:120]
        raise ConfigError(
            f"device {device!r} cannot be used here ({reason}); use cpu or a GPU of this machine", "device"
        ) from error
    return device


def _load_base(source: ModelSource, precision: str) -> tuple[Any, Any, list[Path]]:
    from transformers import AutoModelForCausalLM, AutoTokenizer  # slow import
    from transformers.utils import logging

    logging.disable_progress_bar()

    path = Path(source.base)
    dtype = torch.float32 if source.adapter is not None else getattr(torch, precision)
    options: dict[str, Any] = {"dtype": dtype, "attn_implementation": "sdpa"}
    if path.suffix == ".gguf":
        if not path.is_file():
            raise UnknownModelError(source.base)
        place, files = str(path.parent), [path]
        options["gguf_file"] = path.name
    elif path.is_dir():
        place, files = str(path), sorted(path.glob("*.safetensors"))
        if not files:
            raise ArtifactError(
                f"{path} holds no *.safetensors file; point to a model folder, a .gguf file or a hub id"
            )
    else:
        place, files = _hub_snapshot(source)
    tokenizer_options = {"gguf_file": path.name} if path.suffix == ".gguf" else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tokenizer: Any = cast("Any", AutoTokenizer).from_pretrained(place, **tokenizer_options)
            model: Any = cast("Any", AutoModelForCausalLM).from_pretrained(place, **options)
    except (OSError, ValueError, KeyError, SafetensorError, RuntimeError, json.JSONDecodeError) as error:
        raise ArtifactError(f"the model at {place} cannot be loaded: {error}") from error
    return model, tokenizer, files


def _hub_snapshot(source: ModelSource) -> tuple[str, list[Path]]:
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        place: str = cast("Any", huggingface_hub).snapshot_download(
            source.base,
            revision=source.revision,
            allow_patterns=["*.json", "*.safetensors", "*.model", "*.jinja", "*.txt"],
        )
    except HFValidationError as error:
        raise UnknownModelError(source.base) from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ArtifactError(
            f"{source.base!r} is no local folder or file and cannot be fetched from the hub ({type(error).__name__});"
            " check the name or the network"
        ) from error
    return place, sorted(Path(place).glob("*.safetensors"))


def _with_adapter(model: Any, folder: Path, base: str) -> Any:
    """The model with the adapter merged in, in float32.

    An adapter whose tensors miss the model's names would load in silence and change nothing: every tensor must find its place,
    and the adapted model must answer a probe differently.
    """
    import peft

    weights = folder / "adapter_model.safetensors"
    if not weights.is_file() or not (folder / "adapter_config.json").is_file():
        raise ArtifactError(
            f"{folder} is no adapter folder; it needs adapter_config.json and adapter_model.safetensors"
        )
    probe = torch.arange(1, 9)[None]
    with torch.inference_mode():
        before = model(input_ids=probe).logits.float()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            adapted: Any = cast("Any", peft.PeftModel).from_pretrained(model, str(folder))
    except (RuntimeError, ValueError, SafetensorError, KeyError, TypeError) as error:
        raise ArtifactError(f"the adapter {folder} does not fit the base {base}: {str(error)[:400]}") from error
    with cast("Any", safe_open)(str(weights), framework="pt") as file:
        stored: set[str] = set(file.keys())
    placed: set[str] = set(cast("Any", peft).get_peft_model_state_dict(adapted, save_embedding_layers=False))
    if strays := sorted(stored - placed):
        raise ArtifactError(
            f"{len(strays)} of {len(stored)} adapter tensors have no place in the base {base}, first {strays[0]!r};"
            " the adapter was made for a model with other module names"
        )
    if missing := sorted(placed - stored):
        raise ArtifactError(
            f"the adapter {folder} lacks {len(missing)} tensors that its config asks for: {missing[0]!r}"
        )
    merged = adapted.merge_and_unload()
    with torch.inference_mode():
        after = merged(input_ids=probe).logits.float()
    if torch.equal(before, after):
        raise ArtifactError(f"the adapter {folder} changes nothing: base and adapted model answer a probe alike")
    return merged


def weights_sha256(files: Iterable[Path]) -> str:
    """One hash for a model's weight files: of the single file, or of the files' hashes in name order."""
    hashes = [file_sha256(path) for path in sorted(files)]
    if len(hashes) == 1:
        return hashes[0]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()
