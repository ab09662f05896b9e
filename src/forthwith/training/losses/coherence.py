"""Sure loss of linked answers: the squared distance to the nearest coherent ones, as a penalty.

d^2(x) = ||x - Pi(x)||^2 with Pi the projection on the hull of the possible worlds; its gradient is 2 (x - Pi(x)), so Pi(x) is held
constant. Mutually consistent answers that ignore the state satisfy it: never train it without a score on the primary questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from forthwith.coherence import Family, project

__all__ = ["PlacedFamily", "coherence_penalty"]


@dataclass(frozen=True)
class PlacedFamily:
    """A family's vector as entries of a batch's (Q, K) table of probabilities.

    Attributes:
        family: the family.
        rows: question of each entry.
        columns: option of each entry.
        weight: of the family in the loss.
    """

    family: Family
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    weight: float


def coherence_penalty(probabilities: Tensor, families: Sequence[PlacedFamily]) -> Tensor:
    """Sure loss of each family, summed over its entries.

    Args:
        probabilities: shape (Q, K), each question's distribution at temperature 1.
        families: F families.

    Returns:
        Shape (F,), from 0.
    """
    rows = torch.tensor([row for family in families for row in family.rows], device=probabilities.device)
    columns = torch.tensor([column for family in families for column in family.columns], device=probabilities.device)
    entries = probabilities[rows, columns]  # all families end to end
    vectors = entries.detach().cpu().double().numpy()
    sizes = [len(family.rows) for family in families]
    starts = np.cumsum([0, *sizes])
    nearest = np.concatenate(
        [
            project(family.family, vectors[start:end]).members
            for family, start, end in zip(families, starts[:-1], starts[1:], strict=True)
        ]
    )
    gaps = (entries - torch.from_numpy(nearest).to(entries)).square()  # pyright: ignore[reportUnknownMemberType]
    owner = torch.repeat_interleave(torch.arange(len(families)), torch.tensor(sizes)).to(entries.device)
    return torch.zeros(len(families), dtype=entries.dtype, device=entries.device).index_add(0, owner, gaps)
