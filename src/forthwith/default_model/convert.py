"""A GGUF file of the Llama family to a Transformers model folder: float32 weights, configuration, tokenizer, template.

The written bytes depend on the GGUF file alone, because the hash of the weights is part of a model's identity: file
layouts are fixed here, not left to a library's version.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import numpy as np
from numpy.typing import NDArray

from forthwith.errors import ArtifactError

__all__ = ["LlamaShape", "convert_gguf", "tokenizer_json", "unpermute"]

_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_TOP_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_CONTROL_TOKEN = 3


class LlamaShape(NamedTuple):
    """The sizes of a Llama-family model, as its GGUF file states them."""

    layers: int
    hidden: int
    mlp: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    positions: int
    rope_theta: float
    rms_norm_eps: float


def convert_gguf(path: Path, folder: Path) -> None:
    """Write a GGUF file as a model folder: weights, configuration, tokenizer and its settings, under their usual names.

    Weights are the dequantised values in float32, exactly; tied embeddings are written once.

    Raises:
        ArtifactError: not a GGUF file, another architecture or tokenizer, or a tensor without a place.
        OSError: the folder cannot be written.
    """
    try:
        reader = gguf.GGUFReader(path)
    except (ValueError, IndexError) as error:
        raise ArtifactError(f"{path.name} is not a readable GGUF file: {error}") from error
    architecture, pre = _field(reader, "general.architecture"), _field(reader, "tokenizer.ggml.pre")
    if architecture != "llama" or pre != "smollm":
        raise ArtifactError(
            f"{path.name} cannot be converted: architecture {architecture!r} with pre-tokeniser {pre!r}; "
            "only 'llama' with 'smollm' is known here"
        )
    shape = _shape(reader)
    tensors = {_weight_name(tensor.name): tensor for tensor in reader.tensors}
    _write_safetensors(folder / "model.safetensors", tensors, shape)
    _write_json(folder / "config.json", _config(reader, shape, is_tied="lm_head.weight" not in tensors))
    _write_json(folder / "tokenizer.json", tokenizer_json(_tokens(reader), _field(reader, "tokenizer.ggml.merges")))
    _write_json(folder / "tokenizer_config.json", _tokenizer_config(reader, shape))


def unpermute(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows of a query or key projection in Transformers' order, from GGUF's.

    GGUF keeps the two numbers that a rotation mixes side by side; Transformers keeps them half a head apart.

    Args:
        weight: shape (heads * head_dim, hidden), rows in GGUF order.
        heads: number of heads in `weight`.
    """
    rows, hidden = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, hidden)
    return pairs.swapaxes(1, 2).reshape(rows, hidden)


def tokenizer_json(tokens: dict[str, bool], merges: list[str]) -> dict[str, Any]:
    """The `tokenizer.json` of a byte-level BPE that splits every digit from its neighbours first.

    Args:
        tokens: the vocabulary in id order; True marks a control token.
        merges: "left right", best first.
    """
    vocabulary = {token: index for index, token in enumerate(tokens)}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    control = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": vocabulary[token], "content": token, **control} for token, is_control in tokens.items() if is_control
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level],
        },
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocabulary,
            "merges": [merge.split(" ", 1) for merge in merges],
        },
    }


def _field(reader: gguf.GGUFReader, name: str) -> Any:
    field = reader.get_field(name)
    if field is None:
        raise ArtifactError(f"the GGUF file has no field {name!r}")
    return field.contents()


def _shape(reader: gguf.GGUFReader) -> LlamaShape:
    return LlamaShape(
        layers=_field(reader, "llama.block_count"),
        hidden=_field(reader, "llama.embedding_length"),
        mlp=_field(reader, "llama.feed_forward_length"),
        heads=_field(reader, "llama.attention.head_count"),
        kv_heads=_field(reader, "llama.attention.head_count_kv"),
        head_dim=_field(reader, "llama.rope.dimension_count"),
        vocabulary=len(_field(reader, "tokenizer.ggml.tokens")),
        positions=_field(reader, "llama.context_length"),
        rope_theta=_shortest(_field(reader, "llama.rope.freq_base")),
        rms_norm_eps=_shortest(_field(reader, "llama.attention.layer_norm_rms_epsilon")),
    )


