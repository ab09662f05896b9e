"""A commitment is made once and notices every later change."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from forthwith.errors import ArtifactError, DataError
from forthwith.personal.commitment import commit_files, read_commitment, verify_commitment, write_commitment


def _record(number: int, *, soft: bool = False, label: bool = True, state: str = "s") -> dict[str, Any]:
    question: dict[str, Any] = {"type": "noul", "instructions": "ask?", "label": label, "src": "pd/needs_approval"}
    if soft:
        question["soft_label"] = {"true": 0.5, "false": 0.5}
    return {"id": f"r{number}", "state": state, "questions": {"q": question}, "meta": {"user_id": f"u{number % 2}"}}


def _write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _commit(files: list[Path]):
    return commit_files(files, committed_at="2026-12-01T12:00:00Z", recipe={"seed": 20261004})


def test_counts_and_hashes_of_both_halves(tmp_path: Path):
    first = _write(tmp_path / "a.jsonl", [_record(0), _record(1, soft=True)])
    second = _write(tmp_path / "b.jsonl", [_record(2)])
    commitment = _commit([first, second])
    a, b = commitment.files
    assert (a.records, a.questions, a.scorable, a.users) == (2, 2, 1, 2)
    assert a.families == {"needs_approval": 2}
    assert (b.records, b.scorable_by_family) == (1, {"needs_approval": 1})
    assert commitment.recipe == {"seed": 20261004}
    whole = _write(tmp_path / "ab.jsonl", [_record(0), _record(1, soft=True), _record(2)])
    assert commitment.joined_sha256 == _commit([whole]).files[0].sha256


def test_prompts_and_labels_are_hashed_apart(tmp_path: Path):
    base = _commit([_write(tmp_path / "a.jsonl", [_record(0)])]).files[0]
    label = _commit([_write(tmp_path / "b.jsonl", [_record(0, label=False)])]).files[0]
    prompt = _commit([_write(tmp_path / "c.jsonl", [_record(0, state="t")])]).files[0]
    assert (label.prompts_sha256 == base.prompts_sha256, label.labels_sha256 == base.labels_sha256) == (True, False)
    assert (prompt.prompts_sha256 == base.prompts_sha256, prompt.labels_sha256 == base.labels_sha256) == (False, True)


def test_it_is_written_once_read_back_and_verified(tmp_path: Path):
    file = _write(tmp_path / "a.jsonl", [_record(0)])
    commitment = _commit([file])
    path = write_commitment(commitment, tmp_path / "COMMITMENT.json")
    with pytest.raises(ArtifactError, match="made once"):
        write_commitment(commitment, path)
    assert verify_commitment(read_commitment(path), [file]) == ()
    _write(file, [_record(0, label=False)])
    with pytest.raises(ArtifactError, match="sha256 differs"):
        verify_commitment(commitment, [file])
    file.unlink()
    with pytest.raises(DataError, match="is missing"):
        verify_commitment(commitment, [file])


def test_exactly_the_files_that_are_named_are_checked(tmp_path: Path):
    one, two = _write(tmp_path / "a.jsonl", [_record(0)]), _write(tmp_path / "b.jsonl", [_record(1)])
    other = _write(tmp_path / "other.jsonl", [_record(0)])
    commitment = _commit([one, two])
    assert verify_commitment(commitment, [one]) == ("b.jsonl",)
    with pytest.raises(ArtifactError, match=r"other\.jsonl is not in the commitment, which names a\.jsonl, b\.jsonl"):
        verify_commitment(commitment, [one, other])


def test_attachments_and_the_preregistration_are_known_by_hash(tmp_path: Path):
    file = _write(tmp_path / "a.jsonl", [_record(0)])
    plan = tmp_path / "plan.md"
    plan.write_text("H1")
    commitment = commit_files([file], committed_at="t", preregistration=plan, attachments=[plan])
    assert commitment.preregistration_sha256 == hashlib.sha256(b"H1").hexdigest()
    assert commitment.attachments == {"plan.md": commitment.preregistration_sha256}


def test_broken_files_are_named(tmp_path: Path):
    with pytest.raises(DataError) as caught:
        _commit([_write(tmp_path / "a.jsonl", [_record(0), {"id": "x", "state": "s"}])])
    assert caught.value.line == 2
    (tmp_path / "c.json").write_text("{}")
    with pytest.raises(DataError, match="not a commitment"):
        read_commitment(tmp_path / "c.json")
