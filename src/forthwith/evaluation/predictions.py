"""The prediction file: one JSON line a question. The seam between models and metrics; any report is rebuilt from it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Prediction"]


class Prediction(BaseModel):
    """One answered question, before temperature.

    `options` are the option keys in `option_keys` order; `log_scores` (nats) and `probabilities` (the restricted softmax at
    temperature 1) are aligned with them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    qid: str
    type: Literal["noul", "choice", "score"]
    family: str
    options: list[str] = Field(min_length=2)
    log_scores: list[float]
    probabilities: list[float]
    readout: str
    input_tokens: int = 0
    cached_tokens: int = 0
    latency_ms: float = 0.0
    allowed_mass: float | None = None
    lost_mass: float = 0.0
    none_score: float | None = None
