"""Yes or no to each option alone, so that one option's score means something without the others."""

from __future__ import annotations

import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor

__all__ = ["binary_term"]


def binary_term(logits: Tensor, is_option: Tensor, target: Tensor) -> Tensor:
    """Binary cross-entropy of each option's log-odds against its gold share, averaged over the options.

    Args:
        logits: shape (Q, K), log-odds of yes.
        is_option: shape (Q, K).
        target: shape (Q, K), each in [0, 1]; all zero where no option is right.

    Returns:
        Shape (Q,), nats.
    """
    each = F.binary_cross_entropy_with_logits(logits, target, reduction="none").masked_fill(~is_option, 0.0)
    return each.sum(dim=1) / is_option.sum(dim=1).clamp(min=1)
