"""A tiny Llama model in a GGUF file in a wheel, so that taking and converting can be tested whole without a network."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import pytest

from forthwith.default_model import ModelSource

HIDDEN, MLP, HEADS, KV_HEADS, HEAD_DIM, LAYERS = 64, 96, 4, 2, 16, 2
TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(chr(33 + i) for i in range(94)), "Ġ", "Ċ", "ab", "Ġa", "12"]
MERGES = ["a b", "Ġ a", "1 2"]
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"


@dataclass(frozen=True)
class TinyModel:
    """A wheel on disk, the source that describes it, and the weights as Transformers should get them."""

    wheel: Path
    gguf: Path
    source: ModelSource
    weights: dict[str, np.ndarray]


@pytest.fixture
def write_tiny_gguf() -> Callable[..., Path]:
    return write_gguf


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyModel:
    folder = tmp_path_factory.mktemp("tiny")
    weights = random_weights()
    path = write_gguf(folder / "tiny.gguf", weights)
    wheel = write_wheel(folder / "tiny_model-0.0.1-py3-none-any.whl", path)
    source = ModelSource(
        name="tiny",
        package="tiny-model",
        version="0.0.1",
        gguf_name="tiny.gguf",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        gguf_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        weights_sha256=None,
        wheel_bytes=wheel.stat().st_size,
        room_bytes=1_000_000,
        licence="Apache-2.0",
    )
    return TinyModel(wheel, path, source, weights)


def random_weights() -> dict[str, np.ndarray]:
    """Weights under Transformers' names, each already a value that float32 holds."""
    random = np.random.default_rng(7)
    shapes = {"model.embed_tokens": (len(TOKENS), HIDDEN), "model.norm": (HIDDEN,)}
    for layer in range(LAYERS):
        shapes |= {
            f"model.layers.{layer}.input_layernorm": (HIDDEN,),
            f"model.layers.{layer}.post_attention_layernorm": (HIDDEN,),
            f"model.layers.{layer}.self_attn.q_proj": (HEADS * HEAD_DIM, HIDDEN),
            f"model.layers.{layer}.self_attn.k_proj": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"model.layers.{layer}.self_attn.v_proj": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"model.layers.{layer}.self_attn.o_proj": (HIDDEN, HEADS * HEAD_DIM),
            f"model.layers.{layer}.mlp.gate_proj": (MLP, HIDDEN),
            f"model.layers.{layer}.mlp.up_proj": (MLP, HIDDEN),
            f"model.layers.{layer}.mlp.down_proj": (HIDDEN, MLP),
        }
    return {f"{name}.weight": random.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}


def write_gguf(
    path: Path,
    weights: dict[str, np.ndarray],
    *,
    architecture: str = "llama",
    raw_names: tuple[str, ...] = (),
    extra_token: str = "",
    with_template: bool = True,
) -> Path:
    """Write weights the way llama.cpp's converter does: its names, query and key rows with rotation pairs adjacent."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(MLP)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    tokens = [*TOKENS, *([extra_token] if extra_token else [])]
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, 3] + [1] * (len(tokens) - 3))
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    if with_template:
        writer.add_chat_template(TEMPLATE)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, LAYERS)
    for name, values in weights.items():
        stored = values
        for projection, heads in (("q_proj", HEADS), ("k_proj", KV_HEADS)):
            if projection in name:
                stored = values.reshape(heads, 2, HEAD_DIM // 2, HIDDEN).swapaxes(1, 2).reshape(values.shape)
        stored_name = name if name in raw_names else names.get_name(name, try_suffixes=(".weight",))
        writer.add_tensor(stored_name, np.ascontiguousarray(stored))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_wheel(path: Path, model: Path) -> Path:
    """A wheel that holds a GGUF file and what installers insist on."""
    info = "tiny_model-0.0.1.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(model, f"tiny_model/{model.name}")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 0.0.1\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        rows = [f"tiny_model/{model.name},,", f"{info}/METADATA,,", f"{info}/WHEEL,,", f"{info}/RECORD,,"]
        archive.writestr(f"{info}/RECORD", "\n".join(rows) + "\n")
    return path
