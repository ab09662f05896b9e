"""Checkpoints that are whole or absent: adapter, optimiser and the place in the data, renamed into place at once.

Random numbers need no state: each step's are derived from the seed and the step.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from forthwith.errors import ArtifactError
from forthwith.training.adapters import load_adapter_weights, save_adapter
from forthwith.training.streaming import Position

__all__ = ["Checkpoints", "Progress"]

_STATE = "state.json"
_OPTIMISER = "optimiser.pt"


@dataclass
class Progress:
    """How far a run is; all that is not in tensors.

    Attributes:
        step: optimiser steps done.
        position: the next batch.
        epochs_done: passes over the data, with fractions.
        questions: questions trained on.
        tokens: tokens run through the model, padding not counted.
        seconds: time spent training.
        best: the best validation figure so far; None before the first.
        best_step: its step.
        stale: validations since.
        guard_start: accuracy of the base on the guard set.
        last_validated: step of the last validation.
    """

    step: int = 0
    position: Position = Position()
    epochs_done: float = 0.0
    questions: int = 0
    tokens: int = 0
    seconds: float = 0.0
    best: float | None = None
    best_step: int | None = None
    stale: int = 0
    guard_start: float | None = None
    last_validated: int = -1
    validations: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


class Checkpoints:
    """The checkpoint folder of a run: the last state, and the adapter of the best validation.

    Args:
        folder: the run's folder.
        fingerprint: of configuration, base and data; a checkpoint of another one is refused.
        base: how the adapter names its base.
    """

    def __init__(self, folder: Path, fingerprint: str, base: str) -> None:
        self.folder, self.fingerprint, self._base = folder, fingerprint, base

    @property
    def last(self) -> Path:
        """Where the last state lies."""
        return self.folder / "last"

    @property
    def best(self) -> Path:
        """Where the best adapter lies."""
        return self.folder / "best"

    def save(self, model: Any, optimiser: torch.optim.Optimizer, progress: Progress) -> None:
        """Replace the last state.

        Raises:
            ArtifactError: it cannot be written; the state before is kept.
        """

        def write(place: Path) -> None:
            save_adapter(model, place, self._base)
            torch.save(optimiser.state_dict(), place / _OPTIMISER)
            state = {"fingerprint": self.fingerprint, "progress": asdict(progress)}
            (place / _STATE).write_text(json.dumps(state), encoding="utf-8")

        self._replace(self.last, write)

    def save_best(self, model: Any, progress: Progress) -> None:
        """Replace the best adapter.

        Raises:
            ArtifactError: it cannot be written; the one before is kept.
        """

        def write(place: Path) -> None:
            save_adapter(model, place, self._base)
            (place / "step.json").write_text(json.dumps({"step": progress.step}), encoding="utf-8")

        self._replace(self.best, write)

    def restore(self, model: Any, optimiser: torch.optim.Optimizer) -> Progress | None:
        """Bring model and optimiser to the last state; None where there is none.

        Raises:
            ArtifactError: it belongs to another configuration, or cannot be read.
        """
        self._clean()
        if not self.last.is_dir():
            return None
        try:
            state: dict[str, Any] = json.loads((self.last / _STATE).read_text(encoding="utf-8"))
            tensors: dict[str, Any] = torch.load(self.last / _OPTIMISER, map_location="cpu", weights_only=True)
        except (OSError, ValueError, RuntimeError, EOFError) as error:
            raise ArtifactError(
                f"the checkpoint {self.last} cannot be read: {error}; delete it to start again"
            ) from error
        if state["fingerprint"] != self.fingerprint:
            raise ArtifactError(
                f"{self.folder} holds a run of another configuration, base or data; name another --out, or train with the"
                " settings it was started with", state["fingerprint"][:12], self.fingerprint[:12],
            )  # fmt: skip
        load_adapter_weights(model, self.last)
        optimiser.load_state_dict(tensors)
        values = state["progress"]
        return Progress(**{**values, "position": Position(*values["position"])})

    def _replace(self, place: Path, write: Any) -> None:
        partial = place.with_name(f".{place.name}.partial")
        old = place.with_name(f".{place.name}.old")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            partial.mkdir(parents=True)
            write(partial)
            for file in partial.iterdir():
                with file.open("rb") as opened:
                    os.fsync(opened.fileno())
        except (OSError, RuntimeError) as error:
            shutil.rmtree(partial, ignore_errors=True)
            reason = "the disk is full" if _is_full(error) else str(error)
            raise ArtifactError(
                f"the checkpoint {place} cannot be written: {reason}; free some space and resume, the state before is kept"
            ) from error
        if place.exists():
            shutil.rmtree(old, ignore_errors=True)
            place.rename(old)
        partial.rename(place)
        shutil.rmtree(old, ignore_errors=True)

    def _clean(self) -> None:
        """Undo a replacement that was cut off half-way."""
        for place in (self.last, self.best):
            old = place.with_name(f".{place.name}.old")
            if old.is_dir() and not place.exists():
                old.rename(place)
            shutil.rmtree(old, ignore_errors=True)
            shutil.rmtree(place.with_name(f".{place.name}.partial"), ignore_errors=True)


def _is_full(error: Exception) -> bool:
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return full or "No space left" in str(error) or "file write failed" in str(error)
