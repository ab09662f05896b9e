"""One JSON line a request, with an id that the client gets too. States, questions, answers and keys never get here."""

from __future__ import annotations

import json
import logging
import secrets
import sys
import time
import traceback
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forthwith.errors import ForthwithError, RequestError

__all__ = ["LOG_LEVELS", "RequestLog", "configure_logging", "failure_lines", "log_line", "new_request_id"]

_log = logging.getLogger("forthwith.serving")
Finished = Callable[[str, int, float], None]


def new_request_id() -> str:
    """An id for one request: `req_` and 24 hexadecimal digits."""
    return f"req_{secrets.token_hex(12)}"


class RequestLog:
    """ASGI middleware: gives each request an id and a logged line, and each response its headers.

    Args:
        app: what it wraps.
        finished: told about the route's name, the status and the seconds of each request.
    """

    def __init__(self, app: ASGIApp, finished: Finished) -> None:
        self._app = app
        self._finished = finished

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.monotonic()
        note: dict[str, Any] = {"request_id": new_request_id()}
        scope.setdefault("state", {})["note"] = note
        status = 499  # nothing was sent: the client left

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message, note, time.monotonic() - started)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            seconds = time.monotonic() - started
            route = getattr(scope.get("route"), "name", None) or "other"
            self._finished(route, status, seconds)
            log_line(route, scope["method"], status, seconds, note)


def _add_headers(message: Message, note: MutableMapping[str, Any], seconds: float) -> None:
    headers = MutableHeaders(scope=message)
    headers["x-typesafe-request-id"] = note["request_id"]
    headers["x-request-id"] = note["request_id"]
    timing = [f"total;dur={seconds * 1000:.1f}"]
    timing += [
        f"{name};dur={note[key] * 1000:.1f}" for name, key in (("queue", "waited_s"), ("model", "ran_s")) if key in note
    ]
    headers["server-timing"] = ", ".join(timing)
    headers.setdefault("cache-control", "no-store")
    headers["x-content-type-options"] = "nosniff"
    if note.get("closing"):
        headers["connection"] = "close"


def log_line(route: str, method: str, status: int, seconds: float, note: MutableMapping[str, Any]) -> None:
    """Log one request."""
    level = (
        logging.ERROR
        if status == 500
        else logging.INFO
        if route not in ("healthz", "readyz", "metrics")
        else logging.DEBUG
    )
    details = {key: value for key, value in note.items() if key not in ("closing",)}
    rounded = {key: round(value, 6) if isinstance(value, float) else value for key, value in details.items()}
    _log.log(
        level,
        "request",
        extra={"fields": {"route": route, "method": method, "status": status, "seconds": round(seconds, 6), **rounded}},
    )


def failure_lines(error: Exception) -> dict[str, Any]:
    """What may be logged of an error: its class, where it arose, and its message where that cannot quote a caller."""
    frames = traceback.extract_tb(error.__traceback__)
    lines: dict[str, Any] = {
        "error": type(error).__name__,
        "at": [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-8:]],
    }
    if isinstance(error, ForthwithError) and not isinstance(error, RequestError):
        lines["detail"] = str(error)[:500]
    return lines


class _JsonLines(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None and isinstance(record.exc_info[1], Exception):
            line |= failure_lines(record.exc_info[1])
        return json.dumps(line, ensure_ascii=True, default=str)


class _Stream(logging.StreamHandler[TextIO]):
    """Writes to a stream; a stream that is gone must not take the server with it."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Drop the line."""
        del record


LOG_LEVELS = ("debug", "info", "warning", "error")


def configure_logging(level: str = "info", stream: TextIO | None = None) -> None:
    """Send our lines and uvicorn's to a stream (standard error), as JSON."""
    handler = _Stream(stream or sys.stderr)
    handler.setFormatter(_JsonLines())
    for name in ("forthwith", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.setLevel(level.upper())
        logger.propagate = name == "uvicorn.error"
    with suppress(AttributeError):
        logging.getLogger("uvicorn.access").disabled = True
