"""Probabilities to an answer that code can act on: the chosen option, its confidence, and automate or ask.

Takes float64 distributions; gives frozen answers at full precision. Knows no engine and no wire format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Answer", "Decision", "Usage", "choice_confidence", "score_confidence", "verdict"]

FloatArray = NDArray[np.float64]
Verdict = Literal["automate", "ask"]


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    Attributes:
        type: noul, choice or score.
        keys: the option keys, in the order of the arrays.
        probabilities: shape (K,), sums to 1.
        log_scores: shape (K,), nats, before temperature and bias.
        confidence: in [0, 1]; for choice and score the formulas below, for noul |2 p(yes) - 1|.
        verdict: automate or ask where thresholds are known, else None.
        allowed_mass: probability the model gave to legal answers at the decision position, in [0, 1]; None if not read.
        lost_mass: upper bound of the probability of candidates that the engine did not return; 0 for exact engines.
        none_score: log-odds that even the best option is right, where the readout gives one.
        family: the family that calibration and thresholds were taken from.
    """

    type: str
    keys: tuple[str, ...]
    probabilities: FloatArray
    log_scores: FloatArray
    confidence: float
    verdict: Verdict | None = None
    allowed_mass: float | None = None
    lost_mass: float = 0.0
    none_score: float | None = None
    family: str | None = None

    @property
    def key(self) -> str:
        """The most probable option's key (the first of equals)."""
        return self.keys[int(np.argmax(self.probabilities))]

    @property
    def value(self) -> float | str:
        """What a caller usually wants: P(yes) of a noul, the chosen name of a choice, the expected level of a score."""
        if self.type == "noul":
            return float(self.probabilities[1])
        if self.type == "choice":
            return self.key
        return float(np.arange(len(self.keys)) @ self.probabilities)


@dataclass(frozen=True)
class Usage:
    """Cost of one request: tokens run through the model, tokens taken from a cache, and wall time.

    `input_tokens` counts what the request needs with its state read once: the token tree's size. `cached_tokens` of them
    were not computed again.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    leaves: int = 0
    latency_ms: float = 0.0


@dataclass(frozen=True)
class Decision:
    """All answers to one request, by question id, with who gave them.

    Attributes:
        calibrated: whether a calibration bound to exactly this model was applied.
        model: name of the model or bundle that answered.
        bundle_id: short hash of everything the answer depends on.
    """

    answers: dict[str, Answer]
    model: str
    calibrated: bool
    usage: Usage = field(default_factory=Usage)
    bundle_id: str = ""
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    def __getitem__(self, qid: str) -> Answer:
        """The answer to one question."""
        return self.answers[qid]


def choice_confidence(probabilities: FloatArray) -> float:
    """How far the top probability m lies above a uniform guess: (m - 1/K) / (1 - 1/K), in [0, 1].

    Example: K = 3, m = 0.88 gives 0.82.
    """
    options = probabilities.size
    return float(np.clip((np.max(probabilities) - 1 / options) / (1 - 1 / options), 0.0, 1.0))


def score_confidence(probabilities: FloatArray) -> float:
    """One minus the mean distance to the likeliest level, relative to that of a uniform guess; in [0, 1].

    max(0, 1 - Σ p_i |i - k| / D) with k the likeliest level and D = (1/n) Σ |i - (n - 1)/2|.
    Example: p = (0, 0.95, 0.05) gives 0.925.
    """
    levels = np.arange(probabilities.size)
    spread = np.mean(np.abs(levels - (probabilities.size - 1) / 2))
    distance = probabilities @ np.abs(levels - int(np.argmax(probabilities)))
    return float(max(0.0, 1.0 - distance / spread))


def confidence(question_type: str, probabilities: FloatArray) -> float:
    """The confidence of an answer, by the formula of its question type; in [0, 1]."""
    if question_type == "score":
        return score_confidence(probabilities)
    return choice_confidence(probabilities)  # for two options this is |2p - 1|


def verdict(probabilities: FloatArray, threshold: float | None) -> Verdict:
    """Automate when the largest probability reaches the threshold; without a threshold, ask."""
    return "automate" if threshold is not None and float(np.max(probabilities)) >= threshold else "ask"
