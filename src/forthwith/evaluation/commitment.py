"""A promise about data made before they are opened: hashes and counts in a file, and a mark once a gate was used."""

from __future__ import annotations

import hashlib
import os
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from forthwith.errors import ArtifactError, DataError

__all__ = [
    "Commitment",
    "CommittedFile",
    "check_commitment",
    "commit",
    "mark_used",
    "read_commitment",
    "write_commitment",
]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CommittedFile(_Frozen):
    """One file, by content: its role, SHA-256, size and number of lines that are not blank."""

    role: str
    sha256: str
    n_bytes: int
    n_lines: int


class Commitment(_Frozen):
    """Files by role and, where given, the gate that they will be judged by."""

    format: Literal["forthwith-commitment/1"] = "forthwith-commitment/1"
    created: str
    files: list[CommittedFile] = Field(min_length=1)
    gate_sha256: str | None = None

    @property
    def sha256(self) -> str:
        """Identity of the commitment: the hash of its JSON."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


def commit(files: dict[str, Path], *, created: datetime, gate: Path | None = None) -> Commitment:
    """Hash and count files, without looking at what is in them.

    Args:
        files: role → path, for instance `{"data": hidden.jsonl}`.
        created: the time to write down.
        gate: the gate specification to bind.

    Raises:
        DataError: a file cannot be read or has no lines.
    """
    listed = [_measure(role, path) for role, path in sorted(files.items())]
    gate_hash = None if gate is None else _measure("gate", gate).sha256
    return Commitment(created=created.isoformat(timespec="seconds"), files=listed, gate_sha256=gate_hash)


def write_commitment(commitment: Commitment, path: str | Path) -> None:
    """Write a commitment to a new file.

    Raises:
        ArtifactError: the file exists; a commitment is not changed afterwards.
    """
    try:
        with Path(path).open("x", encoding="utf-8") as file:
            file.write(commitment.model_dump_json(indent=2) + "\n")
    except FileExistsError as error:
        raise ArtifactError(f"{path} exists; a commitment is never overwritten, choose another name") from error


def read_commitment(path: str | Path) -> Commitment:
    """A commitment from its file.

    Raises:
        ArtifactError: missing, or no commitment.
    """
    try:
        return Commitment.model_validate_json(Path(path).read_bytes())
    except OSError as error:
        raise ArtifactError(f"commitment {path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ArtifactError(f"{path} is no commitment: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def check_commitment(commitment: Commitment, files: dict[str, Path], gate: Path | None = None) -> None:
    """Refuse files, or a gate, that are not those committed to. Messages carry hashes and counts, never content.

    Raises:
        ArtifactError: a role is missing or additional, or a hash differs.
    """
    committed = {item.role: item for item in commitment.files}
    if set(committed) != set(files):
        raise ArtifactError("the files do not have the committed roles", sorted(committed), sorted(files))
    for role, path in sorted(files.items()):
        found = _measure(role, path)
        if found != committed[role]:
            expected = committed[role]
            raise ArtifactError(
                f"the {role} file is not the committed one (committed {expected.n_lines} lines, found {found.n_lines})",
                expected.sha256,
                found.sha256,
            )
    if commitment.gate_sha256 is not None:
        found_gate = None if gate is None else _measure("gate", gate).sha256
        if found_gate != commitment.gate_sha256:
            raise ArtifactError("the gate is not the committed one", commitment.gate_sha256, found_gate)


def mark_used(commitment: Commitment, path: str | Path, *, when: datetime) -> Path:
    """Write down, before any data are read, that a one-shot gate is being used; a second use is refused.

    The mark is created in one step that fails if it exists, so that of two runs at once only one goes on, and a run that
    dies afterwards has still used its shot.

    Args:
        commitment: what is judged.
        path: of the commitment file; the mark stands beside it.
        when: the time to write down.

    Raises:
        ArtifactError: the gate was used before; names when.
    """
    mark = Path(path).with_name(Path(path).name + ".used")
    try:
        descriptor = os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
    except FileExistsError as error:
        earlier = mark.read_text(encoding="utf-8").strip()
        raise ArtifactError(f"this one-shot gate was used before ({earlier}); commit to new data") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"used {when.isoformat(timespec='seconds')} commitment {commitment.sha256}\n")
        file.flush()
        os.fsync(file.fileno())
    return mark


def _measure(role: str, path: Path) -> CommittedFile:
    digest, n_bytes, n_lines = hashlib.sha256(), 0, 0
    try:
        with Path(path).open("rb") as file:
            for line in file:
                digest.update(line)
                n_bytes += len(line)
                n_lines += bool(line.strip())
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path) from error
    if not n_lines:
        raise DataError("is empty; there is nothing to commit to", path)
    return CommittedFile(role=role, sha256=digest.hexdigest(), n_bytes=n_bytes, n_lines=n_lines)
