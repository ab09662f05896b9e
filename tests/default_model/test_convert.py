from __future__ import annotations

import hashlib
import json

import gguf
import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from forthwith.default_model.convert import convert_gguf, unpermute
from forthwith.errors import ArtifactError


@pytest.fixture(scope="module")
def folder(tiny, tmp_path_factory):
    made = tmp_path_factory.mktemp("made")
    convert_gguf(tiny.gguf, made)
    return made


def test_weights_come_back_exactly_and_the_tied_head_is_not_written_twice(tiny, folder):
    weights = load_file(folder / "model.safetensors")
    assert set(weights) == set(tiny.weights)
    assert all(np.array_equal(weights[name], tiny.weights[name]) for name in weights)
    assert json.loads((folder / "config.json").read_text())["tie_word_embeddings"] is True


def test_the_bytes_depend_on_the_gguf_file_alone(tiny, folder, tmp_path):
    convert_gguf(tiny.gguf, tmp_path)
    for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    header = (folder / "model.safetensors").read_bytes()
    assert int.from_bytes(header[:8], "little") % 8 == 0


def test_a_quantised_tensor_is_written_as_its_dequantised_values(tiny, tmp_path, write_tiny_gguf):
    values = tiny.weights["model.layers.0.mlp.up_proj.weight"]
    packed = gguf.quantize(values, gguf.GGMLQuantizationType.Q8_0)
    reader_values = gguf.dequantize(packed, gguf.GGMLQuantizationType.Q8_0)
    write_tiny_gguf(tmp_path / "q.gguf", tiny.weights | {"model.layers.0.mlp.up_proj.weight": reader_values})
    convert_gguf(tmp_path / "q.gguf", tmp_path)
    found = load_file(tmp_path / "model.safetensors")["model.layers.0.mlp.up_proj.weight"]
    assert np.array_equal(found, reader_values)
    assert not np.array_equal(found, values)


def test_transformers_loads_the_folder_with_every_weight(folder):
    model, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert model.config.rope_parameters["rope_theta"] == 10000.0
    assert model.config.rms_norm_eps == 1e-5
    assert model.lm_head.weight is model.model.embed_tokens.weight


def test_digits_are_split_before_merging(folder):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.encode("ab12").tokens == ["ab", "1", "2"]  # the merge "1 2" exists and must not fire
    assert tokenizer.encode(" a5").tokens == ["Ġa", "5"]
    assert tokenizer.encode("<|im_end|>a").ids[0] == 2


def test_the_auto_class_keeps_the_pre_tokeniser_and_the_template(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.tokenize("ab12") == ["ab", "1", "2"]
    text = tokenizer.apply_chat_template([{"role": "user", "content": "a"}], tokenize=False)
    assert text == "<|im_start|>user\na<|im_end|>\n"
    assert (tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token) == (
        "<|im_start|>",
        "<|im_end|>",
        "<|im_end|>",
    )


def test_unpermute_moves_the_pairs_half_a_head_apart():
    rows = np.arange(8, dtype=np.float32).reshape(8, 1)  # two heads of four rows: pairs (0,1) (2,3) | (4,5) (6,7)
    assert unpermute(rows, 2)[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_another_architecture_is_refused(tiny, tmp_path, write_tiny_gguf):
    write_tiny_gguf(tmp_path / "other.gguf", tiny.weights, architecture="mamba")
    with pytest.raises(ArtifactError, match="'mamba'"):
        convert_gguf(tmp_path / "other.gguf", tmp_path)


def test_a_file_that_is_no_gguf_is_refused(tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"not a model" * 10)
    with pytest.raises(ArtifactError, match="not a readable GGUF"):
        convert_gguf(tmp_path / "x.gguf", tmp_path)


def test_a_cut_off_gguf_is_refused(tiny, tmp_path):
    whole = tiny.gguf.read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    assert hashlib.sha256(whole).hexdigest() == tiny.source.gguf_sha256
    with pytest.raises(ArtifactError, match="not a readable GGUF"):
        convert_gguf(tmp_path / "cut.gguf", tmp_path)


def test_a_tensor_without_a_place_is_named(tiny, tmp_path, write_tiny_gguf):
    odd = tiny.weights | {"rope_freqs.weight": tiny.weights["model.norm.weight"]}
    write_tiny_gguf(tmp_path / "odd.gguf", odd, raw_names=("rope_freqs.weight",))
    with pytest.raises(ArtifactError, match=r"'rope_freqs\.weight' has no place"):
        convert_gguf(tmp_path / "odd.gguf", tmp_path)


def test_a_vocabulary_that_names_a_token_twice_is_refused(tiny, tmp_path, write_tiny_gguf):
    write_tiny_gguf(tmp_path / "twice.gguf", tiny.weights, extra_token="ab")
    with pytest.raises(ArtifactError, match="names a token twice"):
        convert_gguf(tmp_path / "twice.gguf", tmp_path)


def test_a_missing_field_is_named(tiny, tmp_path, write_tiny_gguf):
    write_tiny_gguf(tmp_path / "bare.gguf", tiny.weights, with_template=False)
    with pytest.raises(ArtifactError, match=r"no field 'tokenizer\.chat_template'"):
        convert_gguf(tmp_path / "bare.gguf", tmp_path)
