"""Test doubles that behave: a scripted engine, a tiny tokenizer and tiny random models. For our tests and for yours."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from forthwith.encoding import Encoder, TokenTree
from forthwith.engine.protocol import EngineIdentity, TreeReading

__all__ = ["CHAT_TEMPLATE", "ScriptedEngine", "tiny_causal_model", "tiny_encoder", "tiny_tokenizer"]

FloatArray = NDArray[np.float64]

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""ChatML, as the default model speaks it."""


def scripted_log_probs(path: tuple[int, ...], candidates: tuple[int, ...]) -> FloatArray:
    """Log-probabilities that depend on every token of the path, and on nothing else."""
    digest = hashlib.sha256(np.array(path, dtype=np.int64).tobytes()).digest()
    seed = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    logits = seed.normal(scale=2.0, size=4096)[np.array(candidates) % 4096]
    return logits - 12.0


class ScriptedEngine:
    """An engine without a model: its log-probabilities are a function of the tokens on the path to each read.

    Args:
        script: (tokens up to the read, candidates) to log-probabilities; default: pseudo-random, the same on every machine.
        max_tokens: context limit.
        before: called with the trees of each call before they are read; raise or wait there to act out faults.
    """

    def __init__(
        self,
        script: Callable[[tuple[int, ...], tuple[int, ...]], FloatArray] = scripted_log_probs,
        *,
        max_tokens: int = 8192,
        before: Callable[[Sequence[TokenTree]], None] | None = None,
    ) -> None:
        self._script = script
        self._max_tokens = max_tokens
        self._before = before
        self.calls = 0

    @property
    def identity(self) -> EngineIdentity:
        """A fixed identity."""
        return EngineIdentity(engine="scripted", model="scripted", weights_sha256="0" * 64, precision="float32")

    @property
    def max_tokens(self) -> int:
        """The context limit given."""
        return self._max_tokens

    def evaluate(self, trees: Sequence[TokenTree]) -> list[TreeReading]:
        """Read every tree by the script."""
        self.calls += 1
        if self._before is not None:
            self._before(trees)
        for tree in trees:
            tree.check_fits(self._max_tokens)
        return [self._read(tree) for tree in trees]

    def _read(self, tree: TokenTree) -> TreeReading:
        log_probs: list[FloatArray] = []
        for read in tree.reads:
            above = tree.path(tree.segments[read.segment].parent) if tree.segments[read.segment].parent >= 0 else ()
            path = above + tree.segments[read.segment].ids[: read.offset + 1]
            log_probs.append(self._script(path, read.candidates))
        return TreeReading(tuple(log_probs), (0.0,) * len(log_probs))


def tiny_tokenizer() -> Any:
    """A byte-level tokenizer of about 1,000 tokens with ChatML, one-token yes/no, letters, letter pairs and digits."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {symbol: index for index, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges: list[tuple[str, str]] = []
    pairs = [(a, b) for a in string.ascii_uppercase for b in string.ascii_uppercase]
    words = [("n", "o"), ("y", "e"), ("ye", "s"), ("N", "o"), ("Y", "e"), ("Ye", "s")]
    spaced = [("Ġ", letter) for letter in string.ascii_letters]
    for left, right in [*words, *spaced, ("Ġ", "no"), ("Ġ", "yes"), *pairs]:
        merges.append((left, right))
        vocabulary.setdefault(left + right, len(vocabulary))
    backend: Any = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, chat_template=CHAT_TEMPLATE, eos_token="<|im_end|>", pad_token="<|im_end|>"
    )


def tiny_encoder() -> Encoder:
    """An encoder over `tiny_tokenizer`."""
    return Encoder(tiny_tokenizer())


def tiny_causal_model(shape: str = "llama", *, seed: int = 0, layers: int = 4) -> Any:
    """A tiny random causal language model on CPU, float32, that fits `tiny_tokenizer`.

    Args:
        shape: llama, qwen3, gemma3 (sliding-window layers), qwen3_5 or qwen3_next (recurrent hybrids).
        seed: of its weights.
        layers: number of layers.
    """
    import torch
    import transformers

    common: dict[str, Any] = {
        "vocab_size": 1024, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": layers,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 4096,
        "initializer_range": 0.2, "tie_word_embeddings": True,
    }  # fmt: skip
    recurrent: dict[str, Any] = {
        "linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
        "layer_types": ["full_attention" if index % 4 == 3 else "linear_attention" for index in range(layers)],
    }  # fmt: skip
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
               "shared_expert_intermediate_size": 32}  # fmt: skip
    sliding = {"sliding_window": 24, "layer_types": ["sliding_attention", "full_attention"] * (layers // 2)}
    shapes: dict[str, tuple[str, str, dict[str, Any]]] = {
        "llama": ("LlamaForCausalLM", "LlamaConfig", {}),
        "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {}),
        "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", sliding),
        "qwen3_5": ("Qwen3_5ForCausalLM", "Qwen3_5TextConfig", recurrent),
        "qwen3_next": ("Qwen3NextForCausalLM", "Qwen3NextConfig", recurrent | experts),
    }
    model_class, config_class, extra = shapes[shape]
    config = getattr(transformers, config_class)(**common, **extra)
    with cast("Any", torch.random).fork_rng():
        cast("Any", torch).manual_seed(seed)
        return getattr(transformers, model_class)._from_config(config, attn_implementation="sdpa").eval()
