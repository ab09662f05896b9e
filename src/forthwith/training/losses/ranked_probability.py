"""Ranked probability score: squared distance of cumulative distributions, which knows that levels are ordered.

RPS = 1/(K-1) * sum over k < K-1 of (F_k - Y_k)^2 (Epstein 1969, Journal of Applied Meteorology 8). K is each question's own number
of levels; the last cumulative sums are both 1 and add nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["ranked_probability"]


def ranked_probability(logits: Tensor, is_option: Tensor, target: Tensor) -> Tensor:
    """RPS of softmax(logits) against the target.

    Args:
        logits: shape (Q, K), levels in order, lowest first.
        is_option: shape (Q, K).
        target: shape (Q, K), sums to 1.

    Returns:
        Shape (Q,), in [0, 1]; lower is better.
    """
    probabilities = torch.softmax(logits.masked_fill(~is_option, float("-inf")), dim=1)
    gap = (probabilities - target).cumsum(dim=1).masked_fill(~is_option, 0.0)
    return gap.square().sum(dim=1) / (is_option.sum(dim=1) - 1).clamp(min=1)
