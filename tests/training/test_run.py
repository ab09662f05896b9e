"""A run from files: logged, kept, resumed after a real kill, and refused early where something is wrong."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from training_runs import config_of, model_folder, records, write_records

from forthwith.errors import ArtifactError, ConfigError, DataError
from forthwith.training.config import TrainingConfig
from forthwith.training.event_log import read_events
from forthwith.training.run import DataFiles, train


def config_for(place: Path, **sections) -> TrainingConfig:
    return config_of(base={"model": str(model_folder(place))}, **sections)


def files_in(place: Path) -> DataFiles:
    return DataFiles(
        (write_records(place / "train.jsonl", records()[:9]),), (write_records(place / "val.jsonl", records()[9:]),)
    )


def run_here(place: Path, config: TrainingConfig, out: str = "run", **options):
    return train(config, files_in(place), place / out, device="cpu", rows_cache=place / "rows", log_every=1, **options)


def test_a_run_leaves_an_adapter_a_log_and_what_it_was(tmp_path: Path) -> None:
    result = run_here(tmp_path, config_for(tmp_path, epochs=2))
    summary = json.loads((tmp_path / "run" / "run.json").read_text())
    assert summary["rows"]["rows"] == 9
    assert summary["rows"]["questions"] == 18
    assert (tmp_path / "run" / "best" / "adapter_model.safetensors").is_file()
    events = read_events(tmp_path / "run")
    assert events[0]["event"] == "start"
    assert any(event["event"] == "validation" for event in events)
    assert result.progress.epochs_done == pytest.approx(2.0)


def test_a_killed_run_goes_on_to_the_same_loss_curve(tmp_path: Path) -> None:
    config = config_for(tmp_path, epochs=4, every_steps=2)
    run_here(tmp_path, config, "whole")
    files = files_in(tmp_path)
    script = tmp_path / "victim.py"
    script.write_text(
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from forthwith.training.config import TrainingConfig\n"
        "from forthwith.training.run import DataFiles, train\n"
        "def die(event):\n"
        "    if event.get('step') == 5: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"config = TrainingConfig.model_validate_json({config.model_dump_json()!r})\n"
        f"files = DataFiles((Path({str(files.train[0])!r}),), (Path({str(files.validation[0])!r}),))\n"
        f"train(config, files, {str(tmp_path / 'killed')!r}, device='cpu', rows_cache=Path({str(tmp_path / 'rows')!r}),"
        " log_every=1, report=die)\n"
    )
    died = subprocess.run(
        [sys.executable, str(script)], env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True
    )
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()[-2000:]
    run_here(tmp_path, config, "killed", resume=True)
    whole, again = (
        {event["step"]: event["loss"] for event in read_events(tmp_path / name) if event["event"] == "step"}
        for name in ("whole", "killed")
    )
    assert again == pytest.approx(whole, rel=1e-5)
    assert len(whole) >= 8


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "other.txt").write_text("mine")
    with pytest.raises(ArtifactError, match="not empty"):
        run_here(tmp_path, config_for(tmp_path))


def test_a_state_over_the_limit_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"'w\d+' cannot be trained on: its longest path has \d+ tokens and the limit is 40"
    ):
        run_here(tmp_path, config_for(tmp_path, batching={"max_tokens": 40}))


def test_overlong_states_can_be_left_out_and_are_counted(tmp_path: Path) -> None:
    config = config_for(tmp_path, batching={"max_tokens": 40, "overlong": "skip"})
    with pytest.raises(DataError, match="none of the 3 records gives a row"):
        run_here(tmp_path, config)


def test_a_label_outside_the_options_names_its_line(tmp_path: Path) -> None:
    bad = json.loads((write_records(tmp_path / "a.jsonl", records()[:1])).read_text())
    bad["targets"]["kind"]["label"] = "stone"
    (tmp_path / "bad.jsonl").write_text(json.dumps(bad) + "\n")
    with pytest.raises(DataError, match=r"bad.jsonl:1: targets.kind.label: 'stone' is not an option"):
        train(config_for(tmp_path), DataFiles((tmp_path / "bad.jsonl",)), tmp_path / "run", device="cpu")


def test_validation_states_in_the_training_data_are_refused(tmp_path: Path) -> None:
    same = write_records(tmp_path / "same.jsonl", records())
    with pytest.raises(DataError, match="12 states of the validation data stand in the training data"):
        train(config_for(tmp_path), DataFiles((same,), (same,)), tmp_path / "run", device="cpu")


def test_a_target_module_the_base_lacks_is_named(tmp_path: Path) -> None:
    config = config_for(tmp_path, lora={"targets": ["q_proj", "in_proj_qkv"]})
    with pytest.raises(ConfigError, match="no linear module 'in_proj_qkv'; it has"):
        run_here(tmp_path, config)
