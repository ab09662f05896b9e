"""Training in several processes: each runs its share of a step's batches, and gradients are summed. One process needs nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import nn

__all__ = ["Processes", "join_processes"]

_T = TypeVar("_T")


def join_processes(device: str | None) -> str | None:
    """Join the other processes of a run, where `accelerate launch` or `torchrun` started several; gives this one's device."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return device
    from accelerate import PartialState

    state: Any = PartialState(cpu=device == "cpu")
    return "cpu" if state.device.type == "cpu" else str(state.device)  # an index behind cpu means nothing


class Processes:
    """The processes of a run, as `accelerate launch` or `torchrun` started them; one where none did."""

    def __init__(self) -> None:
        self._many = dist.is_available() and dist.is_initialized()
        self.rank = dist.get_rank() if self._many else 0
        self.count = dist.get_world_size() if self._many else 1

    @property
    def is_first(self) -> bool:
        """Whether this process writes files."""
        return self.rank == 0

    def share(self, items: Sequence[_T]) -> Sequence[_T]:
        """This process's part of a step's batches; may be empty."""
        return items[self.rank :: self.count]

    def equal_share(self, items: Sequence[_T]) -> Iterator[tuple[_T, float]]:
        """This process's part, as long as every other's, with the factor of each loss, for gradients that are averaged.

        Processes that share weights must run equally often: a missing item is replaced by a repeat that counts nothing.
        """
        for start in range(0, len(items), self.count):
            place = start + self.rank
            is_own = place < len(items)
            yield items[place if is_own else len(items) - 1], float(self.count) if is_own else 0.0

    def sum_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """Make every process's gradients the sum over all; a missing gradient counts as zero."""
        if not self._many:
            return
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(flat)  # pyright: ignore[reportUnknownMemberType]
        place = 0
        for gradient in gradients:
            gradient.copy_(flat[place : place + gradient.numel()].view_as(gradient))
            place += gradient.numel()

    def sum_numbers(self, numbers: Sequence[float]) -> list[float]:
        """Sums over all processes."""
        if not self._many:
            return list(numbers)
        device = "cuda" if dist.get_backend() == "nccl" else "cpu"
        tensor = torch.tensor(numbers, dtype=torch.float64, device=device)
        dist.all_reduce(tensor)  # pyright: ignore[reportUnknownMemberType]
        return [float(value) for value in tensor]

    def wait(self) -> None:
        """Until every process is here."""
        if self._many:
            dist.barrier()  # pyright: ignore[reportUnknownMemberType]
