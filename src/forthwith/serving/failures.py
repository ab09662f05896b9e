"""Errors to what a caller is told: a status, a kind, a message, the fields at fault. Dialects give it their shape."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from forthwith.errors import (
    ArtifactError,
    ContextTooLongError,
    EngineError,
    FieldProblem,
    OverloadedError,
    RequestError,
    UnknownModelError,
)

__all__ = ["Failure", "HttpError", "failure_of"]

_MAX_PROBLEMS = 50
_MAX_MESSAGE = 2000
_LONGEST_RETRY_S = 15.0


@dataclass(frozen=True)
class Failure:
    """What went wrong, for the caller.

    Attributes:
        status: HTTP status.
        kind: a stable word for it: invalid_request, authentication_error, rate_limited, overloaded, …
        message: a sentence that says what to do.
        problems: the fields at fault, for invalid requests.
        retry_after_s: when trying again makes sense; None where it does not.
        headers: further response headers.
    """

    status: int
    kind: str
    message: str
    problems: tuple[FieldProblem, ...] = ()
    retry_after_s: float | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])

    def all_headers(self) -> dict[str, str]:
        """The headers that go with it, retry advice included; advice stays below what clients are willing to wait."""
        if self.retry_after_s is None:
            return self.headers
        milliseconds = max(1, round(min(self.retry_after_s, _LONGEST_RETRY_S) * 1000))
        return self.headers | {
            "retry-after": str(max(1, -(-milliseconds // 1000))),
            "retry-after-ms": str(milliseconds),
        }


class HttpError(Exception):
    """A failure on its way to the caller: raised anywhere below the app, rendered by the dialect of the route."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(error: Exception) -> Failure:
    """The failure that an exception means. What is not the caller's fault says nothing about the server's insides."""
    match error:
        case HttpError():
            return error.failure
        case UnknownModelError():
            return Failure(400, "api_usage_error", str(error))
        case ContextTooLongError():
            return Failure(413, "max_tokens_exceeded", str(error))
        case RequestError():
            return Failure(422, "invalid_request", str(error)[:_MAX_MESSAGE], _problems(error))
        case OverloadedError():
            return Failure(429, "overloaded", str(error), retry_after_s=error.retry_after_s)
        case ArtifactError():
            return Failure(503, "model_changed", "the model's files changed since they were loaded; reload the server")
        case EngineError() if error.retryable:
            return Failure(503, "engine_unavailable", "the model cannot be reached now; try again", retry_after_s=1.0)
        case _:
            return Failure(500, "internal_error", "the server failed on this request; its log has the request id")


def _problems(error: RequestError) -> tuple[FieldProblem, ...]:
    if not error.problems:
        cause = error.__cause__
        place = (cause.pos,) if isinstance(cause, json.JSONDecodeError) else ()
        kind = "json_invalid" if place or str(error).startswith("not ") else "value_error"
        return (FieldProblem(place, str(error)[:_MAX_MESSAGE], kind),)
    return tuple(
        FieldProblem(problem.field, problem.message[:_MAX_MESSAGE], problem.kind)
        for problem in error.problems[:_MAX_PROBLEMS]
    )