def _shortest(value: float) -> float:
    """The shortest decimal that is this float32 (9.999999747378752e-06 is 1e-05)."""
    return float(str(np.float32(value)))


def _weight_name(name: str) -> str:
    parts = name.removesuffix(".weight").split(".")
    if len(parts) == 3 and parts[0] == "blk" and parts[2] in _LAYER_NAMES:
        return f"model.layers.{parts[1]}.{_LAYER_NAMES[parts[2]]}.weight"
    if len(parts) == 1 and parts[0] in _TOP_NAMES:
        return f"{_TOP_NAMES[parts[0]]}.weight"
    raise ArtifactError(f"the GGUF tensor {name!r} has no place in a Llama model")


def _write_safetensors(path: Path, tensors: dict[str, gguf.ReaderTensor], shape: LlamaShape) -> None:
    # One tensor in memory at a time; names in sorted order, header padded with spaces to 8 bytes.
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name in sorted(tensors):
        sizes = [int(size) for size in reversed(tensors[name].shape)]
        end = offset + 4 * int(np.prod(sizes))
        header[name] = {"dtype": "F32", "shape": sizes, "data_offsets": [offset, end]}
        offset = end
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with path.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for name in sorted(tensors):
            file.write(_values(name, tensors[name], shape).astype("<f4", copy=False).tobytes())


def _values(name: str, tensor: gguf.ReaderTensor, shape: LlamaShape) -> NDArray[np.float32]:
    values: NDArray[np.float32] = gguf.dequantize(tensor.data, tensor.tensor_type)
    if name.endswith("q_proj.weight"):
        return unpermute(values, shape.heads)
    if name.endswith("k_proj.weight"):
        return unpermute(values, shape.kv_heads)
    return values


def _tokens(reader: gguf.GGUFReader) -> dict[str, bool]:
    names, kinds = _field(reader, "tokenizer.ggml.tokens"), _field(reader, "tokenizer.ggml.token_type")
    tokens = {name: kind == _CONTROL_TOKEN for name, kind in zip(names, kinds, strict=True)}
    if len(tokens) != len(names):
        raise ArtifactError("the GGUF file's vocabulary names a token twice")
    return tokens


def _config(reader: gguf.GGUFReader, shape: LlamaShape, *, is_tied: bool) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": _field(reader, "tokenizer.ggml.bos_token_id"),
        "eos_token_id": _field(reader, "tokenizer.ggml.eos_token_id"),
        "pad_token_id": _field(reader, "tokenizer.ggml.padding_token_id"),
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "hidden_size": shape.hidden,
        "initializer_range": 0.02,
        "intermediate_size": shape.mlp,
        "max_position_embeddings": shape.positions,
        "mlp_bias": False,
        "num_attention_heads": shape.heads,
        "num_hidden_layers": shape.layers,
        "num_key_value_heads": shape.kv_heads,
        "rms_norm_eps": shape.rms_norm_eps,
        "rope_parameters": {"rope_theta": shape.rope_theta, "rope_type": "default"},
        "rope_theta": shape.rope_theta,
        "tie_word_embeddings": is_tied,
        "dtype": "float32",
        "use_cache": True,
        "vocab_size": shape.vocabulary,
    }


def _tokenizer_config(reader: gguf.GGUFReader, shape: LlamaShape) -> dict[str, Any]:
    tokens = _field(reader, "tokenizer.ggml.tokens")
    special = {
        role: tokens[_field(reader, f"tokenizer.ggml.{role}_token_id")] for role in ("bos", "eos", "unknown", "padding")
    }
    return {
        # The plain class reads tokenizer.json as it is; classes named after a model build their own pre-tokeniser.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": False,
        "add_prefix_space": False,
        "bos_token": special["bos"],
        "eos_token": special["eos"],
        "unk_token": special["unknown"],
        "pad_token": special["padding"],
        "clean_up_tokenization_spaces": False,
        "model_max_length": shape.positions,
        "chat_template": _field(reader, "tokenizer.chat_template"),
    }


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")
