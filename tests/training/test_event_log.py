"""Events go to a file, and their numbers to whatever board is installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from forthwith.training.event_log import EventLog, read_events

EVENTS = [
    {"event": "start", "config": "tiny"},
    {"event": "step", "step": 1, "loss": 2.0, "allowed_mass": None},
    {"event": "step", "step": 2, "loss": 1.5, "allowed_mass": 0.5},
    {"event": "validation", "step": 2, "accuracy": 0.75, "keeps_guard": True},
]

IN_A_PROCESS = """
import json, sys
from pathlib import Path
from forthwith.training.event_log import EventLog
with EventLog(Path(sys.argv[1])) as log:
    for event in json.loads(sys.argv[2]):
        log.write(event)
"""


def test_events_are_read_back_and_a_step_logged_again_counts_once(tmp_path: Path) -> None:
    with EventLog(tmp_path) as log:
        for event in EVENTS:
            log.write(event)
    with EventLog(tmp_path) as log:
        log.write({"event": "step", "step": 2, "loss": 1.25})
    found = read_events(tmp_path)
    assert [event.get("loss") for event in found if event["event"] == "step"] == [2.0, 1.25]
    with EventLog(tmp_path, is_writing=False) as log:
        log.write(EVENTS[1])
    assert read_events(tmp_path) == found


def test_numbers_reach_trackio_under_the_runs_name(tmp_path: Path) -> None:
    pytest.importorskip("trackio")
    run, place = tmp_path / "run-7", tmp_path / "boards"
    run.mkdir()
    environment = {"TRACKIO_DIR": str(place), "PATH": "", "HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", IN_A_PROCESS, str(run), json.dumps(EVENTS)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    read = (
        "import json; from trackio.sqlite_storage import SQLiteStorage as storage;"
        "print(json.dumps([storage.get_runs('forthwith'), storage.get_logs('forthwith', 'run-7')]))"
    )
    shown = subprocess.run([sys.executable, "-c", read], env=environment, capture_output=True, text=True, check=True)
    names, history = json.loads(shown.stdout.splitlines()[-1])
    assert names == ["run-7"]
    numbers = [(line["step"], key, value) for line in history for key, value in line.items() if "/" in key]
    assert sorted(numbers) == [
        (1, "step/loss", 2.0), (2, "step/allowed_mass", 0.5), (2, "step/loss", 1.5), (2, "validation/accuracy", 0.75),
    ]  # fmt: skip


def test_a_board_that_does_not_start_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trackio.py").write_text("raise OSError('read-only home')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "trackio", raising=False)
    with EventLog(tmp_path) as log:
        log.write(EVENTS[1])
    assert read_events(tmp_path) == [EVENTS[1]]
