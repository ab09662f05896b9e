"""Ways to run token trees through a torch model: plain, packed rows, and forks of a cached prefix. All give the same numbers.

- `run_plain`: one ordinary prompt a read segment. The reference, and the last resort for unusual architectures.
- `run_rows`: whole trees side by side in a row under a tree mask; attention-only models.
- `run_forked`: branches on top of an encoded root: packed under a mask (attention-only models), or as a batch on copies of the
  cache (any model; recurrent layers cannot be masked apart).
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import DynamicCache

from forthwith.encoding import TokenTree
from forthwith.engine.packing import PackedRow, RowBuilder

__all__ = ["Executor", "Findings"]

FloatArray = NDArray[np.float64]
Key = tuple[int, int]
Findings = dict[Key, FloatArray]
"""Candidate log-probabilities by (tree index, read index)."""

Wanted = list[tuple[Key, int, tuple[int, ...]]]
"""What to read in one call: key, flat position over the call's rows, candidates."""


class Executor:
    """Runs trees through one torch causal language model; results go into a `Findings` dictionary.

    Args:
        model: the causal language model, in evaluation mode.
        has_recurrent_layers: whether siblings must be forked instead of masked.
    """

    def __init__(self, model: Any, *, has_recurrent_layers: bool) -> None:
        self.model = model
        self.has_recurrent_layers = has_recurrent_layers
        self.device: torch.device = next(model.parameters()).device
        self._windows = _sliding_windows(model.config.get_text_config())
        self._head = model.get_output_embeddings()
        self._head_is_plain = type(self._head) is torch.nn.Linear and not _alters_logits(model.config.get_text_config())
        forward = inspect.signature(model.get_base_model().forward if hasattr(model, "peft_config") else model.forward)
        self._cache_name = (
            "cache" if "cache" in forward.parameters else "past_key_values"
        )  # renamed in transformers 5.2x

    def run_plain(self, trees: Sequence[TokenTree], findings: Findings, batch_tokens: int) -> None:
        """One ordinary causal prompt for each segment that is read, padded on the right, longest first."""
        prompts = sorted(
            ((tree.starts[segment] + len(tree.segments[segment].ids), index, segment)
             for index, tree in enumerate(trees) for segment in {read.segment for read in tree.reads}),
            reverse=True,
        )  # fmt: skip
        while prompts:
            length = prompts[0][0]
            count = max(1, batch_tokens // length)
            batch, prompts = prompts[:count], prompts[count:]
            ids = torch.zeros((len(batch), length), dtype=torch.long)  # (B, T)
            wanted: Wanted = []
            for row, (size, index, segment) in enumerate(batch):
                tree = trees[index]
                ids[row, :size] = torch.tensor(tree.path(segment))
                for number, read in enumerate(tree.reads):
                    if read.segment == segment:
                        place = row * length + tree.starts[segment] + read.offset
                        wanted.append(((index, number), place, read.candidates))
            self._call({"input_ids": ids.to(self.device), "use_cache": False}, wanted, findings)

    def run_rows(self, trees: Sequence[TokenTree], rows: Sequence[PackedRow], findings: Findings) -> None:
        """Rows of whole trees, as one padded batch under tree masks."""
        width = max(len(row.ids) for row in rows)
        ids = np.zeros((len(rows), width), dtype=np.int64)  # (B, T)
        positions = np.zeros((len(rows), width), dtype=np.int64)
        wanted: Wanted = []
        for number, row in enumerate(rows):
            ids[number, : len(row.ids)] = row.ids
            positions[number, : len(row.ids)] = row.positions
            wanted += _wanted(trees, row, number * width)
        inputs: dict[str, Any] = {"input_ids": self._tensor(ids), "use_cache": False}
        if not all(row.is_chain for row in rows):
            inputs["position_ids"] = self._tensor(positions)
            inputs["attention_mask"] = self._masks(rows, width)
        self._call(inputs, wanted, findings)

    def encode_root(self, tree_index: int, trees: Sequence[TokenTree], findings: Findings) -> Any:
        """Read a tree's root and whatever is read inside it; gives the key-value cache behind it."""
        cache = DynamicCache(config=self.model.config) if self.has_recurrent_layers else DynamicCache()
        return self._extend(tree_index, trees, 0, cache, findings)

    def run_chain(self, tree_index: int, trees: Sequence[TokenTree], findings: Findings) -> Any:
        """A tree without forks in one ordinary pass; gives the key-value cache behind its root (attention-only models)."""
        tree = trees[tree_index]
        ids = np.array(tree.path(len(tree.segments) - 1), dtype=np.int64)
        wanted: Wanted = [
            ((tree_index, number), tree.starts[read.segment] + read.offset, read.candidates)
            for number, read in enumerate(tree.reads)
        ]
        cache = DynamicCache()
        self._call({"input_ids": self._tensor(ids[None]), self._cache_name: cache, "use_cache": True}, wanted, findings)
        return _first_tokens(cache, len(tree.segments[0].ids))

    def run_forked(
        self, members: Sequence[int], trees: Sequence[TokenTree], root_cache: Any, findings: Findings, chunk_tokens: int
    ) -> None:
        """The branches of trees that share an encoded root; `root_cache` is left as it is."""
        if self.has_recurrent_layers:
            for index in members:
                self._fork_batched(index, trees, 0, root_cache, findings, chunk_tokens)
        else:
            branches = [(index, child) for index in members for child in trees[index].children[0]]
            length = len(trees[members[0]].segments[0].ids)
            self._fork_packed(branches, trees, length, root_cache, findings, chunk_tokens)

    def _fork_packed(
        self,
        branches: Sequence[tuple[int, int]],
        trees: Sequence[TokenTree],
        prefix_tokens: int,
        cache: Any,
        findings: Findings,
        chunk_tokens: int,
    ) -> None:
        builder = RowBuilder()
        for index, segment in branches:
            tree = trees[index]
            below = tree.subtrees[segment]
            size = sum(len(tree.segments[inner].ids) for inner in below)
            if size > chunk_tokens and len(below) > 1:
                inner_cache = self._extend(index, trees, segment, _fork(cache), findings)
                children = [(index, child) for child in tree.children[segment]]
                inner_prefix = prefix_tokens + len(tree.segments[segment].ids)
                self._fork_packed(children, trees, inner_prefix, inner_cache, findings, chunk_tokens)
                continue
            if builder.size and builder.size + size > chunk_tokens:
                self._run_suffix(builder.build(), trees, prefix_tokens, cache, findings)
                builder = RowBuilder()
            builder.add(index, tree, below)
        if builder.size:
            self._run_suffix(builder.build(), trees, prefix_tokens, cache, findings)

    def _run_suffix(
        self, row: PackedRow, trees: Sequence[TokenTree], prefix_tokens: int, cache: Any, findings: Findings
    ) -> None:
        inputs = {
            "input_ids": self._tensor(row.ids[None]),
            "position_ids": self._tensor(row.positions[None]),
            "attention_mask": self._masks([row], len(row.ids), prefix_tokens),
            self._cache_name: _fork(cache),
            "use_cache": True,
        }
        self._call(inputs, _wanted(trees, row, 0), findings)

    def _fork_batched(
        self,
        index: int,
        trees: Sequence[TokenTree],
        segment: int,
        cache: Any,
        findings: Findings,
        chunk_tokens: int,
    ) -> None:
        tree = trees[index]
        children = tree.children[segment]
        parents = {other.parent for other in tree.segments}
        leaves = sorted((child for child in children if child not in parents), key=lambda c: -len(tree.segments[c].ids))
        for child in children:
            if child in parents:
                inner = self._extend(index, trees, child, _deep_fork(cache, 1), findings)
                self._fork_batched(index, trees, child, inner, findings, chunk_tokens)
        while leaves:
            width = len(tree.segments[leaves[0]].ids)
            count = max(1, chunk_tokens // width)
            batch, leaves = leaves[:count], leaves[count:]
            self._run_leaves(index, trees, batch, cache, findings)

    def _run_leaves(
        self, index: int, trees: Sequence[TokenTree], leaves: Sequence[int], cache: Any, findings: Findings
    ) -> None:
        # Padding stands on the right, behind everything that is read: neither attention nor recurrence looks ahead.
        tree = trees[index]
        width = len(tree.segments[leaves[0]].ids)
        ids = np.zeros((len(leaves), width), dtype=np.int64)  # (B, T)
        wanted: Wanted = []
        for row, leaf in enumerate(leaves):
            ids[row, : len(tree.segments[leaf].ids)] = tree.segments[leaf].ids
            wanted += [
                ((index, number), row * width + read.offset, read.candidates)
                for number, read in enumerate(tree.reads)
                if read.segment == leaf
            ]
        positions = np.broadcast_to(np.arange(width) + tree.starts[leaves[0]], ids.shape).copy()
        inputs = {
            "input_ids": self._tensor(ids),
            "position_ids": self._tensor(positions),
            self._cache_name: _deep_fork(cache, len(leaves)),
            "use_cache": True,
        }
        self._call(inputs, wanted, findings)

    def _extend(self, index: int, trees: Sequence[TokenTree], segment: int, cache: Any, findings: Findings) -> Any:
        """Run one segment behind an own cache, which grows by it."""
        tree = trees[index]
        ids = np.array(tree.segments[segment].ids, dtype=np.int64)
        wanted: Wanted = [
            ((index, number), read.offset, read.candidates)
            for number, read in enumerate(tree.reads)
            if read.segment == segment
        ]
        inputs = {
            "input_ids": self._tensor(ids[None]),
            "position_ids": self._tensor(np.arange(len(ids))[None] + tree.starts[segment]),
            self._cache_name: cache,
            "use_cache": True,
        }
        self._call(inputs, wanted, findings)
        return cache

    def _masks(self, rows: Sequence[PackedRow], width: int, prefix_tokens: int = 0) -> Any:
        # Built on the device: at thousands of tokens a mask is megabytes that would have to travel.
        shape = (len(rows), 1, width, prefix_tokens + width)  # (B, 1, T, P + T)
        full = torch.zeros(shape, dtype=torch.bool, device=self.device)
        window = min(self._windows.values(), default=0)
        near = torch.zeros_like(full) if window else full
        for number, row in enumerate(rows):
            tokens = len(row.ids)
            segments, positions = self._tensor(row.segments), self._tensor(row.positions)
            seen = full[number, 0, :tokens, : prefix_tokens + tokens]
            seen[:, :prefix_tokens] = True
            seen[:, prefix_tokens:] = self._tensor(row.ancestors)[segments][:, segments].tril()
            full[number, 0, tokens:, 0] = True  # padding must see something, or its softmax is undefined
            if window:
                keys = torch.cat([torch.arange(prefix_tokens, device=self.device), positions])
                near[number, 0, :tokens, : prefix_tokens + tokens] = seen & (positions[:, None] - keys < window)
                near[number, 0, tokens:, 0] = True
        return {"full_attention": full, **dict.fromkeys(self._windows, near)} if window else full

    def _call(self, inputs: dict[str, Any], wanted: Wanted, findings: Findings) -> None:
        """Run the model; the output embedding is applied at the read positions only, to the whole vocabulary.

        In half precision the candidates' own logits are computed once more in float32: rounded to 8 bits, two options that
        are close would come out up to an eighth apart.
        """
        places, rows = np.unique(np.array([place for _, place, _ in wanted] or [0]), return_inverse=True)
        kept = self._tensor(places)
        hidden: list[torch.Tensor] = []

        def keep_read_positions(_module: Any, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            hidden.append(args[0].reshape(1, -1, args[0].shape[-1])[:, kept])  # (1, N, D)
            return (hidden[0], *args[1:])

        hook = self._head.register_forward_pre_hook(keep_read_positions)
        try:
            with torch.inference_mode():
                output = self.model(**inputs)
                if wanted:
                    self._collect(output.logits[0], hidden[0][0], rows, wanted, findings)  # (N, V), (N, D)
        finally:
            hook.remove()

    def _collect(
        self, logits: torch.Tensor, hidden: torch.Tensor, rows: NDArray[Any], wanted: Wanted, findings: Findings
    ) -> None:
        lengths = [len(candidates) for _, _, candidates in wanted]
        row_index = self._tensor(np.repeat(rows, lengths))
        column_index = self._tensor(np.concatenate([candidates for _, _, candidates in wanted]))
        chosen = logits[row_index, column_index].float()
        if logits.dtype != torch.float32 and self._head_is_plain:
            chosen = (hidden[row_index].float() * self._head.weight[column_index].float()).sum(dim=-1)
            if self._head.bias is not None:
                chosen += self._head.bias[column_index].float()
        log_probs = chosen - torch.logsumexp(logits.float(), dim=-1)[row_index]
        values: FloatArray = log_probs.cpu().double().numpy()
        ends = np.cumsum(lengths)
        for (key, _, _), start, end in zip(wanted, ends - lengths, ends, strict=True):
            findings[key] = values[start:end]

    def _tensor(self, array: NDArray[Any]) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(array)).to(self.device, non_blocking=True)


def _wanted(trees: Sequence[TokenTree], row: PackedRow, offset: int) -> Wanted:
    return [
        ((read.tree, read.read), offset + read.token, trees[read.tree].reads[read.read].candidates)
        for read in row.reads
    ]


def _fork(cache: Any) -> Any:
    """A cache with the same tensors; growing it makes new ones and leaves the original alone (attention layers only)."""
    fork = copy.copy(cache)
    fork.layers = [copy.copy(layer) for layer in cache.layers]
    return fork


def _first_tokens(cache: Any, tokens: int) -> Any:
    """The cache as it was after its first tokens (attention layers only)."""
    first = _fork(cache)
    for layer in first.layers:
        layer.keys, layer.values = layer.keys[:, :, :tokens].clone(), layer.values[:, :, :tokens].clone()
    return first


def _deep_fork(cache: Any, copies: int) -> Any:
    """An independent cache with `copies` equal rows; recurrent states are updated in place, so nothing may be shared."""
    fork = copy.deepcopy(cache)
    if copies > 1:
        first = torch.zeros(copies, dtype=torch.long)
        fork.reorder_cache(first)
    return fork


def _alters_logits(config: Any) -> bool:
    """Whether the model scales or caps what its output embedding gives."""
    return any(getattr(config, name, None) for name in ("final_logit_softcapping", "logits_scaling", "logit_scale"))


def _sliding_windows(config: Any) -> dict[str, int]:
    """Window, in tokens, of each layer type that sees only near tokens."""
    types = set(getattr(config, "layer_types", None) or ())
    window = getattr(config, "sliding_window", None)
    return {name: int(window) for name in types if name == "sliding_attention" and window}
