"""The System One wire dialect (`POST /v1/systemone`): members to a request, a decision to members, errors likewise.

Plain dictionaries in and out, full precision. Imports no web framework, so a command can print the same JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

from forthwith.decision import Answer, Decision
from forthwith.errors import FieldProblem, RequestError
from forthwith.schema import Request, Score, parse_request
from forthwith.serving.dialect import Asked, Dialect
from forthwith.serving.failures import Failure

__all__ = ["SYSTEM_ONE", "read_families", "read_request", "render_failure", "render_models", "render_response"]

_QUESTION_FIELDS = ("type", "instructions", "criteria")
_MOST_NAME_BYTES = 4096


def read_request(payload: object) -> Request:
    """The request in a decoded body. Members that the contract does not know are ignored, as it asks.

    Raises:
        RequestError: names every field at fault; images, which this server does not read, are refused by name.
    """
    if not isinstance(payload, Mapping):
        raise _refusal((), "a request must be an object with state and questions", "model_type")
    body = cast("Mapping[str, Any]", payload)
    if body.get("assets") is not None:
        raise _refusal(("assets",), "this server reads text only; leave assets out", "unsupported")
    known = {name: body[name] for name in ("state", "model") if name in body}
    if "questions" in body:
        known["questions"] = _questions(body["questions"])
    return parse_request(known)


def read_families(payload: object) -> dict[str, str]:
    """Families by question id, of those questions of a readable body that name one in `x_family`, which is ours.

    Raises:
        RequestError: a family that is no text, or an empty one.
    """
    families: dict[str, str] = {}
    for qid, question in cast(
        "Mapping[str, Mapping[str, Any]]", cast("Mapping[str, Any]", payload)["questions"]
    ).items():
        family = question.get("x_family")
        if family is None:
            continue
        if not isinstance(family, str) or not family:
            message = f"must be the name of a family of questions, not {family!r:.40}; or leave it out"
            raise _refusal(("questions", qid, "x_family"), message, "value_error")
        families[qid] = family
    return families


def render_response(decision: Decision, request: Request) -> dict[str, Any]:
    """The body of a 200 answer. Members that start with `x_` are ours; every other one is the contract's.

    Args:
        decision: what the model said.
        request: what it was asked; legends repeat its levels.
    """
    return {
        "model": decision.model,
        "answers": {qid: _answer(decision.answers[qid], question) for qid, question in request.questions.items()},
        "usage": {
            "input_tokens": int(decision.usage.input_tokens),
            "output_tokens": 0,  # decisions are read from one forward pass; nothing is generated
            "x_cached_tokens": int(decision.usage.cached_tokens),
        },
        "x_bundle": decision.bundle_id,
        "x_calibrated": decision.calibrated,
    }


def render_failure(failure: Failure) -> dict[str, Any]:
    """The body of an error: a list for fields at fault, else an object with `error_type` and `message`."""
    if failure.problems:
        items = [
            {"loc": ["body", *problem.field], "msg": problem.message, "type": problem.kind}
            for problem in failure.problems
        ]
        return {"detail": items}
    return {"detail": {"error_type": failure.kind, "message": failure.message}}


def render_models(names: Mapping[str, str], release_date: str) -> dict[str, Any]:
    """The body of `GET /v1/models`: name to description, and the date the model was released, YYYY-MM-DD."""
    return {
        "models": [
            {"name": name, "description": description, "release_date": release_date}
            for name, description in names.items()
        ]
    }


def _questions(given: object) -> object:
    if not isinstance(given, Mapping):
        return given
    questions: dict[str, Any] = {}
    for qid, question in cast("Mapping[str, Any]", given).items():
        if not qid or len(qid.encode("utf-8", "surrogatepass")) > _MOST_NAME_BYTES:
            message = f"a question id must have 1 to {_MOST_NAME_BYTES} bytes; name the question"
            raise _refusal(("questions", qid[:40]), message, "value_error")
        questions[qid] = _question(qid, question)
    return questions


def _question(qid: str, given: object) -> object:
    if not isinstance(given, Mapping):
        return given
    members = cast("Mapping[str, Any]", given)
    if members.get("type") == "box":
        raise _refusal(("questions", qid), "box questions need images, which this server does not read", "unsupported")
    return {name: members[name] for name in _QUESTION_FIELDS if name in members}


def _answer(answer: Answer, question: object) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    if answer.verdict is not None:
        extras["x_verdict"] = answer.verdict
    if answer.none_score is not None and math.isfinite(answer.none_score):
        extras["x_none_score"] = float(answer.none_score)
    if answer.lost_mass > 0:
        extras["x_lost_mass"] = float(answer.lost_mass)
    if answer.type == "noul":
        return {"type": "noul", "noul": float(answer.probabilities[1]), "x_confidence": answer.confidence, **extras}
    body: dict[str, Any] = {
        "type": answer.type,
        answer.type: answer.value,
        "confidence": float(answer.confidence),
        "probabilities": dict(zip(answer.keys, answer.probabilities.tolist(), strict=True)),
    }
    if isinstance(question, Score):
        body["legend"] = dict(zip(answer.keys, question.criteria, strict=True))
    return body | extras


def _refusal(field: tuple[str | int, ...], message: str, kind: str) -> RequestError:
    return RequestError(message, (FieldProblem(field, message, kind),))


def _read(payload: object) -> Asked:
    request = read_request(payload)
    return Asked(request, lambda decision: render_response(decision, request), read_families(payload))


SYSTEM_ONE = Dialect("systemone", _read, render_failure)
"""The dialect, for the app."""
