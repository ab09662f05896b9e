"""The OpenRouter wire dialect (`POST /api/alpha/decisions`): System One bodies, prefixed model names, other errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from forthwith.decision import Decision
from forthwith.serving.dialect import Asked, Dialect
from forthwith.serving.failures import Failure
from forthwith.serving.systemone import read_families, read_request, render_response

__all__ = ["OPEN_ROUTER", "render_failure"]


def render_failure(failure: Failure) -> dict[str, Any]:
    """The body of an error: its status, a message that names the fields at fault, and what kind it is."""
    metadata: dict[str, Any] = {"error_type": failure.kind}
    message = failure.message
    if failure.problems:
        message = "; ".join(f"{'.'.join(map(str, problem.field))}: {problem.message}" for problem in failure.problems)
        metadata["fields"] = [".".join(map(str, problem.field)) for problem in failure.problems]
    return {"error": {"code": failure.status, "message": message, "metadata": metadata}}


def _read(payload: object) -> Asked:
    body = payload
    if isinstance(payload, Mapping):
        members = dict(cast("Mapping[str, Any]", payload))
        if isinstance(members.get("model"), str):
            members["model"] = members["model"].removeprefix("~").rpartition("/")[2]
        body = members
    request = read_request(body)

    def render(decision: Decision) -> dict[str, Any]:
        return render_response(decision, request) | {"provider": "forthwith"}

    return Asked(request, render, read_families(body))


OPEN_ROUTER = Dialect("openrouter", _read, render_failure)
"""The dialect, for the app."""
