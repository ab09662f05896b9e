from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file

from forthwith.engine.loading import ModelSource, load_model
from forthwith.engine.transformers import TransformersEngine
from forthwith.errors import ArtifactError, ConfigError, UnknownModelError
from forthwith.model import Model
from forthwith.schema import Choice
from forthwith.testing import tiny_causal_model, tiny_tokenizer


def base_folder(folder: Path, seed: int = 0, shape: str = "llama") -> Path:
    tiny_causal_model(shape, seed=seed).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def adapter_folder(folder: Path, *, scale: float = 0.3) -> Path:
    import torch

    torch.manual_seed(1)
    adapted = get_peft_model(tiny_causal_model(), LoraConfig(r=4, target_modules=["q_proj", "down_proj"]))
    for name, parameter in adapted.named_parameters():
        if "lora_" in name:
            parameter.data.normal_(std=scale) if scale else parameter.data.zero_()
    adapted.save_pretrained(str(folder))
    return folder


def rename_tensors(folder: Path, old: str, new: str) -> None:
    path = folder / "adapter_model.safetensors"
    save_file({name.replace(old, new): tensor for name, tensor in load_file(path).items()}, path)


def test_a_local_folder_is_loaded_and_identified(tmp_path: Path) -> None:
    loaded = load_model(ModelSource(str(base_folder(tmp_path / "base")), device="cpu"))
    assert (loaded.device, loaded.precision, loaded.max_tokens) == ("cpu", "float32", 4096)
    assert len(loaded.weights_sha256) == 64
    assert loaded.adapter_sha256 is None
    assert not loaded.has_recurrent_layers
    again = load_model(ModelSource(str(base_folder(tmp_path / "again")), device="cpu"))
    other = load_model(ModelSource(str(base_folder(tmp_path / "other", seed=1)), device="cpu"))
    assert loaded.weights_sha256 == again.weights_sha256 != other.weights_sha256


def test_recurrent_layers_are_noticed(tmp_path: Path) -> None:
    loaded = load_model(ModelSource(str(base_folder(tmp_path, shape="qwen3_5")), device="cpu"))
    assert loaded.has_recurrent_layers


def test_an_adapter_is_applied_as_peft_applies_it(tmp_path: Path) -> None:
    import torch
    from peft import PeftModel

    base, adapter = base_folder(tmp_path / "base"), adapter_folder(tmp_path / "adapter")
    loaded = load_model(ModelSource(str(base), adapter=str(adapter), device="cpu"))
    assert loaded.adapter_sha256 is not None
    reference = PeftModel.from_pretrained(tiny_causal_model(), str(adapter)).eval()
    ids = torch.arange(5, 25)[None]
    with torch.inference_mode():
        assert torch.allclose(loaded.model(ids).logits, reference(ids).logits, atol=1e-4)


def test_an_adapter_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    base, adapter = base_folder(tmp_path / "base"), adapter_folder(tmp_path / "adapter", scale=0.0)
    with pytest.raises(ArtifactError, match="changes nothing: base and adapted model answer a probe alike"):
        load_model(ModelSource(str(base), adapter=str(adapter), device="cpu"))


def test_misnamed_adapter_tensors_are_named_not_ignored(tmp_path: Path) -> None:
    base, adapter = base_folder(tmp_path / "base"), adapter_folder(tmp_path / "adapter")
    rename_tensors(adapter, "model.layers", "model.language_model.layers")
    with pytest.raises(
        ArtifactError, match=r"16 of 16 adapter tensors have no place in the base .*language_model\.layers\.0"
    ):
        load_model(ModelSource(str(base), adapter=str(adapter), device="cpu"))


def test_missing_adapter_tensors_are_named(tmp_path: Path) -> None:
    base, adapter = base_folder(tmp_path / "base"), adapter_folder(tmp_path / "adapter")
    path = adapter / "adapter_model.safetensors"
    tensors = load_file(path)
    save_file({name: tensor for name, tensor in tensors.items() if ".layers.2." not in name}, path)
    with pytest.raises(ArtifactError, match="lacks 4 tensors that its config asks for"):
        load_model(ModelSource(str(base), adapter=str(adapter), device="cpu"))


def test_an_adapter_of_another_shape_is_refused(tmp_path: Path) -> None:
    base, adapter = base_folder(tmp_path / "base"), adapter_folder(tmp_path / "adapter")
    path = adapter / "adapter_model.safetensors"
    save_file({name: tensor[..., :-1].contiguous() for name, tensor in load_file(path).items()}, path)
    with pytest.raises(ArtifactError, match="does not fit the base"):
        load_model(ModelSource(str(base), adapter=str(adapter), device="cpu"))


def test_a_folder_without_adapter_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="is no adapter folder"):
        load_model(ModelSource(str(base_folder(tmp_path / "base")), adapter=str(tmp_path), device="cpu"))


@pytest.mark.parametrize("damage", ["config.json", "model.safetensors"])
def test_a_damaged_model_folder_is_an_artifact_error(tmp_path: Path, damage: str) -> None:
    base = base_folder(tmp_path / "base")
    (base / damage).write_bytes(b"{broken")
    with pytest.raises(ArtifactError, match="cannot be loaded"):
        load_model(ModelSource(str(base), device="cpu"))


def test_an_impossible_hub_name_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UnknownModelError):
        load_model(ModelSource("not/a/hub/name"))
    with pytest.raises(UnknownModelError):
        load_model(ModelSource(str(tmp_path / "model.gguf")))


def test_a_model_loads_from_a_folder_and_decides(tmp_path: Path) -> None:
    model = Model.load(base_folder(tmp_path / "base"), readout="branch", device="cpu")
    assert isinstance(model.engine, TransformersEngine)
    answer = model.decide("a state", {"q": Choice(criteria={"a": None, "b": None, "c": None})})["q"]
    swapped = model.decide("a state", {"q": Choice(criteria={"c": None, "a": None, "b": None})})["q"]
    assert np.allclose(answer.probabilities, swapped.probabilities[[1, 2, 0]], atol=1e-5)
    assert json.loads(model.binding.model_dump_json())["readout"] == "branch"


@pytest.mark.parametrize("device", ["tpu", "cuda:99"])
def test_a_device_that_is_not_here_is_refused_by_name(tmp_path: Path, device: str) -> None:
    with pytest.raises(ConfigError, match=f"device '{device}' cannot be used here"):
        load_model(ModelSource(str(base_folder(tmp_path / "base")), device=device))
