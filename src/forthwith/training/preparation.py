"""Everything a run needs before its first step: the base with its adapter, the tokenizer, the readout, and what works here."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

from forthwith.default_model import SMOLLM2, ensure_default_model
from forthwith.encoding import Encoder, TreeBuilder
from forthwith.engine.loading import LoadedModel, ModelSource, load_model
from forthwith.errors import ConfigError
from forthwith.readout import Readout, readout_by_name
from forthwith.training.adapters import attach_adapter
from forthwith.training.batching import packed_batch
from forthwith.training.config import TrainingConfig
from forthwith.training.forward import Attention, TreeForward, check_logits
from forthwith.training.rows import TrainingRow
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
        forward.train()
        _compile_layers(forward, shape.width(row_tokens) or row_tokens, autocast, notes)
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
    probe = _probe_batch()
    try:
        expected = _probe(forward, probe, autocast)
        causal.set_attn_implementation("flex_attention")
        forward.attention = "flex"
        found = _probe(forward, probe, autocast)
        gaps = [_relative_gap(a, b) for a, b in zip(found, expected, strict=True)]
        notes["flex_gap"] = max(gaps)
        if max(gaps) < 0.05:
            return "flex"
        _log.warning("FlexAttention differs from the dense mask by %.3f on a probe; using the dense mask", max(gaps))
    except Exception as error:
        notes["flex_error"] = f"{type(error).__name__}: {error}"[:300]
        _log.warning("FlexAttention does not run here (%s); using the dense mask", notes["flex_error"])
    causal.set_attn_implementation("sdpa")
    return "dense"


def _relative_gap(found: torch.Tensor, expected: torch.Tensor) -> float:
    squares = (found - expected).square().sum() / expected.square().sum().clamp(min=1e-18)
    return float(squares.sqrt())


def _probe(forward: TreeForward, batch: Any, autocast: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Hidden states at the probe's reads and the gradient of the first adapter matrix that has one."""
    with autocast():
        hidden = forward.hidden_at_reads(batch)
        hidden.float().square().sum().backward()  # pyright: ignore[reportUnknownMemberType]
    parameters = [parameter for parameter in forward.parameters() if parameter.grad is not None]
    gradient = next(p.grad for p in parameters if p.grad is not None and bool(p.grad.any())).detach().clone()
    for parameter in parameters:
        parameter.grad = None
    return hidden.detach().float(), gradient


def _probe_batch(width: int = 0) -> Any:
    draw = np.random.default_rng(0)
    rows: list[TrainingRow] = []
    for number in range(3):
        tree = TreeBuilder(tuple(int(token) for token in draw.integers(10, 500, size=100 + 50 * number)))
        for _ in range(3):
            question = tree.add(tuple(int(token) for token in draw.integers(10, 500, size=20)))
            for _ in range(4):
                tree.read(tree.add(tuple(int(token) for token in draw.integers(10, 500, size=15)), question), (1, 2))
        rows.append(TrainingRow(str(number), tree.build(), ()))
    width = max(width, -(-sum(row.size for row in rows) // 128) * 128)
    return packed_batch(rows, width)


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


def _compile_layers(forward: TreeForward, width: int, autocast: Any, notes: dict[str, Any]) -> None:
    """Compile each layer and run a full row through it; where the compiler fails, layers run as they are."""
    torch._dynamo.config.recompile_limit = 64  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue] - few widths, two modes
    layers = list(forward.body.layers)
    try:
        for layer in layers:
            layer.compile(dynamic=False)
        started = time.perf_counter()
        _probe(forward, _probe_batch(width), autocast)
        notes["compile_seconds"] = round(time.perf_counter() - started, 1)
    except Exception as error:
        notes["compile_error"] = f"{type(error).__name__}: {error}"[:300]
        _log.warning("the layers cannot be compiled here (%s); running them as they are", notes["compile_error"])
        for layer in layers:
            layer._compiled_call_impl = None
