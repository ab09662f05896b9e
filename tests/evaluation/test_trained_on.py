"""What a model was trained on is found in its bundle, its run, a list or its records."""

from pathlib import Path

import pytest

from forthwith.bundle import BaseModelReference, write_bundle
from forthwith.errors import ArtifactError
from forthwith.evaluation.trained_on import states_trained_on, trained_states_at
from forthwith.schema import state_sha256
from forthwith.schema.trained_states import TRAINED_STATES_NAME, TrainedStates

LINE = '{"id": "a", "state": "one", "questions": {"q": {"type": "noul", "instructions": "Late?"}}}\n'


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "train.jsonl"
    path.write_text(LINE + LINE.replace("one", "two").replace('"a"', '"b"'))
    return path


def bundle(folder: Path, states: bytes | None) -> Path:
    adapter = folder.with_name(f"{folder.name}-adapter")
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}")
    (adapter / "adapter_model.safetensors").write_bytes(folder.name.encode())
    write_bundle(
        folder, name="b", version="1", base=BaseModelReference(model="m", weights_sha256="w", encoder_sha256="e"),
        readout="label", template_sha256="t", precision="float32", adapter=adapter, trained_states=states,
    )  # fmt: skip
    return folder


def test_every_place_names_the_same_states(records: Path, tmp_path: Path) -> None:
    from forthwith.bundle import load_bundle

    expected = trained_states_at(records)
    assert len(expected) == 2
    assert state_sha256("two") in expected
    run = tmp_path / "run"
    run.mkdir()
    (run / TRAINED_STATES_NAME).write_bytes(expected.to_bytes())
    folder = bundle(tmp_path / "bundle", expected.to_bytes())
    for place in (run, run / TRAINED_STATES_NAME, folder):
        assert trained_states_at(place) == expected
    assert states_trained_on(load_bundle(folder).manifest.binding, [folder, records]) == expected


def test_a_place_that_cannot_say_is_refused(tmp_path: Path) -> None:
    from forthwith.bundle import load_bundle

    (tmp_path / "run").mkdir()
    with pytest.raises(ArtifactError, match="name the training records"):
        trained_states_at(tmp_path / "run")
    silent = bundle(tmp_path / "silent", None)
    with pytest.raises(ArtifactError, match="does not say what it was trained on"):
        trained_states_at(silent)
    other = bundle(tmp_path / "other", TrainedStates().to_bytes())
    with pytest.raises(ArtifactError, match="another adapter"):
        trained_states_at(other, load_bundle(silent).manifest.binding)


def test_a_changed_list_is_found_out(records: Path, tmp_path: Path) -> None:
    folder = bundle(tmp_path / "bundle", trained_states_at(records).to_bytes())
    (folder / TRAINED_STATES_NAME).write_bytes(TrainedStates().to_bytes())
    with pytest.raises(ArtifactError, match="was changed"):
        trained_states_at(folder)
