"""What an engine is: token trees in, log-probabilities of candidate tokens out. It never knows what a score means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from forthwith.encoding import TokenTree

__all__ = ["Engine", "EngineIdentity", "TreeReading"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class EngineIdentity:
    """What the numbers of an engine depend on.

    Attributes:
        engine: transformers, openai, scripted, …
        model: folder, hub id or address.
        weights_sha256: hash of the base weights (or a name for remote ones).
        adapter_sha256: hash of the adapter's weights; None without one.
        precision: float32, bfloat16, … as computed in.
        device: cpu, cuda:0, remote.
        versions: library name to version.
    """

    engine: str
    model: str
    weights_sha256: str
    precision: str
    adapter_sha256: str | None = None
    device: str = "cpu"
    versions: dict[str, str] = field(default_factory=dict[str, str])
    details: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class TreeReading:
    """What was read from one tree.

    Attributes:
        log_probs: one array a read, shape (number of candidates,), natural log of the probability under the full softmax.
        lost_mass: one number a read: an upper bound of the probability of candidates that were not returned; 0 if exact.
        cached_tokens: tokens of the tree that were taken from a cache.
    """

    log_probs: tuple[FloatArray, ...]
    lost_mass: tuple[float, ...]
    cached_tokens: int = 0


class Engine(Protocol):
    """Evaluates token trees. Implementations are safe to call from one thread at a time."""

    @property
    def identity(self) -> EngineIdentity:
        """What the numbers depend on."""
        ...

    @property
    def max_tokens(self) -> int:
        """Longest path of a tree that the model reads."""
        ...

    def evaluate(self, trees: Sequence[TokenTree]) -> list[TreeReading]:
        """Read every tree; the result does not depend on which trees are asked together, within stated tolerance.

        Raises:
            ContextTooLongError: a path is longer than `max_tokens`.
            EngineError: the model or server failed.
        """
        ...
