import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from forthwith.errors import ArtifactError, ConfigError
from forthwith.training.averaging import average_adapters

CONFIG = {"peft_type": "LORA", "base_model_name_or_path": "base", "r": 2, "lora_alpha": 4, "target_modules": ["q", "k"]}
NAME = "base_model.model.layers.0.q"


def adapter(folder, up, down, **changes):
    folder.mkdir(parents=True)
    tensors = {f"{NAME}.lora_A.weight": torch.as_tensor(down), f"{NAME}.lora_B.weight": torch.as_tensor(up)}
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({**CONFIG, **changes}))
    return folder


def change(folder):
    stored = load_file(folder / "adapter_model.safetensors")
    return stored[f"{NAME}.lora_B.weight"] @ stored[f"{NAME}.lora_A.weight"]


def test_the_mean_of_two_changes_worked_out_by_hand(tmp_path):
    one = adapter(tmp_path / "one", [[1.0, 0.0], [0.0, 0.0]], [[4.0, 0.0], [0.0, 0.0]])  # 4 in the upper left
    two = adapter(tmp_path / "two", [[0.0, 0.0], [1.0, 0.0]], [[0.0, 2.0], [0.0, 0.0]])  # 2 in the lower right
    done = average_adapters([one, two], tmp_path / "mean")
    torch.testing.assert_close(change(tmp_path / "mean"), torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    assert (done.modules, round(done.lost, 6)) == (1, 0.0)
    weighted = average_adapters([one, two], tmp_path / "weighted", [3, 1])
    torch.testing.assert_close(change(weighted.place), torch.tensor([[3.0, 0.0], [0.0, 0.5]]))
    assert json.loads((weighted.place / "adapter_config.json").read_text()) == CONFIG


def test_signs_that_turn_between_seeds_do_not_cancel(tmp_path):
    # the same change, written with both factors negated: the mean of the factors would be zero
    one = adapter(tmp_path / "one", [[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [3.0, 4.0]])
    two = adapter(tmp_path / "two", [[-1.0, 0.0], [0.0, -1.0]], [[-1.0, -2.0], [-3.0, -4.0]])
    average_adapters([one, two], tmp_path / "mean")
    torch.testing.assert_close(change(tmp_path / "mean"), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_what_is_cut_is_what_the_largest_singular_values_leave(tmp_path_factory, seed):
    draw = torch.Generator().manual_seed(seed)
    place = tmp_path_factory.mktemp("average")
    parts = [(torch.randn(5, 2, generator=draw), torch.randn(2, 6, generator=draw)) for _ in range(3)]
    folders = [adapter(place / str(index), up, down) for index, (up, down) in enumerate(parts)]
    done = average_adapters(folders, place / "mean")
    mean = sum(up @ down for up, down in parts) / 3
    sizes = torch.linalg.svdvals(mean)
    left = torch.linalg.norm(mean - change(done.place)) ** 2 / torch.linalg.norm(mean) ** 2
    assert done.lost == pytest.approx(float((sizes[2:] ** 2).sum() / (sizes**2).sum()), abs=1e-5)
    assert done.lost == pytest.approx(float(left), abs=1e-5)


def test_a_run_stands_for_its_best_adapter(tmp_path):
    for name in ("one", "two"):
        adapter(tmp_path / name / "best", [[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [3.0, 4.0]])
    assert average_adapters([tmp_path / "one", tmp_path / "two"], tmp_path / "mean").modules == 1


def test_bad_input_is_refused_before_anything_is_written(tmp_path):
    same = ([[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [3.0, 4.0]])
    one, other = adapter(tmp_path / "one", *same), adapter(tmp_path / "other", *same, lora_alpha=8)
    two = adapter(tmp_path / "two", *same)
    out = tmp_path / "mean"
    with pytest.raises(ConfigError, match="at least two"):
        average_adapters([one], out)
    with pytest.raises(ConfigError, match="one an adapter"):
        average_adapters([one, two], out, [1, 2, 3])
    with pytest.raises(ConfigError, match="0 or more"):
        average_adapters([one, two], out, [1, -1])
    with pytest.raises(ArtifactError, match="differ in lora_alpha"):
        average_adapters([one, other], out)
    with pytest.raises(ArtifactError, match="no adapter in"):
        average_adapters([one, tmp_path], out)
    wide = adapter(tmp_path / "wide", torch.ones(3, 2), torch.ones(2, 2))
    with pytest.raises(ArtifactError, match="another shape"):
        average_adapters([one, wide], out)
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "adapter_model.safetensors").write_bytes(b"half")
    (tmp_path / "torn" / "adapter_config.json").write_text(json.dumps(CONFIG))
    with pytest.raises(ArtifactError, match="no whole safetensors file"):
        average_adapters([one, tmp_path / "torn"], out)
    assert not out.exists()
    with pytest.raises(ArtifactError, match="exists already"):
        average_adapters([one, two], two)
