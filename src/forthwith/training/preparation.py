"""Everything a run needs before its first step: the base with its adapter, the tokenizer, the readout, and what works here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

from forthwith.default_model import SMOLLM2, ensure_default_model
from forthwith.encoding import Encoder
from forthwith.engine.loading import LoadedModel, ModelSource, load_model
from forthwith.errors import ConfigError
from forthwith.readout import Readout, readout_by_name
from forthwith.training.adapters import attach_adapter
from forthwith.training.compilation import compile_layers
from forthwith.training.config import TrainingConfig
from forthwith.training.forward import Attention, TreeForward, check_logits
from forthwith.training.row_probe import largest_gap, probe_batch, run_probe
from forthwith.training.streaming import BatchShape

__all__ = ["Prepared", "load_base", "parameter_count", "prepare"]

_GPU_ROW_TOKENS = 16_384
_CPU_ROW_TOKENS = 1_024
_log = logging.getLogger("forthwith.training")


@dataclass(frozen=True)
class Prepared:
    """A model ready to train.

    Attributes:
        loaded: the base as loaded, and its hashes.
        forward: the adapted model behind the row forward.
        readout: how questions become trees.
        shape: how rows are packed.
        max_tokens: longest path.
        autocast: the context forwards run in.
        notes: what was chosen for this machine, for the log.
    """

    loaded: LoadedModel
    forward: TreeForward
    readout: Readout
    shape: BatchShape
    max_tokens: int
    autocast: Callable[[], AbstractContextManager[Any]]
    notes: dict[str, Any]

    @property
    def encoder(self) -> Encoder:
        """The tokenizer."""
        return self.loaded.encoder


def load_base(config: TrainingConfig, *, device: str | None = None) -> LoadedModel:
    """The base that a configuration names.

    Raises:
        ForthwithError: it cannot be had.
    """
    place = config.base.model
    if place == SMOLLM2.name:
        place = str(ensure_default_model())
    return load_model(ModelSource(place, None, device, config.runtime.precision, config.base.revision))


def prepare(config: TrainingConfig, *, device: str | None = None, loaded: LoadedModel | None = None) -> Prepared:
    """Attach a fresh adapter to the base and choose how rows are run.

    Args:
        config: the run.
        device: cpu, cuda, …; None takes CUDA where there is one.
        loaded: the base, where it is loaded already; it is changed.

    Raises:
        ForthwithError: the base cannot be had, or does not fit the configuration.
    """
    loaded = loaded or load_base(config, device=device)
    is_cuda = loaded.device.startswith("cuda")
    readout = readout_by_name(config.readout)
    model = attach_adapter(loaded.model, config.lora, config.seed)
    if config.runtime.gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.enable_input_require_grads()
    forward = TreeForward(model, "paths" if loaded.has_recurrent_layers else "dense")
    check_logits(forward)
    autocast: Callable[[], AbstractContextManager[Any]] = nullcontext
    if loaded.precision == "bfloat16":
        autocast = _Autocast(loaded.device.partition(":")[0])
    notes: dict[str, Any] = {}
    if not loaded.has_recurrent_layers:
        forward.attention = _choose_attention(forward, config.runtime.attention, autocast, notes, is_cuda=is_cuda)
    row_tokens = config.batching.row_tokens or (_GPU_ROW_TOKENS if is_cuda else _CPU_ROW_TOKENS)
    has_fixed_widths = is_cuda and not loaded.has_recurrent_layers
    wants_compile = has_fixed_widths if config.runtime.compile is None else config.runtime.compile
    is_padded = forward.attention == "flex" or wants_compile
    shape = BatchShape(row_tokens, as_paths=loaded.has_recurrent_layers, is_padded=is_padded)
    if wants_compile:
        compile_layers(
            forward, shape.width(row_tokens) or row_tokens, autocast, notes,
            precision=loaded.precision, autotune=config.runtime.autotune,
        )  # fmt: skip
    notes |= {
        "attention": forward.attention,
        "row_tokens": row_tokens,
        "device": loaded.device,
        "precision": loaded.precision,
    }
    if config.runtime.shard:
        notes["shards"] = shard(forward)
    max_tokens = min(config.batching.max_tokens or loaded.max_tokens, loaded.max_tokens)
    return Prepared(loaded, forward, readout, shape, max_tokens, autocast, notes)


class _Autocast:
    """Makes autocast contexts to bfloat16."""

    def __init__(self, device_type: str) -> None:
        self._device_type = device_type

    def __call__(self) -> AbstractContextManager[Any]:
        return torch.autocast(self._device_type, dtype=torch.bfloat16)


def parameter_count(forward: TreeForward) -> int:
    """Weights that a token passes through, the embeddings not counted."""
    embeddings = {id(parameter) for parameter in forward.head.parameters()}
    embeddings |= {id(parameter) for parameter in forward.body.get_input_embeddings().parameters()}
    return sum(parameter.numel() for parameter in forward.body.parameters() if id(parameter) not in embeddings)


def _choose_attention(
    forward: TreeForward, wanted: str | None, autocast: Any, notes: dict[str, Any], *, is_cuda: bool
) -> Attention:
    """FlexAttention where it runs and agrees with the dense mask on a probe; else the dense mask."""
    if wanted == "dense" or (wanted is None and not is_cuda):
        return "dense"
    causal = forward.causal
    probe = probe_batch()
    forward.eval()  # dropout would draw differently for each of the two
    try:
        expected = run_probe(forward, probe, autocast)
        causal.set_attn_implementation("flex_attention")
        forward.attention = "flex"
        gap = largest_gap(run_probe(forward, probe, autocast), expected)
        notes["flex_gap"] = gap
        if gap < 0.05:
            return "flex"
        _log.warning("FlexAttention differs from the dense mask by %.3f on a probe; using the dense mask", gap)
    except Exception as error:
        notes["flex_error"] = f"{type(error).__name__}: {error}"[:300]
        _log.warning("FlexAttention does not run here (%s); using the dense mask", notes["flex_error"])
    causal.set_attn_implementation("sdpa")
    return "dense"


def shard(forward: TreeForward) -> int:
    """Spread the weights over the run's processes, layer by layer; gives the number of processes.

    Raises:
        ConfigError: the run has one process.
    """
    if not (dist.is_available() and dist.is_initialized()):
        raise ConfigError(
            "runtime.shard needs several processes; start with accelerate launch or torchrun", "runtime.shard"
        )
    for layer in forward.body.layers:
        fully_shard(layer)
    fully_shard(forward)
    return dist.get_world_size()
