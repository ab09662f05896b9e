"""The loss of a batch: each question's score by its type, weighted, plus the extra terms a run asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from forthwith.training.config import Objective
from forthwith.training.forward import DeviceTargets, ReadLogits, option_values
from forthwith.training.losses import (
    PlacedFamily,
    binary_term,
    coherence_penalty,
    listwise_cross_entropy,
    ranked_probability,
)

__all__ = ["BatchLoss", "batch_loss"]

_SCORE = 2


@dataclass(frozen=True)
class BatchLoss:
    """The loss to differentiate, and figures without gradient.

    Attributes:
        total: sum over questions of weight times loss.
        score_sum: the same without the extra terms.
        right: questions whose likeliest option is the label.
        judged: questions that have a right option.
        allowed_mass: probability of legal answers, summed over the questions; None where it was not measured.
    """

    total: Tensor
    score_sum: Tensor
    right: Tensor
    judged: Tensor
    allowed_mass: Tensor | None


def batch_loss(
    read: ReadLogits, targets: DeviceTargets, objective: Objective, links: Sequence[PlacedFamily] = ()
) -> BatchLoss:
    """Sum of the weighted losses of a batch's questions.

    Args:
        read: from the forward of the batch; over the vocabulary where the objective says so.
        targets: the questions.
        objective: which losses, how weighted.
        links: families of linked questions, for the coherence penalty.
    """
    values = option_values(read.logits, targets)
    is_option = targets.options >= 0
    table = values[targets.options.clamp(min=0)].masked_fill(~is_option, 0.0)  # (Q, K)
    losses = _scores(table, is_option, targets, objective)
    weight = torch.where(targets.kind == _SCORE, targets.weight * objective.score_weight, targets.weight)
    score_sum = (weight * losses).sum()
    total = score_sum
    if objective.binary_weight > 0:
        extra = binary_term(table, is_option, targets.target) * targets.is_branched
        total = total + objective.binary_weight * (weight * extra).sum()
    if objective.coherence_weight > 0 and links:
        probabilities = torch.softmax(table.masked_fill(~is_option, float("-inf")), dim=1)
        share = torch.tensor([link.weight for link in links], device=table.device)
        total = total + objective.coherence_weight * (share * coherence_penalty(probabilities, links)).sum()
    with torch.no_grad():
        is_judged = targets.label >= 0
        guess = table.masked_fill(~is_option, float("-inf")).argmax(dim=1)
        right = (guess == targets.label) & is_judged
        mass = _allowed_mass(read, targets, is_option)
    return BatchLoss(total, score_sum.detach(), right.sum(), is_judged.sum(), mass)


def _allowed_mass(read: ReadLogits, targets: DeviceTargets, is_option: Tensor) -> Tensor | None:
    """Probability of legal answers, summed over the questions; None where the normaliser is not known."""
    if read.normaliser is None:
        return None
    log_p = read.logits - read.normaliser[:, None]
    mass = log_p[targets.value_read, targets.plus].exp()
    mass += torch.where(targets.minus >= 0, log_p[targets.value_read, targets.minus.clamp(min=0)].exp(), 0.0)
    each = mass[targets.options.clamp(min=0)].masked_fill(~is_option, 0.0).sum(dim=1)  # (Q,)
    return (each / torch.where(targets.is_branched > 0, is_option.sum(dim=1), 1)).sum()


def _scores(table: Tensor, is_option: Tensor, targets: DeviceTargets, objective: Objective) -> Tensor:
    if objective.full_vocabulary:  # values are log-probabilities over the whole vocabulary already
        log_score = -(targets.target * table).sum(dim=1)
    else:
        log_score = listwise_cross_entropy(table, is_option, targets.target)
    if objective.score == "cross_entropy":
        return log_score
    ranked = ranked_probability(table, is_option, targets.target)
    mixed = ranked if objective.score == "ranked_probability" else (ranked + log_score) / 2
    return torch.where(targets.kind == _SCORE, mixed, log_score)
