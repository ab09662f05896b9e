"""Who looks at whom, as tensors: a dense mask, or FlexAttention's block mask over the same interval rule.

Rule: token q sees token k when `k <= q < end[k]` (and, in a sliding-window layer, when they are near in position).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

__all__ = ["BlockMasks", "dense_mask"]

_BLOCK = 128


def dense_mask(ends: Tensor, near: Tensor | None = None, window: int | None = None) -> Tensor:
    """Boolean mask, shape (1, 1, T, T): row q, column k."""
    index = torch.arange(len(ends), device=ends.device)
    mask = (index[None, :] <= index[:, None]) & (index[:, None] < ends[None, :])
    if near is not None and window is not None:
        mask &= near[:, None] - near[None, :] < window
    return mask[None, None]


class BlockMasks:
    """Builds block masks for FlexAttention over rows of a few widths.

    The rule of a width is one function over one buffer that each row is copied into, so that compiled attention is compiled once;
    a mask is valid until the next one of its width is built.
    """

    def __init__(self) -> None:
        self._rules: dict[tuple[int, int | None], tuple[Tensor, Tensor, Callable[..., Tensor]]] = {}

    def __call__(self, ends: Tensor, near: Tensor | None = None, window: int | None = None) -> BlockMask:
        """The mask in blocks of 128; the number of tokens must be a multiple of 128.

        A block of queries and keys is skipped where no key's subtree reaches the queries, and taken whole where all do.
        """
        count = len(ends)
        if (count, window) not in self._rules:
            buffers = (torch.empty_like(ends), torch.empty_like(ends))
            self._rules[count, window] = (*buffers, _rule(*buffers, window))
        own_ends, own_near, rule = self._rules[count, window]
        own_ends.copy_(ends)
        if near is not None:
            own_near.copy_(near)
        by_block = ends.view(-1, _BLOCK)
        furthest, nearest = by_block.amax(dim=1), by_block.amin(dim=1)  # (N,)
        first = torch.arange(0, count, _BLOCK, device=ends.device)
        is_touched = (first[None, :] <= first[:, None]) & (furthest[None, :] > first[:, None])  # (N queries, N keys)
        is_full = (first[None, :] < first[:, None]) & (nearest[None, :] >= first[:, None] + _BLOCK)
        if window is not None:
            is_full = torch.zeros_like(is_full)
        counts, indices = _ordered(is_touched & ~is_full)
        full_counts, full_indices = _ordered(is_full)
        return BlockMask.from_kv_blocks(counts, indices, full_counts, full_indices, BLOCK_SIZE=_BLOCK, mask_mod=rule)


def _rule(ends: Tensor, near: Tensor, window: int | None) -> Callable[..., Tensor]:
    if window is None:

        def sees(_batch: Any, _head: Any, query: Tensor, key: Tensor) -> Tensor:
            return (key <= query) & (query < ends[key])

        return sees

    def sees_near(_batch: Any, _head: Any, query: Tensor, key: Tensor) -> Tensor:
        return (key <= query) & (query < ends[key]) & (near[query] - near[key] < window)

    return sees_near


def _ordered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many key blocks each query block has, and their indices, those first; shapes (1, 1, N) and (1, 1, N, N)."""
    counts = blocks.sum(dim=1, dtype=torch.int32)
    indices = torch.argsort(blocks.to(torch.int8), dim=1, descending=True, stable=True).to(torch.int32)
    return counts[None, None], indices[None, None].contiguous()
