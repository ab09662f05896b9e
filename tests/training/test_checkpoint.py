"""A checkpoint is whole or absent, and a disk that fills loses nothing."""

import json
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from training_runs import prepared_tiny

from forthwith.errors import ArtifactError
from forthwith.training import run
from forthwith.training.adapters import adapter_state, trainable_parameters
from forthwith.training.checkpoint import Checkpoints, Progress
from forthwith.training.forward import TreeForward
from forthwith.training.streaming import Position


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Writes beyond `size` bytes fail, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def started(place: Path) -> tuple[TreeForward, torch.optim.AdamW]:
    forward = prepared_tiny(place).forward
    optimiser = torch.optim.AdamW(trainable_parameters(forward), lr=0.1)
    for parameter in trainable_parameters(forward):
        parameter.grad = torch.ones_like(parameter)
    optimiser.step()
    return forward, optimiser


def test_everything_comes_back(tmp_path: Path) -> None:
    forward, optimiser = started(tmp_path)
    kept = Checkpoints(tmp_path / "run", {"[lora]": "print"}, "base")
    kept.save(forward, optimiser, Progress(step=3, position=Position(1, 2, 3), best=0.5))
    other = prepared_tiny(tmp_path).forward
    fresh = torch.optim.AdamW(trainable_parameters(other), lr=0.2)
    progress = kept.restore(other, fresh)
    assert progress == Progress(step=3, position=Position(1, 2, 3), best=0.5)
    expected, found = adapter_state(forward.model), adapter_state(other.model)
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert fresh.param_groups[0]["lr"] == 0.1
    first = optimiser.state[trainable_parameters(forward)[0]]["exp_avg"]
    assert torch.equal(fresh.state[trainable_parameters(other)[0]]["exp_avg"], first)


def test_a_full_disk_keeps_the_state_before(tmp_path: Path) -> None:
    forward, optimiser = started(tmp_path)
    kept = Checkpoints(tmp_path / "run", {"[lora]": "print"}, "base")
    kept.save(forward, optimiser, Progress(step=1))
    with files_up_to(2000), pytest.raises(ArtifactError, match=r"cannot be written.*the state before is kept"):
        kept.save(forward, optimiser, Progress(step=2))
    assert json.loads((kept.last / "state.json").read_text())["progress"]["step"] == 1
    assert kept.restore(forward, optimiser).step == 1
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["last"]


def test_a_replacement_that_was_cut_off_is_undone(tmp_path: Path) -> None:
    forward, optimiser = started(tmp_path)
    kept = Checkpoints(tmp_path / "run", {"[lora]": "print"}, "base")
    kept.save(forward, optimiser, Progress(step=1))
    kept.last.rename(tmp_path / "run" / ".last.old")
    (tmp_path / "run" / ".last.partial").mkdir()
    assert kept.restore(forward, optimiser).step == 1


def test_too_little_room_is_said_before_the_run_starts(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="MB free and the checkpoints of this run need"):
        run.check_room(tmp_path, 10**18)
