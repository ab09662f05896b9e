"""The real default model: its tokenizer against llama.cpp's, its weights against Transformers' own GGUF reader."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
import torch
from llama_server import llama_server, llama_tokenize
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from forthwith.default_model import SMOLLM2, ensure_default_model
from forthwith.default_model.cache import read_source
from forthwith.default_model.fetch import fetch_gguf

GOLDEN = Path(__file__).parents[1] / "golden"

pytestmark = pytest.mark.default_model


@pytest.fixture(scope="module")
def folder():
    return ensure_default_model()


@pytest.fixture(scope="module")
def tokenizer(folder):
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


@pytest.fixture(scope="module")
def gguf(tmp_path_factory):
    """The original file, taken again."""
    return fetch_gguf(SMOLLM2, tmp_path_factory.mktemp("gguf"), report=lambda _line: None)


def test_the_weights_are_the_ones_pinned(folder):
    record = read_source(folder)
    assert record.weights_sha256 == SMOLLM2.weights_sha256
    assert record.file_bytes["model.safetensors"] == 538_090_408


def test_the_tokenizer_gives_the_ids_of_llama_cpp_on_every_probe_text(tokenizer):
    rows = json.loads((GOLDEN / "smollm2_tokens.json").read_text())
    assert len(rows) >= 300
    wrong = [row["text"] for row in rows if tokenizer.encode(row["text"], add_special_tokens=False).ids != row["ids"]]
    assert wrong == []


def test_the_auto_class_tokenises_like_the_file(folder, tokenizer):
    auto = AutoTokenizer.from_pretrained(folder)
    for row in json.loads((GOLDEN / "smollm2_tokens.json").read_text()):
        assert auto.encode(row["text"], add_special_tokens=False) == row["ids"]


def test_every_text_comes_back(tokenizer):
    for row in json.loads((GOLDEN / "smollm2_tokens.json").read_text()):
        assert tokenizer.decode(row["ids"], skip_special_tokens=False) == row["text"]


@pytest.mark.network
def test_logits_equal_those_of_the_gguf_file_as_transformers_reads_it(folder, gguf, tokenizer):
    ids = torch.tensor([tokenizer.encode("<|im_start|>user\nPay 1,250.50 by 10:45.<|im_end|>\n").ids])
    ours = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    theirs = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    with torch.no_grad():
        assert torch.equal(ours(ids).logits, theirs(ids).logits)


@pytest.mark.network
@pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="needs a live llama.cpp: pip install xllamacpp"
)
def test_a_live_llama_cpp_still_gives_the_golden_ids(gguf):
    rows = json.loads((GOLDEN / "smollm2_tokens.json").read_text())
    with llama_server(gguf) as url:
        assert [llama_tokenize(url, row["text"]) for row in rows] == [row["ids"] for row in rows]
