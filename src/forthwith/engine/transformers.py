"""The torch engine: any causal language model, on CPU or CUDA, with the executor chosen by cost."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import torch

from forthwith.encoding import TokenTree
from forthwith.engine.execution import Executor, Findings
from forthwith.engine.loading import LoadedModel
from forthwith.engine.packing import PackedRow, RowBuilder
from forthwith.engine.prefix_cache import PrefixCache
from forthwith.engine.protocol import EngineIdentity, TreeReading
from forthwith.errors import EngineError

__all__ = ["ExecutionLimits", "TransformersEngine"]


@dataclass(frozen=True)
class ExecutionLimits:
    """Sizes, in tokens, that decide how trees are run.

    Attributes:
        row: trees up to this size are run whole, several to a row; larger ones fork a cached prefix.
        batch: tokens in one call, over all its rows.
        chunk: tokens of branches run at once behind a prefix.
        prefix_cache_bytes: memory for encoded states.
    """

    row: int
    batch: int
    chunk: int
    prefix_cache_bytes: int

    @staticmethod
    def for_device(device: str) -> ExecutionLimits:
        """Limits that suit a device: a CPU is full with one row, a GPU wants many."""
        if device.startswith("cuda"):
            return ExecutionLimits(row=4096, batch=65_536, chunk=8192, prefix_cache_bytes=4 << 30)
        return ExecutionLimits(row=256, batch=4096, chunk=1024, prefix_cache_bytes=512 << 20)


@dataclass
class _Group:
    """Trees with the same root, and the tokens they need together."""

    members: list[int]
    size: int


class TransformersEngine:
    """Evaluates token trees with a loaded torch model. Use from one thread at a time.

    Args:
        loaded: the model, from `load_model`.
        name: what the model is called in the identity.
        limits: execution limits; None takes those for the device.
        executor: None chooses by cost; `plain` runs one prompt a leaf (reference and measurements).
    """

    def __init__(
        self,
        loaded: LoadedModel,
        name: str,
        limits: ExecutionLimits | None = None,
        *,
        executor: str | None = None,
    ) -> None:
        self.loaded = loaded
        self.limits = limits or ExecutionLimits.for_device(loaded.device)
        self.prefix_cache = PrefixCache(self.limits.prefix_cache_bytes)
        self.executor = executor
        self._executor = Executor(loaded.model, has_recurrent_layers=loaded.has_recurrent_layers)
        self._name = name

    @property
    def identity(self) -> EngineIdentity:
        """Weights, adapter, precision, device and library versions."""
        return EngineIdentity(
            engine="transformers",
            model=self._name,
            weights_sha256=self.loaded.weights_sha256,
            adapter_sha256=self.loaded.adapter_sha256,
            precision=self.loaded.precision,
            device=self.loaded.device,
            versions={name: version(name) for name in ("torch", "transformers", "tokenizers")},
        )

    @property
    def max_tokens(self) -> int:
        """The model's context length."""
        return self.loaded.max_tokens

    def evaluate(self, trees: Sequence[TokenTree]) -> list[TreeReading]:
        """Read every tree. Equal roots are encoded once; small trees share rows; large ones fork their root's cache."""
        for tree in trees:
            tree.check_fits(self.max_tokens)
        findings: Findings = {}
        cached = [0] * len(trees)
        if self.executor == "plain":
            self._retrying(lambda budget: self._executor.run_plain(trees, findings, budget), self.limits.batch)
        else:
            small: list[_Group] = []
            for group in _groups(trees):
                root = trees[group.members[0]].segments[0].ids
                if self._packs(group, root):
                    small.append(group)
                else:
                    self._run_forked(group, trees, findings, cached)
            self._run_rows(small, trees, findings)
        return [
            TreeReading(
                tuple(findings[index, read] for read in range(len(tree.reads))), (0.0,) * len(tree.reads), cached[index]
            )
            for index, tree in enumerate(trees)
        ]

    def _packs(self, group: _Group, root: tuple[int, ...]) -> bool:
        return not (self.loaded.has_recurrent_layers or group.size > self.limits.row or root in self.prefix_cache)

    def _run_forked(self, group: _Group, trees: Sequence[TokenTree], findings: Findings, cached: list[int]) -> None:
        root = trees[group.members[0]].segments[0].ids
        cache = None if _reads_root(group, trees) else self.prefix_cache.get(root)
        paid = 1 if cache is None else 0
        for index in group.members[paid:]:
            cached[index] = len(root)
        if cache is None:
            encoded: list[Any] = []
            self._retrying(lambda _once: encoded.append(self._encode(group, trees, findings)), 1)
            cache = encoded[-1]
            self.prefix_cache.put(root, cache, _cache_bytes(cache))
            if self._is_chain(group, trees):
                return  # its one pass has read everything
        self._retrying(
            lambda budget: self._executor.run_forked(group.members, trees, cache, findings, budget), self.limits.chunk
        )

    def _is_chain(self, group: _Group, trees: Sequence[TokenTree]) -> bool:
        """Whether one ordinary pass reads it all: a single tree without forks, on a model whose cache can be cut."""
        tree = trees[group.members[0]]
        forks = any(len(children) > 1 for children in tree.children)
        return len(group.members) == 1 and not forks and not self.loaded.has_recurrent_layers

    def _encode(self, group: _Group, trees: Sequence[TokenTree], findings: Findings) -> Any:
        """Read the root of a group and whatever is read in it; gives its key-value cache."""
        if self._is_chain(group, trees):
            return self._executor.run_chain(group.members[0], trees, findings)
        cache: Any = None
        for index in group.members if _reads_root(group, trees) else group.members[:1]:
            cache = self._executor.encode_root(index, trees, findings)
        return cache

    def _run_rows(self, groups: Sequence[_Group], trees: Sequence[TokenTree], findings: Findings) -> None:
        rows = _fill_rows(groups, trees, self.limits.row)
        while rows:
            width = len(rows[0].ids)
            count = max(1, self.limits.batch // width)
            batch, rows = rows[:count], rows[count:]
            self._retrying(lambda part, batch=batch: self._run_batch(batch, trees, findings, part), len(batch))

    def _run_batch(
        self, batch: Sequence[PackedRow], trees: Sequence[TokenTree], findings: Findings, rows_at_once: int
    ) -> None:
        for start in range(0, len(batch), rows_at_once):
            self._executor.run_rows(trees, batch[start : start + rows_at_once], findings)

    def _retrying(self, run: Callable[[int], None], size: int) -> None:
        """Run with a size; out of memory, halve it and go on."""
        while True:
            try:
                run(size)
                return
            except (torch.OutOfMemoryError, RuntimeError) as error:
                if not _is_out_of_memory(error):
                    raise EngineError(f"the model failed: {error}") from error
                if size <= 1:
                    raise EngineError(
                        "out of memory even for the smallest batch; use a smaller model or state"
                    ) from error
                size //= 2
                self.prefix_cache.clear()
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def _reads_root(group: _Group, trees: Sequence[TokenTree]) -> bool:
    return any(read.segment == 0 for index in group.members for read in trees[index].reads)


def _groups(trees: Sequence[TokenTree]) -> list[_Group]:
    by_root: dict[tuple[int, ...], _Group] = {}
    for index, tree in enumerate(trees):
        root = tree.segments[0].ids
        group = by_root.setdefault(root, _Group([], len(root)))
        group.members.append(index)
        group.size += tree.size - len(root)
    return list(by_root.values())


def _fill_rows(groups: Sequence[_Group], trees: Sequence[TokenTree], row_tokens: int) -> list[PackedRow]:
    """First-fit decreasing: each row holds whole groups, up to `row_tokens`; the longest rows come first."""
    builders: list[RowBuilder] = []
    for group in sorted(groups, key=lambda group: -group.size):
        builder = next((b for b in builders if b.size + group.size <= row_tokens), None)
        if builder is None:
            builder = RowBuilder()
            builders.append(builder)
        for index in group.members:
            builder.add(index, trees[index])
    return sorted((builder.build() for builder in builders), key=lambda row: -len(row.ids))


def _cache_bytes(cache: Any) -> int:
    tensors = {id(value): value for layer in cache.layers for value in _tensors(vars(layer))}
    return int(sum(tensor.numel() * tensor.element_size() for tensor in tensors.values()))


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for member in value.values() for tensor in _tensors(member)]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [tensor for member in value for tensor in _tensors(member)]  # pyright: ignore[reportUnknownVariableType]
    return []


def _is_out_of_memory(error: Exception) -> bool:
    return (
        isinstance(error, torch.OutOfMemoryError) or "not enough memory" in str(error) or "can't allocate" in str(error)
    )
