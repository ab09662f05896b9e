from __future__ import annotations

import os
from pathlib import Path

import pytest
from serving_process import body_of
from starlette.testclient import TestClient

from forthwith.engine.transformers import TransformersEngine
from forthwith.errors import ArtifactError
from forthwith.model import Model
from forthwith.serving.app import create_app
from forthwith.serving.model_files import ModelFiles
from forthwith.testing import tiny_causal_model, tiny_tokenizer


def test_files_that_stay_as_they_were_pass(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"one")
    os.utime(weights, (1_700_000_000, 1_700_000_000))
    files = ModelFiles([weights])
    files.check()
    assert str(files.newest) == "2023-11-14"
    assert ModelFiles([]).newest is None


@pytest.mark.parametrize("change", ["replace", "overwrite", "delete"])
def test_a_file_that_changed_is_named(tmp_path: Path, change: str) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"one")
    files = ModelFiles([weights])
    if change == "replace":
        (tmp_path / "new").write_bytes(b"two")
        (tmp_path / "new").replace(weights)
    elif change == "overwrite":
        weights.write_bytes(b"three")
    else:
        weights.unlink()
    with pytest.raises(ArtifactError, match=r"model\.safetensors changed on disk"):
        files.check()


@pytest.mark.slow
def test_a_server_whose_model_was_replaced_refuses_until_it_is_reloaded(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    tiny_causal_model(seed=1).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    with TestClient(create_app(Model.load(folder, readout="label"))) as client:
        first = client.post("/v1/systemone", json=body_of("x")).json()
        tiny_causal_model(seed=2).save_pretrained(tmp_path / "other")
        (tmp_path / "other" / "model.safetensors").replace(folder / "model.safetensors")
        refused = client.post("/v1/systemone", json=body_of("x"))
        assert refused.status_code == client.get("/readyz").status_code == 503
        assert refused.json()["detail"]["error_type"] == "model_changed"
    with TestClient(create_app(Model.load(folder, readout="label"))) as client:
        second = client.post("/v1/systemone", json=body_of("x")).json()
    assert second["x_bundle"] != first["x_bundle"]
    assert second["answers"] != first["answers"]


@pytest.mark.slow
def test_the_memory_of_encoded_states_stays_under_its_bound(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    tiny_causal_model(layers=2).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    model = Model.load(folder, readout="label")
    engine = model.engine
    assert isinstance(engine, TransformersEngine)
    engine.prefix_cache.max_bytes = 2_000_000
    state = "a state of many tokens, so that it is encoded and kept: " + "x" * 300
    with TestClient(create_app(model)) as client:
        for number in range(120):  # each state takes about 0.2 MB, so all of them would take ten times the bound
            assert client.post("/v1/systemone", json=body_of(f"{number} {state}")).status_code == 200
            assert engine.prefix_cache.bytes <= 2_000_000
        assert 0 < len(engine.prefix_cache) < 60
        again = client.post("/v1/systemone", json=body_of(f"119 {state}")).json()
        assert again["usage"]["x_cached_tokens"] > 100  # the state was not encoded again
        held = client.get("/metrics").text
    shown = next(line for line in held.splitlines() if line.startswith("forthwith_prefix_cache_bytes "))
    assert float(shown.split()[1]) == engine.prefix_cache.bytes
