"""The growing prediction file: appended batch by batch, read again after a crash, never of two configurations.

Beside `preds.jsonl` stands `preds.jsonl.meta.json`, which says what data and which model the lines belong to.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from forthwith.calibration import Binding
from forthwith.errors import ArtifactError, ConfigError, DataError
from forthwith.evaluation.predictions import Prediction

__all__ = [
    "Fingerprint",
    "PredictionFile",
    "PredictionMeta",
    "Refusal",
    "file_sha256",
    "meta_path",
    "model_names",
    "read_meta",
]


class Fingerprint(BaseModel):
    """What the lines of a prediction file depend on: the bytes of the data, and whatever log-scores depend on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data_sha256: str
    model: str
    binding: Binding

    def differences(self, other: Fingerprint) -> list[str]:
        """One line for each thing that differs, this one's value first."""
        mine: dict[str, Any] = {"data": self.data_sha256, "model": self.model, **self.binding.model_dump()}
        others: dict[str, Any] = {"data": other.data_sha256, "model": other.model, **other.binding.model_dump()}
        return [f"{name} {mine[name]!r} != {others[name]!r}" for name in mine if mine[name] != others[name]]


class Refusal(BaseModel):
    """A line or record that got no prediction, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    where: str
    reason: str


class PredictionMeta(BaseModel):
    """The sidecar of a prediction file.

    `answered_by` is the model and bundle that a remote address said it was; a name such as "latest" may move, and answers
    of two models are never mixed. `cost_usd` comes from the price given, else from what the server charged.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["forthwith-predictions/1"] = "forthwith-predictions/1"
    fingerprint: Fingerprint
    bundle_id: str = ""
    answered_by: str | None = None
    data: str
    complete: bool = False
    records: int = 0
    questions: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    runs: int = 1
    refused: int = 0
    refusals: list[Refusal] = Field(default_factory=list[Refusal])


class _Existing(NamedTuple):
    done: set[tuple[str, str]]
    input_tokens: int
    cached_tokens: int
    end: int


def meta_path(predictions: str | Path) -> Path:
    """Where the sidecar of a prediction file lies."""
    path = Path(predictions)
    return path.with_name(path.name + ".meta.json")


def file_sha256(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hex.

    Raises:
        DataError: it cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path) from error


def read_meta(predictions: str | Path) -> PredictionMeta:
    """The sidecar of a prediction file.

    Raises:
        ArtifactError: there is none, or it is broken.
    """
    meta = _read_meta(Path(predictions))
    if meta is None:
        raise ArtifactError(f"{meta_path(predictions)} is missing, so what {predictions} belongs to is unknown")
    return meta


def model_names(predictions: Sequence[str | Path]) -> list[str]:
    """What to call the models of several prediction files: the model's name, or the file's where two share one.

    Raises:
        ArtifactError: a sidecar is missing or broken.
    """
    models = [read_meta(path).fingerprint.model for path in predictions]
    return [
        model if models.count(model) == 1 else Path(path).name.removesuffix(".jsonl")
        for path, model in zip(predictions, models, strict=True)
    ]


class PredictionFile:
    """An open prediction file. Use as a context manager; only one process writes a file at a time.

    Attributes:
        done: (record id, question id) of every line there is.
        meta: the sidecar as it was found, or None for a fresh file.
    """

    def __init__(self, path: str | Path, fingerprint: Fingerprint) -> None:
        """Open or create the file; cut off a torn last line.

        Raises:
            ArtifactError: the lines there are belong to another configuration, or nothing says to which.
            DataError: a line within the file is broken.
            ConfigError: another process is writing the file.
        """
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab")
        try:
            _lock(self._file, self.path)
            self.meta = _read_meta(self.path)
            _check_same(self.path, self.meta, fingerprint)
            existing = _scan(self.path)
            if existing.end < self.path.stat().st_size:
                os.truncate(self.path, existing.end)
        except BaseException:
            self._file.close()
            raise
        self.done = existing.done
        self.input_tokens, self.cached_tokens = existing.input_tokens, existing.cached_tokens

    def append(self, predictions: Sequence[Prediction]) -> None:
        """Add lines; when this returns they are on the disk."""
        self._file.write(b"".join(line.model_dump_json().encode() + b"\n" for line in predictions))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.done.update((line.id, line.qid) for line in predictions)
        self.input_tokens += sum(line.input_tokens for line in predictions)
        self.cached_tokens += sum(line.cached_tokens for line in predictions)

    def write_meta(self, meta: PredictionMeta) -> None:
        """Replace the sidecar, whole or not at all."""
        target = meta_path(self.path)
        fresh = target.with_name(target.name + ".new")
        fresh.write_text(meta.model_dump_json(indent=2) + "\n", encoding="utf-8")
        fresh.replace(target)

    def close(self) -> None:
        """Close the file and let others write it."""
        self._file.close()

    def __enter__(self) -> PredictionFile:
        """The file itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()


def _lock(file: IO[bytes], path: Path) -> None:
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ConfigError(f"{path} is being written by another process; wait for it or choose another --out") from error


def _read_meta(path: Path) -> PredictionMeta | None:
    sidecar = meta_path(path)
    if not sidecar.exists():
        return None
    try:
        return PredictionMeta.model_validate_json(sidecar.read_bytes())
    except ValidationError as error:
        raise ArtifactError(f"{sidecar} is not a prediction sidecar; move it away with {path.name}") from error


def _check_same(path: Path, meta: PredictionMeta | None, fingerprint: Fingerprint) -> None:
    if meta is None:
        if path.stat().st_size:
            raise ArtifactError(
                f"{path} holds lines but {meta_path(path).name} is missing, so what they belong to is unknown; "
                "choose another --out or move the file away"
            )
    elif differences := meta.fingerprint.differences(fingerprint):
        raise ArtifactError(
            f"{path} was begun under another configuration ({'; '.join(differences)}); "
            "choose another --out or move the file away"
        )


def _scan(path: Path) -> _Existing:
    done: set[tuple[str, str]] = set()
    tokens, cached, end = 0, 0, 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break  # torn by a crash while it was written
            try:
                fields = cast("dict[str, Any]", json.loads(line))
                key = (str(fields["id"]), str(fields["qid"]))
                tokens += int(fields.get("input_tokens", 0))
                cached += int(fields.get("cached_tokens", 0))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise DataError("is not a prediction; move the file away and predict again", path, number) from error
            if key in done:
                raise DataError(f"answers question {key[1]!r} of record {key[0]!r} a second time", path, number)
            done.add(key)
            end += len(line)
    return _Existing(done, tokens, cached, end)
