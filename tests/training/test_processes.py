"""Two processes share a run's work and come to the losses of one."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from training_runs import config_of, model_folder, records, write_records

from forthwith.training.event_log import read_events
from forthwith.training.run import DataFiles, train

SCRIPT = """
import sys
from pathlib import Path
from forthwith.training.config import TrainingConfig
from forthwith.training.run import DataFiles, train
config, place, out = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
train(TrainingConfig.model_validate_json(config), DataFiles((place / "train.jsonl",)), place / out, device="cpu",
      rows_cache=place / "rows", log_every=1)
"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run_processes(place: Path, config: str, out: str, count: int) -> None:
    common = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(count),
              "OMP_NUM_THREADS": "1"}  # fmt: skip
    started = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, config, str(place), out], stderr=subprocess.PIPE,
            env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(count)
    ]  # fmt: skip
    for process in started:
        _, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors.decode()[-3000:]


def losses(folder: Path) -> dict[int, float]:
    return {event["step"]: event["loss"] for event in read_events(folder) if event["event"] == "step"}


@pytest.mark.slow
@pytest.mark.parametrize("shards", [False, True])
def test_two_processes_come_to_the_losses_of_one(tmp_path: Path, shards: bool) -> None:
    write_records(tmp_path / "train.jsonl", records())
    config = config_of(
        epochs=2, base={"model": str(model_folder(tmp_path))}, lora={"rank": 4},
        batching={"row_tokens": 300, "step_questions": 10, "chunk_records": 6}, runtime={"shard": shards},
    )  # fmt: skip
    alone = config.model_copy(update={"runtime": config.runtime.model_copy(update={"shard": False})})
    train(
        alone,
        DataFiles((tmp_path / "train.jsonl",)),
        tmp_path / "one",
        device="cpu",
        rows_cache=tmp_path / "rows",
        log_every=1,
    )
    run_processes(tmp_path, config.model_dump_json(), "two", 2)
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), rel=1e-4)
    assert len(losses(tmp_path / "one")) >= 4
