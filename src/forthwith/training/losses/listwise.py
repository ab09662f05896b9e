"""Log score on the distribution over a question's own options: the branch readout's choice, and every restricted objective."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["listwise_cross_entropy"]


def listwise_cross_entropy(logits: Tensor, is_option: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy of softmax(logits) against the target, in nats.

    Args:
        logits: shape (Q, K).
        is_option: shape (Q, K), False where a question has fewer than K options.
        target: shape (Q, K), sums to 1; all zero gives a loss of 0.

    Returns:
        Shape (Q,), at least the target's entropy.
    """
    log_p = torch.log_softmax(logits.masked_fill(~is_option, float("-inf")), dim=1)
    return -(target * log_p.masked_fill(~is_option, 0.0)).sum(dim=1)
