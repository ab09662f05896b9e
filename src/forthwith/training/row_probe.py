"""A small row run forward and backward, to see whether two ways of running it agree."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from forthwith.encoding import TreeBuilder
from forthwith.training.adapters import trainable_parameters
from forthwith.training.batching import MicroBatch, packed_batch
from forthwith.training.forward import TreeForward
from forthwith.training.rows import TrainingRow

__all__ = ["ProbeValues", "largest_gap", "probe_batch", "run_probe", "stirred_adapter"]

_WIDTH_STEP = 128


class ProbeValues(NamedTuple):
    """Hidden states at the probe's reads, shape (R, D), and every adapter gradient end to end, shape (P,); float32."""

    hidden: Tensor
    gradient: Tensor


def run_probe(
    forward: TreeForward, batch: MicroBatch, autocast: Callable[[], AbstractContextManager[Any]]
) -> ProbeValues:
    """Forward and backward of a fixed linear function of the hidden states at the reads; leaves no gradient behind."""
    parameters = trainable_parameters(forward)
    with autocast():
        hidden = forward.hidden_at_reads(batch).float()
    generator = torch.Generator().manual_seed(0)
    direction = torch.randn(hidden.shape, generator=generator).to(hidden.device)
    (hidden * direction).sum().backward()  # pyright: ignore[reportUnknownMemberType]
    gradients = [torch.zeros_like(one) if one.grad is None else one.grad for one in parameters]
    gradient = torch.cat([one.detach().reshape(-1).float() for one in gradients])
    for parameter in parameters:
        parameter.grad = None
    return ProbeValues(hidden.detach(), gradient)


def largest_gap(found: ProbeValues, expected: ProbeValues) -> float:
    """The larger relative distance, ||found - expected|| / ||expected||, of hidden states and gradients."""
    return max(_relative_gap(a, b) for a, b in zip(found, expected, strict=True))


def _relative_gap(found: Tensor, expected: Tensor) -> float:
    squares = (found - expected).square().sum() / expected.square().sum().clamp(min=1e-18)
    return float(squares.sqrt())


@contextmanager
def stirred_adapter(forward: TreeForward) -> Generator[None]:
    """Small random numbers in the adapter while it lasts: a fresh one is zero in half of its matrices, which hides their part."""
    parameters = trainable_parameters(forward)
    before = [parameter.detach().clone() for parameter in parameters]
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in parameters:
            parameter.add_(torch.randn(parameter.shape, generator=generator).to(parameter) * 0.01)
    try:
        yield
    finally:
        with torch.no_grad():
            for parameter, value in zip(parameters, before, strict=True):
                parameter.copy_(value)


def probe_batch(width: int = 0) -> MicroBatch:
    """Three records of three questions with four options each, of random tokens, padded to `width` or to a multiple of 128."""
    draw = np.random.default_rng(0)

    def tokens(count: int) -> tuple[int, ...]:
        return tuple(int(token) for token in draw.integers(10, 500, size=count))

    rows: list[TrainingRow] = []
    for number in range(3):
        tree = TreeBuilder(tokens(100 + 50 * number))
        for _ in range(3):
            question = tree.add(tokens(20))
            for _ in range(4):
                tree.read(tree.add(tokens(15), question), (1, 2))
        rows.append(TrainingRow(str(number), tree.build(), ()))
    least = -(-sum(row.size for row in rows) // _WIDTH_STEP) * _WIDTH_STEP
    return packed_batch(rows, max(width, least))
