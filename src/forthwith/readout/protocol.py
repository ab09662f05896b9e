"""What a readout is: it plans token trees for a request and turns what was read from them into one log-score an option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from forthwith.encoding import Encoder, TokenTree
from forthwith.engine.protocol import TreeReading
from forthwith.schema import Request

__all__ = ["Plan", "Readout", "Scores"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """The trees that a request needs and, by question id, where its answers are read.

    `trees[0]` holds the state; `prior_trees` hold a content-free state and are the same for every request with these
    questions, so their readings may be remembered.
    """

    trees: tuple[TokenTree, ...]
    places: Mapping[str, Any]
    prior_trees: tuple[TokenTree, ...] = ()


@dataclass(frozen=True)
class Scores:
    """One question, read out.

    Attributes:
        log_scores: shape (K,), nats, in `option_keys` order; softmax of them at temperature 1 is the uncalibrated answer.
        allowed_mass: probability of legal answer tokens at the decision position(s), averaged; None where nothing bounds it.
        lost_mass: upper bound of candidate probability that the engine did not return.
        none_score: log-odds that even the best option is right, where options are judged one by one.
    """

    log_scores: FloatArray
    allowed_mass: float | None = None
    lost_mass: float = 0.0
    none_score: float | None = None


class Readout(Protocol):
    """Plans trees and reads scores. Holds no weights and no state."""

    @property
    def name(self) -> str:
        """Name with every setting that changes the numbers, e.g. `label(orders=2,prior)`."""
        ...

    @property
    def template_sha256(self) -> str:
        """SHA-256 of the prompt template."""
        ...

    def plan(self, request: Request, encoder: Encoder) -> Plan:
        """The trees to evaluate for a request."""
        ...

    def scores(
        self, plan: Plan, readings: Sequence[TreeReading], prior_readings: Sequence[TreeReading]
    ) -> dict[str, Scores]:
        """Scores by question id, from the readings of `plan.trees` and `plan.prior_trees`."""
        ...
