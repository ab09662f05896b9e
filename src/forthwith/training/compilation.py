"""Regional compilation: one decoder layer, adapter and attention inside, compiled once and used for all of them.

Rows have one width (see `BatchShape.width`), so nothing is compiled twice but for the larger widths of single long records and for
evaluation, which needs no gradient.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import nn

from forthwith.training.forward import TreeForward
from forthwith.training.row_probe import largest_gap, probe_batch, run_probe, stirred_adapter

__all__ = ["compile_layers"]

_MOST_GRAPHS = 64  # few widths, with and without gradients
_LARGEST_GAP = {"float32": 0.01, "bfloat16": 0.1}
_log = logging.getLogger("forthwith.training")


def compile_layers(
    forward: TreeForward,
    width: int,
    autocast: Callable[[], AbstractContextManager[Any]],
    notes: dict[str, Any],
    *,
    precision: str = "float32",
    autotune: bool = False,
) -> bool:
    """Compile the layers, run a row of the given width through them, and keep them only if they agree with the plain ones.

    Args:
        forward: the model; left in training mode.
        width: padded tokens of a training row.
        autocast: the context forwards run in.
        notes: told what came out: `compiled`, `compile_gap`, `compile_seconds`, and `compile_error` where layers stay plain.
        precision: of the activations; sets how far the two may lie apart.
        autotune: let the compiler time several kernels for each product; takes minutes.

    Returns:
        Whether the layers are compiled now.
    """
    torch._dynamo.config.recompile_limit = max(_MOST_GRAPHS, torch._dynamo.config.recompile_limit)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    layers = list(forward.body.layers)
    hook = forward.body.get_input_embeddings().register_forward_hook(
        _with_gradient
    )  # else the first layer needs a graph of its own
    has_dropout = any(isinstance(module, nn.Dropout) and module.p > 0 for module in forward.modules())
    started = time.perf_counter()
    try:
        forward.train(not has_dropout)  # what is dropped is drawn differently by the two
        with stirred_adapter(forward):
            expected = run_probe(forward, probe_batch(), autocast)
            for layer in layers:
                layer.compile(dynamic=False, mode="max-autotune-no-cudagraphs" if autotune else None)
            gap = largest_gap(run_probe(forward, probe_batch(width), autocast), expected)
            if has_dropout:
                run_probe(forward.train(), probe_batch(width), autocast)  # what training runs is compiled now, too
        notes["compile_gap"] = gap
        notes["compile_seconds"] = round(time.perf_counter() - started, 1)
        reason = None if gap < _LARGEST_GAP[precision] else f"a probe row differs from the plain layers by {gap:.3g}"
    except Exception as error:  # whatever a compiler may raise: plain layers always work
        reason = f"{type(error).__name__}: {error}"
    forward.train()
    notes["compiled"] = reason is None
    if reason is not None:
        notes["compile_error"] = reason[:600]
        _log.warning("the layers are not compiled (%s); running them as they are", notes["compile_error"])
        hook.remove()
        for layer in layers:
            layer._compiled_call_impl = None
    return reason is None


def _with_gradient(_module: Any, _inputs: Any, output: torch.Tensor) -> torch.Tensor:
    return output.requires_grad_() if torch.is_grad_enabled() else output
