"""Checkpoints that are whole or absent: adapter, optimiser and the place in the data, renamed into place at once.

Random numbers need no state: each step's are derived from the seed and the step.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

from forthwith.errors import ArtifactError
from forthwith.training.adapters import adapter_state, load_adapter_weights, save_adapter
from forthwith.training.forward import TreeForward
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
    position: Position = field(default_factory=Position)
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
        belongs_to: hashes of what the run depends on, by name: settings, base, data; a checkpoint of others is refused.
        base: how the adapter names its base.
    """

    def __init__(self, folder: Path, belongs_to: Mapping[str, str], base: str) -> None:
        self.folder, self._belongs_to, self._base = folder, dict(belongs_to), base

    @property
    def last(self) -> Path:
        """Where the last state lies."""
        return self.folder / "last"

    @property
    def best(self) -> Path:
        """Where the best adapter lies."""
        return self.folder / "best"

    def save(
        self, forward: TreeForward, optimiser: torch.optim.Optimizer, progress: Progress, *, is_writing: bool = True
    ) -> None:
        """Replace the last state; every process of a run must call, one writes.

        Raises:
            ArtifactError: it cannot be written; the state before is kept.
        """
        adapter, moments = adapter_state(forward.model), optimiser_state(forward, optimiser)

        def write(place: Path) -> None:
            save_adapter(forward.model, place, self._base, adapter)
            torch.save(moments, place / _OPTIMISER)
            state = {"belongs_to": self._belongs_to, "progress": asdict(progress)}
            (place / _STATE).write_text(json.dumps(state), encoding="utf-8")

        if is_writing:
            self._replace(self.last, write)

    def save_best(self, forward: TreeForward, progress: Progress, *, is_writing: bool = True) -> None:
        """Replace the best adapter; every process of a run must call, one writes.

        Raises:
            ArtifactError: it cannot be written; the one before is kept.
        """
        adapter = adapter_state(forward.model)

        def write(place: Path) -> None:
            save_adapter(forward.model, place, self._base, adapter)
            (place / "step.json").write_text(json.dumps({"step": progress.step}), encoding="utf-8")

        if is_writing:
            self._replace(self.best, write)

    def restore(self, forward: TreeForward, optimiser: torch.optim.Optimizer) -> Progress | None:
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
        begun: dict[str, str] = state.get("belongs_to", {})
        if other := [name for name in {**begun, **self._belongs_to} if begun.get(name) != self._belongs_to.get(name)]:
            raise ArtifactError(
                f"{self.folder} holds a run that differs from this one in: {', '.join(other)}; name another --out, or train with"
                " what it was started with"
            )
        load_adapter_weights(forward.model, self.last)
        load_optimiser_state(forward, optimiser, tensors)
        values: dict[str, Any] = state["progress"]
        values["position"] = Position(*values["position"])
        return Progress(**values)

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
        except (OSError, RuntimeError, SafetensorError) as error:
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


def optimiser_state(forward: TreeForward, optimiser: torch.optim.Optimizer) -> dict[str, Any]:
    """The optimiser's state, whole, by parameter name."""
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    return get_optimizer_state_dict(forward, optimiser, options=options)


def load_optimiser_state(forward: TreeForward, optimiser: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Put a state from `optimiser_state` back."""
    set_optimizer_state_dict(forward, optimiser, state, options=StateDictOptions(full_state_dict=True))


def _is_full(error: Exception) -> bool:
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return full or "No space left" in str(error) or "file write failed" in str(error)
