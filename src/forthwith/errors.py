"""The exception tree. A branch is chosen by who can act: the caller, the data's owner, or the operator.

ForthwithError
├── RequestError            the caller's request cannot be answered as it stands
│   ├── ContextTooLongError     more tokens than the model reads
│   └── UnknownModelError       no model of that name
├── DataError               a file of records, predictions or sources is wrong at a known place
├── ConfigError             a setting is unknown or impossible
├── ArtifactError           a model, bundle, adapter or calibration is missing, broken or belongs to another
├── EngineError             the engine failed; `retryable` says whether trying again can help
│   └── OverloadedError         the engine has no room now
└── ShapeError              arrays that do not fit together (also a ValueError)

Messages say what was wrong, what was found and what to do. Values are attributes, not only text.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = [
    "ArtifactError",
    "ConfigError",
    "ContextTooLongError",
    "DataError",
    "EngineError",
    "FieldProblem",
    "ForthwithError",
    "OverloadedError",
    "RequestError",
    "ShapeError",
    "UnknownModelError",
]


class FieldProblem(NamedTuple):
    """One thing wrong with one field of a request."""

    field: tuple[str | int, ...]
    message: str
    kind: str


class ForthwithError(Exception):
    """Root of all errors that Forthwith raises on purpose."""


class RequestError(ForthwithError):
    """A request that cannot be answered as it stands; `problems` names every field at fault."""

    def __init__(self, message: str, problems: tuple[FieldProblem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class ContextTooLongError(RequestError):
    """The request needs `tokens` tokens on one path and the model reads `limit`."""

    def __init__(self, tokens: int, limit: int, what: str = "the request") -> None:
        super().__init__(
            f"{what} needs {tokens} tokens and the model reads at most {limit}; shorten the state or the question"
        )
        self.tokens = tokens
        self.limit = limit


class UnknownModelError(RequestError):
    """No model of the name that was asked for; `known` lists those there are."""

    def __init__(self, name: str, known: tuple[str, ...] = ()) -> None:
        hint = f"; known models: {', '.join(known)}" if known else ""
        super().__init__(f"unknown model {name!r}{hint}")
        self.name = name
        self.known = known


class DataError(ForthwithError):
    """A data file is wrong; `path` and `line` (1-based) say where, if known."""

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None) -> None:
        place = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(place + message)
        self.reason = message
        self.path = None if path is None else Path(path)
        self.line = line


class ConfigError(ForthwithError):
    """A setting is unknown, missing or impossible; `field` names it."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class ArtifactError(ForthwithError):
    """A model, bundle, adapter or calibration is missing, broken or made for something else."""

    def __init__(self, message: str, expected: object = None, found: object = None) -> None:
        if expected is not None or found is not None:
            message = f"{message} (expected {expected!r}, found {found!r})"
        super().__init__(message)
        self.expected = expected
        self.found = found


class EngineError(ForthwithError):
    """The engine failed; `retryable` says whether the same call may succeed later."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class OverloadedError(EngineError):
    """The engine has no room now; try again after `retry_after_s` seconds."""

    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        super().__init__(message, retryable=True)
        self.retry_after_s = retry_after_s


class ShapeError(ForthwithError, ValueError):
    """Arrays that do not fit together."""
