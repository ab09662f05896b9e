"""A test set sealed by hash before any model runs on it: hashes and counts that anybody can check later.

For each file: its bytes, its prompts alone, its labels alone. A sealed split can be committed to by counts and hashes
only, without naming its contents.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from forthwith.errors import ArtifactError, DataError
from forthwith.personal.privacy_scan import iter_json_objects
from forthwith.schema import Record, parse_record

__all__ = ["Commitment", "CommittedFile", "commit_files", "read_commitment", "verify_commitment", "write_commitment"]

_LABELS = ("label", "soft_label", "target")


class CommittedFile(BaseModel):
    """Hashes and counts of one file of records. `prompts_sha256` covers ids, states and questions without labels."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    sha256: str
    bytes: int
    records: int
    questions: int
    scorable: int
    families: dict[str, int]
    scorable_by_family: dict[str, int]
    users: int
    prompts_sha256: str
    labels_sha256: str


class Commitment(BaseModel):
    """What was committed to, when, and by which recipe."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_name: Literal["forthwith/test-commitment/1"] = "forthwith/test-commitment/1"
    committed_at: str
    preregistration_sha256: str | None
    files: tuple[CommittedFile, ...]
    joined_sha256: str
    recipe: dict[str, Any]
    attachments: dict[str, str]


@dataclass
class _Tally:
    records: int = 0
    questions: Counter[str] = field(default_factory=Counter[str])
    scorable: Counter[str] = field(default_factory=Counter[str])
    users: set[str] = field(default_factory=set[str])


def commit_files(
    files: Iterable[str | Path],
    *,
    committed_at: str,
    recipe: Mapping[str, Any] | None = None,
    preregistration: str | Path | None = None,
    attachments: Iterable[str | Path] = (),
) -> Commitment:
    """Hash the files in the order given.

    Args:
        files: files of records in Pev's layout; the scored set is their concatenation.
        committed_at: the time, as ISO 8601.
        recipe: how they were made: seed, weights, style hash, split and world.
        preregistration: the analysis plan, hashed when given.
        attachments: receipts, audit and leakage reports, known by their hash.

    Raises:
        DataError: a file cannot be read or a line is not a record (path and line).
    """
    paths = [Path(path) for path in files]
    return Commitment(
        committed_at=committed_at,
        preregistration_sha256=None if preregistration is None else _sha256(Path(preregistration)),
        files=tuple(_committed(path) for path in paths),
        joined_sha256=_joined_sha256(paths),
        recipe=dict(recipe or {}),
        attachments={Path(path).name: _sha256(Path(path)) for path in attachments},
    )


def write_commitment(commitment: Commitment, path: str | Path) -> Path:
    """Write the commitment; an existing one is never replaced.

    Raises:
        ArtifactError: the file is there already.
    """
    path = Path(path)
    if path.exists():
        raise ArtifactError(f"{path} exists; a commitment is made once, give another name or delete it knowingly")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(commitment.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return path


def read_commitment(path: str | Path) -> Commitment:
    """The commitment in a file.

    Raises:
        DataError: it cannot be read or is not one.
    """
    try:
        return Commitment.model_validate_json(Path(path).read_bytes())
    except (OSError, ValidationError) as error:
        raise DataError(f"is not a commitment: {error}", path) from error


def verify_commitment(commitment: Commitment, files: Iterable[str | Path]) -> tuple[str, ...]:
    """Check files against the commitment, each by its name.

    Returns:
        Names of committed files that were not given.

    Raises:
        ArtifactError: a file is not in the commitment, or differs in bytes, prompts, labels or counts; names the first difference.
        DataError: a file is missing.
    """
    committed = {expected.name: expected for expected in commitment.files}
    paths = [Path(file) for file in files]
    for path in paths:
        expected = committed.get(path.name)
        if expected is None:
            raise ArtifactError(f"{path} is not in the commitment, which names {', '.join(committed)}")
        if not path.is_file():
            raise DataError("is missing; it was committed to", path)
        found = _committed(path)
        for name, value in expected.model_dump().items():
            if getattr(found, name) != value:
                raise ArtifactError(f"{path} is not the committed file: {name} differs", value, getattr(found, name))
    return tuple(name for name in committed if name not in {path.name for path in paths})


def _committed(path: Path) -> CommittedFile:
    tally = _Tally()
    prompts, labels = hashlib.sha256(), hashlib.sha256()
    for line, raw in iter_json_objects(path):
        try:
            record = parse_record(raw, fallback_id=f"line-{line}")
        except Exception as error:
            raise DataError(f"is not a record: {error}", path, line) from error
        _count(tally, record)
        prompt, answer = _parts(raw)
        prompts.update(prompt)
        labels.update(answer)
    return CommittedFile(
        name=path.name,
        sha256=_sha256(path),
        bytes=path.stat().st_size,
        records=tally.records,
        questions=tally.questions.total(),
        scorable=tally.scorable.total(),
        families=dict(sorted(tally.questions.items())),
        scorable_by_family=dict(sorted(tally.scorable.items())),
        users=len(tally.users),
        prompts_sha256=prompts.hexdigest(),
        labels_sha256=labels.hexdigest(),
    )


def _count(tally: _Tally, record: Record) -> None:
    tally.records += 1
    if record.user_id is not None:
        tally.users.add(record.user_id)
    for qid in record.questions:
        family = record.family(qid)
        tally.questions[family] += 1
        target = record.targets.get(qid)
        tally.scorable[family] += target is not None and not target.is_ambiguous()


def _parts(raw: dict[str, Any]) -> tuple[bytes, bytes]:
    """One line of prompt and one of labels, for hashing."""
    questions = cast("dict[str, dict[str, Any]]", raw.get("questions") or {})
    bare = {qid: {k: v for k, v in question.items() if k not in _LABELS} for qid, question in questions.items()}
    answers = {qid: {k: question[k] for k in _LABELS if k in question} for qid, question in questions.items()}
    prompt = {"id": raw.get("id"), "state": raw.get("state"), "questions": bare}
    return _line(prompt), _line({"id": raw.get("id"), "labels": answers, "targets": raw.get("targets")})


def _line(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False) + "\n").encode()


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot be read: {error}", path) from error


def _joined_sha256(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
