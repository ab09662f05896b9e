"""Test sets with known faults, and what is said about them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scripted import ScriptedDecider, hashed_scores

from forthwith.errors import ArtifactError, DataError
from forthwith.evaluation.predict import predict
from forthwith.evaluation.soundness import ValidityOptions, check_validity
from forthwith.schema import Request

FEW = ValidityOptions(n_resamples=200)


def write(path: Path, *, leak: bool = False, lopsided: bool = False, count: int = 200) -> Path:
    """Four options a question; the right one is drawn evenly, or is `a` mostly, or is described at greater length."""
    stream = np.random.default_rng(0)
    rows = []
    for n in range(count):
        right = "a" if lopsided and n % 4 else "abcd"[int(stream.integers(4))]
        criteria = {key: f"option {key}" + (" indeed" if leak and key == right else "") for key in "abcd"}
        question = {"type": "choice", "instructions": "Pick", "criteria": criteria}
        rows.append(
            {
                "id": f"r{n}",
                "task": "pick",
                "state": f"s {n} {right}",
                "questions": {"q": question},
                "targets": {"q": {"label": right}},
            }
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def reads_the_state(request: Request, qid: str) -> list[float]:
    return [2.0 if str(request.state).endswith(key) else 0.0 for key in "abcd"]


def test_an_even_set_is_sound_without_any_model(tmp_path: Path) -> None:
    report = check_validity(write(tmp_path / "even.jsonl"), options=FEW)
    assert report.oracle.accuracy == 1.0
    assert report.null_baselines["pick"].chance == pytest.approx(0.25)
    assert report.null_baselines["pick"].permuted is None
    assert report.ladder == []
    assert report.noise_floor == {}
    # the one shortcut that reads the state finds the letter that gives the answer, and is meant to
    assert report.findings == ["pick: the shortcut 'most words of the state' gives 1.000, chance is 0.250"]


def test_lopsided_labels_and_words_that_give_the_answer_away_are_found(tmp_path: Path) -> None:
    lopsided = check_validity(write(tmp_path / "lopsided.jsonl", lopsided=True), options=FEW)
    assert any("labels are not balanced" in finding for finding in lopsided.findings)
    leaking = check_validity(write(tmp_path / "leak.jsonl", leak=True), options=FEW)
    assert leaking.blind["pick"].accuracy == 1.0
    assert leaking.shortcuts["pick"]["longest option"].accuracy == 1.0
    assert any(finding.startswith("pick: words of the question alone give 1.000") for finding in leaking.findings)


def test_a_ladder_rises_and_a_fallen_one_is_a_finding(tmp_path: Path) -> None:
    data = write(tmp_path / "even.jsonl")
    files = []
    for name, scores in (("guesses", hashed_scores), ("reads", reads_the_state)):
        predict(data, ScriptedDecider(scores=scores, name=name), tmp_path / f"{name}.jsonl")
        files.append(tmp_path / f"{name}.jsonl")
    rising = check_validity(data, files, FEW)
    assert [(step.weaker, step.stronger, step.is_sound) for step in rising.ladder] == [("guesses", "reads", True)]
    assert rising.noise_floor["macro"].accuracy == pytest.approx(0.25, abs=0.1)
    falling = check_validity(data, files[::-1], FEW)
    assert any("guesses does worse than reads (pick)" in finding for finding in falling.findings)


def test_other_data_and_unlabelled_data_are_refused(tmp_path: Path) -> None:
    data = write(tmp_path / "even.jsonl")
    predict(data, ScriptedDecider(), tmp_path / "p.jsonl")
    with pytest.raises(ArtifactError, match="predicted from other data"):
        check_validity(write(tmp_path / "other.jsonl", count=20), [tmp_path / "p.jsonl"], FEW)
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"id": "r", "state": "s", "questions": {"q": {"type": "noul", "instructions": "?"}}}\n')
    with pytest.raises(DataError, match="has a target"):
        check_validity(bare, options=FEW)
