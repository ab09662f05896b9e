"""Exports answer as the trained model does, and adapters that are not applied are found out."""

import json
from pathlib import Path

import pytest
from llama_server import llama_server
from training_runs import config_of, held_back, model_folder, records, write_records

from forthwith.engine.loading import ModelSource, load_model
from forthwith.engine.openai import OpenAIEngine
from forthwith.engine.server_calls import CallSettings
from forthwith.engine.transformers import TransformersEngine
from forthwith.errors import ArtifactError, DataError
from forthwith.evaluation.trained_on import trained_states_at
from forthwith.model import Model
from forthwith.schema import state_sha256
from forthwith.training.adapter_check import check_adapter
from forthwith.training.export import (
    export_bundle,
    export_gguf,
    export_merged,
    export_vllm_adapter,
    open_run,
    rename_for_checkpoint,
)
from forthwith.training.probes import compare_scores, probe_scores
from forthwith.training.run import DataFiles, train


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("exports")
    config = config_of(epochs=1, base={"model": str(model_folder(place))})
    files = DataFiles((write_records(place / "train.jsonl", records()),))
    train(config, files, place / "run", device="cpu", rows_cache=place / "rows")
    return place / "run"


def test_a_bundle_answers_as_the_run_and_is_loaded_by_name(run_folder: Path, tmp_path: Path) -> None:
    run = open_run(run_folder)
    exported = export_bundle(
        run, tmp_path / "bundle", held_back()[:8], name="kinds", adapter_dtype="float16", device="cpu"
    )
    assert exported.gap.questions == 8
    assert exported.gap.answers_changed == 0
    model = Model.load(tmp_path / "bundle", device="cpu")
    assert model.calibration is not None
    assert model.decide(records()[0]).answers["kind"].keys == ("fruit", "vehicle", "tree")
    assert "| kinds | 16 |" in (tmp_path / "bundle" / "card.md").read_text()
    states = trained_states_at(tmp_path / "bundle")
    assert len(states) == 12
    assert all(state_sha256(record.state) in states for record in records())
    assert not list(tmp_path.glob(".*"))


def test_a_bundle_is_not_calibrated_on_what_was_trained_on(run_folder: Path, tmp_path: Path) -> None:
    mixed = [*held_back()[:3], *records()[:2]]
    with pytest.raises(
        DataError, match="2 of 5 validation records show a state that the model was trained on, first 'w0'"
    ):
        export_bundle(open_run(run_folder), tmp_path / "bundle", mixed, name="kinds", device="cpu")
    assert not (tmp_path / "bundle").exists()


def test_merged_weights_answer_as_the_run(run_folder: Path, tmp_path: Path) -> None:
    assert export_merged(open_run(run_folder), tmp_path / "merged", device="cpu").gap.largest < 1e-4
    with pytest.raises(ArtifactError, match="not empty"):
        export_merged(open_run(run_folder), tmp_path / "merged", device="cpu")


def test_a_gguf_file_answers_as_the_run(run_folder: Path, tmp_path: Path) -> None:
    exported = export_gguf(open_run(run_folder), tmp_path / "model.gguf", half=False)
    assert exported.gap.largest < 1e-3


def test_an_adapter_keeps_its_names_where_the_checkpoint_has_them(run_folder: Path, tmp_path: Path) -> None:
    exported = export_vllm_adapter(open_run(run_folder), tmp_path / "adapter")
    assert exported.gap.largest < 1e-4
    assert json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())["r"] == 8


def test_a_wrappers_prefix_is_added() -> None:
    name = "base_model.model.model.layers.3.mlp.up_proj.lora_A.weight"
    modules = {"model.language_model.layers.3.mlp.up_proj"}
    assert (
        rename_for_checkpoint(name, modules)
        == "base_model.model.model.language_model.layers.3.mlp.up_proj.lora_A.weight"
    )
    with pytest.raises(ArtifactError, match="no module"):
        rename_for_checkpoint(name, {"model.layers.4.mlp.up_proj"})


def test_an_adapter_that_is_not_applied_is_found_out(run_folder: Path) -> None:
    run = open_run(run_folder)
    base = load_model(ModelSource(run.base_place, None, "cpu"))
    adapted = TransformersEngine(run.load(device="cpu"), "adapted")
    plain = TransformersEngine(base, "base")
    assert check_adapter(plain, adapted, base.encoder, run.readout, adapted).takes_effect
    ignored = check_adapter(plain, plain, base.encoder, run.readout, adapted)
    assert not ignored.takes_effect
    assert "not applied" in ignored.reason


def test_an_unfinished_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no finished run"):
        open_run(tmp_path)


def test_another_base_is_refused(run_folder: Path, tmp_path: Path) -> None:
    run = open_run(run_folder)
    other = model_folder(tmp_path, "qwen3")
    moved = type(run)(run.folder, run.summary, run.readout, str(other), run.adapter)
    with pytest.raises(ArtifactError):
        moved.load(device="cpu")


@pytest.mark.slow
def test_llama_cpp_answers_a_gguf_file_as_the_run(run_folder: Path, tmp_path: Path) -> None:
    run = open_run(run_folder)
    export_gguf(run, tmp_path / "model.gguf", half=False)
    loaded = run.load(device="cpu")
    expected = probe_scores(TransformersEngine(loaded, "run"), loaded.encoder, run.readout)
    with llama_server(tmp_path / "model.gguf") as url:
        served = OpenAIEngine(CallSettings(url=url))
        gap = compare_scores(expected, probe_scores(served, loaded.encoder, run.readout))
    assert gap.answers_changed == 0
    assert gap.largest < 0.02
