"""The prediction file: one JSON line a question. The seam between models and metrics; any report is rebuilt from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from forthwith.errors import DataError

__all__ = ["Prediction", "read_predictions"]


class Prediction(BaseModel):
    """One answered question, before temperature.

    `options` are the option keys in `option_keys` order; `log_scores` (nats) and `probabilities` (the restricted
    softmax at temperature 1) are aligned with them.
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


def read_predictions(path: str | Path) -> Iterator[Prediction]:
    """The lines of a prediction file, streamed.

    Raises:
        DataError: the file cannot be read, or a line is no prediction; with the line, the field and what was found.
    """
    try:
        with Path(path).open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _read_line(path, number, line)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path) from error


def _read_line(path: str | Path, number: int, line: bytes) -> Prediction:
    try:
        return Prediction.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "line"
        found = f"{first['input']!r:.60}"
        raise DataError(
            f"no prediction: {field}: {first['msg']}, found {found}; predict again", path, number
        ) from error
