"""Learning rate as a function of how much of the run is done, and the optimiser it drives."""

from __future__ import annotations

import inspect
import math

import torch
from torch import nn

from forthwith.training.config import Optimisation

__all__ = ["learning_rate", "make_optimiser"]


def learning_rate(config: Optimisation, step: int, done: float) -> float:
    """The rate of a step.

    Args:
        config: base rate, schedule and warm-up.
        step: steps taken before this one.
        done: share of the run behind it, 0 to 1.
    """
    warm = min(1.0, (step + 1) / config.warmup_steps) if config.warmup_steps else 1.0
    done = min(1.0, max(0.0, done))
    match config.schedule:
        case "cosine":
            shape = (1 + math.cos(math.pi * done)) / 2
        case "linear":
            shape = 1 - done
        case "constant":
            shape = 1.0
    return config.learning_rate * warm * (config.final_share + (1 - config.final_share) * shape)


def make_optimiser(parameters: list[nn.Parameter], config: Optimisation) -> torch.optim.AdamW:
    """AdamW over the adapter's weights, in one fused kernel on CUDA."""
    is_fused = parameters[0].is_cuda and "fused" in inspect.signature(torch.optim.AdamW).parameters
    return torch.optim.AdamW(
        parameters,
        lr=config.learning_rate,
        betas=(config.beta1, config.beta2),
        weight_decay=config.weight_decay,
        fused=is_fused,
    )
