"""A gate on files, its commitment and its one shot."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from scripted import LOCAL, ScriptedDecider

from forthwith.errors import ArtifactError, ConfigError
from forthwith.evaluation.commitment import commit, write_commitment
from forthwith.evaluation.document import ModelFiles
from forthwith.evaluation.judge import GateFiles, gate_path, judge_files
from forthwith.evaluation.predict import predict
from forthwith.schema import Request

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
GATE = """
format = "forthwith-gate/1"
name = "two checks"
one_shot = {one_shot}
resamples = 200
[[checks]]
name = "macro gain"
kind = "difference"
at_least = 0.05
[[checks]]
name = "gain is real"
kind = "interval"
low_above = 0.0
"""


def knows(share: int):
    """A model that is right unless the state's number is a multiple of `share`."""

    def scores(request: Request, qid: str) -> list[float]:
        number = int(str(request.state).rpartition(" ")[2])
        return [0.0, -2.0 if number % share == 0 else 2.0]

    return scores


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    question = {"q": {"type": "noul", "instructions": "?"}}
    rows = [
        {
            "id": f"r{n}",
            "task": f"t{n % 2}",
            "state": f"s {n}",
            "questions": question,
            "targets": {"q": {"label": "yes"}},
        }
        for n in range(60)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def files(data: Path) -> GateFiles:
    found = {}
    for name, share in (("good", 100), ("poor", 3)):
        found[name] = ModelFiles(data.with_name(f"{name}.jsonl"))
        predict(data, ScriptedDecider(scores=knows(share), name=name, binding=LOCAL), found[name].predictions)
    return GateFiles(data, found["good"], found["poor"])


def gate(tmp_path: Path, *, one_shot: bool = False) -> Path:
    path = tmp_path / "gate.toml"
    path.write_text(GATE.format(one_shot=str(one_shot).lower()))
    return path


def test_a_better_candidate_passes_and_a_worse_one_fails(files: GateFiles, tmp_path: Path) -> None:
    report = judge_files(gate(tmp_path), files, when=NOW)
    assert report.passed
    assert report.macro.difference == pytest.approx(20 / 60 - 1 / 60)
    worse = judge_files(gate(tmp_path), GateFiles(files.data, files.baseline, files.candidate), when=NOW)
    assert not worse.passed
    assert [check.passed for check in worse.checks] == [False, False]


def test_one_shot_is_used_up_and_says_when(files: GateFiles, tmp_path: Path) -> None:
    spec, commitment = gate(tmp_path, one_shot=True), tmp_path / "commitment.json"
    with pytest.raises(ConfigError, match="give the commitment"):
        judge_files(spec, files, when=NOW)
    write_commitment(commit({"data": files.data}, created=NOW, gate=spec), commitment)
    assert judge_files(spec, files, when=NOW, commitment=commitment).passed
    with pytest.raises(ArtifactError, match=r"used before .*2030-01-02"):
        judge_files(spec, files, when=NOW, commitment=commitment)


def test_what_was_not_committed_is_refused_before_the_shot_is_used(files: GateFiles, tmp_path: Path) -> None:
    spec, commitment = gate(tmp_path, one_shot=True), tmp_path / "commitment.json"
    write_commitment(commit({"data": files.data}, created=NOW, gate=spec), commitment)
    spec.write_text(spec.read_text().replace("0.05", "0.01"))
    with pytest.raises(ArtifactError, match="the gate is not the committed one"):
        judge_files(spec, files, when=NOW, commitment=commitment)
    spec = gate(tmp_path, one_shot=True)
    files.data.write_text(files.data.read_text().replace('"yes"', '"no"', 1))
    with pytest.raises(ArtifactError, match="predicted from other data"):
        judge_files(spec, files, when=NOW, commitment=commitment)
    assert not commitment.with_name("commitment.json.used").exists()


@pytest.mark.parametrize(
    ("check", "lack"),
    [('kind = "coverage"\nabove_baseline_by = 0.0', "thresholds"), ('kind = "guard"\nat_least = 0.0', "guard set")],
)
def test_what_a_check_lacks_is_said_before_the_shot_is_used(
    files: GateFiles, tmp_path: Path, check: str, lack: str
) -> None:
    spec, commitment = gate(tmp_path, one_shot=True), tmp_path / "commitment.json"
    spec.write_text(f'{spec.read_text()}\n[[checks]]\nname = "more"\n{check}\n')
    write_commitment(commit({"data": files.data}, created=NOW, gate=spec), commitment)
    with pytest.raises(ConfigError, match=lack):
        judge_files(spec, files, when=NOW, commitment=commitment)
    assert not commitment.with_name("commitment.json.used").exists()


def test_shipped_gates_go_by_name(tmp_path: Path) -> None:
    assert gate_path("pev").name == "pev.toml"
    assert gate_path(gate(tmp_path)) == tmp_path / "gate.toml"
    with pytest.raises(ConfigError, match=r"no gate 'other'.*pev"):
        gate_path("other")
