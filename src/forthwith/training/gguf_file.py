"""A Transformers model of the Llama family as a GGUF file, with its tokenizer and chat format, as llama.cpp reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from numpy.typing import NDArray

from forthwith.errors import ArtifactError

__all__ = ["permute", "write_gguf"]

_ARCHITECTURES = {"LlamaForCausalLM": "llama"}
_LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_TOP_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
_NORMAL, _CONTROL = 1, 3


def write_gguf(model: Any, tokenizer: Any, path: Path, *, name: str, half: bool = True) -> None:
    """Write a model.

    Args:
        model: a Transformers Llama model, adapter merged.
        tokenizer: its tokenizer, a byte-level BPE.
        path: the file to write.
        name: the model's name in the file.
        half: matrices in float16; otherwise float32. Norms are float32.

    Raises:
        ArtifactError: another architecture or tokenizer.
    """
    architecture = _ARCHITECTURES.get(type(model).__name__)
    if architecture is None:
        raise ArtifactError(
            f"{type(model).__name__} cannot be written as GGUF here; export merged weights and convert them with llama.cpp",
            sorted(_ARCHITECTURES), type(model).__name__,
        )  # fmt: skip
    writer = gguf.GGUFWriter(str(path), architecture)
    _add_shape(writer, model.config, name)
    _add_tokenizer(writer, tokenizer, model.config)
    heads = {"q_proj": model.config.num_attention_heads, "k_proj": model.config.num_key_value_heads}
    is_tied = bool(model.config.tie_word_embeddings)
    for key, tensor in model.state_dict().items():
        if is_tied and key == "lm_head.weight":
            continue
        values: NDArray[Any] = tensor.detach().to(torch.float32).cpu().numpy()
        count = heads.get(key.removesuffix(".weight").rpartition(".")[2])
        if count:
            values = permute(values, count)
        is_matrix = values.ndim > 1
        writer.add_tensor(_tensor_name(key), values.astype(np.float16) if half and is_matrix else values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def permute(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows of a query or key projection in GGUF's order: the two numbers a rotation mixes stand side by side.

    Args:
        weight: shape (heads * head_dim, hidden), rows in Transformers' order.
        heads: number of heads in `weight`.
    """
    rows, hidden = weight.shape
    halves = weight.reshape(heads, 2, rows // heads // 2, hidden)
    return halves.swapaxes(1, 2).reshape(rows, hidden)


def _add_shape(writer: gguf.GGUFWriter, config: Any, name: str) -> None:
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    rope: dict[str, Any] = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type", "default") != "default":
        raise ArtifactError(f"rotary embeddings of type {rope['rope_type']!r} cannot be written as GGUF here")
    writer.add_name(name)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_rope_freq_base(float(rope.get("rope_theta", getattr(config, "rope_theta", 10_000.0))))
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_file_type(1)


def _add_tokenizer(writer: gguf.GGUFWriter, tokenizer: Any, config: Any) -> None:
    described: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    if described["model"]["type"] != "BPE":
        raise ArtifactError(
            f"a {described['model']['type']} tokenizer cannot be written as GGUF here; only byte-level BPE"
        )
    special = {token["content"] for token in described["added_tokens"] if token["special"]}
    by_id = {index: token for token, index in tokenizer.get_vocab().items()}
    tokens = [by_id.get(index, f"[PAD{index}]") for index in range(config.vocab_size)]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in described["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(_pre_tokenizer(described))
    writer.add_token_list(tokens)
    writer.add_token_types([_CONTROL if token in special else _NORMAL for token in tokens])
    writer.add_token_merges(merges)
    for add, token in (
        (writer.add_bos_token_id, tokenizer.bos_token_id),
        (writer.add_eos_token_id, tokenizer.eos_token_id),
        (writer.add_pad_token_id, tokenizer.pad_token_id),
    ):
        if token is not None:
            add(int(token))
    writer.add_add_bos_token(value=False)
    if tokenizer.chat_template:
        writer.add_chat_template(tokenizer.chat_template)


def _pre_tokenizer(described: dict[str, Any]) -> str:
    """The name llama.cpp knows the pre-tokeniser by."""
    parts = described["pre_tokenizer"]
    kinds = [part["type"] for part in parts.get("pretokenizers", [parts])]
    if kinds == ["Digits", "ByteLevel"]:
        return "smollm"
    if kinds == ["ByteLevel"]:
        return "gpt-2"
    raise ArtifactError(f"the pre-tokeniser {kinds} has no name here that llama.cpp would know")


def _tensor_name(key: str) -> str:
    stem = key.removesuffix(".weight")
    if stem in _TOP_NAMES:
        return f"{_TOP_NAMES[stem]}.weight"
    head, _, rest = stem.removeprefix("model.layers.").partition(".")
    if key.startswith("model.layers.") and rest in _LAYER_NAMES:
        return f"blk.{head}.{_LAYER_NAMES[rest]}.weight"
    raise ArtifactError(f"the tensor {key!r} has no name in a GGUF file of this architecture")
