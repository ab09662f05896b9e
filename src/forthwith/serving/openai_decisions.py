"""The OpenAI Decisions wire dialect (`POST /v1/decisions`): an input, an array of questions, answers in that order.

A body with `state` and a `questions` object, as some gateways send to this path, is read and answered as System One.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, ValidationError

from forthwith.decision import Answer, Decision
from forthwith.errors import FieldProblem, RequestError
from forthwith.schema import Request, parse_request, request_error
from forthwith.serving.dialect import Asked, Dialect
from forthwith.serving.failures import Failure
from forthwith.serving.openai_input import Parts, input_state, parts_text
from forthwith.serving.systemone import SYSTEM_ONE

__all__ = ["OPENAI_DECISIONS", "DecisionsBody", "render_failure"]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Predicate(_Body):
    """A yes/no question."""

    type: Literal["predicate"]
    instructions: Parts
    name: str | None = None


class ChoiceValue(_Body):
    """One option; a boolean and its spelling are different values."""

    value: StrictStr | StrictBool
    description: str | None = None


class ChoiceQuestion(_Body):
    """Pick one of 2 to 255 values."""

    type: Literal["choice"]
    instructions: Parts
    choices: list[ChoiceValue] = Field(min_length=2, max_length=255)
    name: str | None = None


class ScoreLevel(_Body):
    """One level, lowest first."""

    label: str
    description: str | None = None


class ScoreQuestion(_Body):
    """Place the input on 2 to 10 levels."""

    type: Literal["score"]
    instructions: Parts
    levels: list[ScoreLevel] = Field(min_length=2, max_length=10)
    name: str | None = None


class DecisionsBody(_Body):
    """The body of a request."""

    model: str | None = None
    input: str | list[dict[str, Any]]
    questions: list[Annotated[Predicate | ChoiceQuestion | ScoreQuestion, Field(discriminator="type")]] = Field(
        min_length=1, max_length=400
    )


@dataclass(frozen=True)
class _Slot:
    """How one question is shown again: its id inside, its name, and the values or labels of its options by key."""

    qid: str
    name: str | None
    shown: Mapping[str, Any]


def render_failure(failure: Failure) -> dict[str, Any]:
    """The body of an error, in that API's shape; `param` is the first field at fault."""
    kind = "invalid_request_error" if failure.status < 500 else "server_error"
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(failure.status, kind)
    message, param = failure.message, None
    if failure.problems:
        param = ".".join(map(str, failure.problems[0].field)) or None
        message = "; ".join(f"{'.'.join(map(str, problem.field))}: {problem.message}" for problem in failure.problems)
    return {"error": {"message": message, "type": kind, "param": param, "code": failure.kind}}


def _read(payload: object) -> Asked:
    if not isinstance(payload, Mapping):
        raise RequestError("a request must be an object with input and questions")
    members = cast("Mapping[str, Any]", payload)
    if "input" not in members and isinstance(members.get("questions"), Mapping):
        return SYSTEM_ONE.read(members)
    try:
        body = DecisionsBody.model_validate(dict(members))
    except ValidationError as error:
        raise request_error(error, ("predicate", "choice", "score")) from error
    questions: dict[str, Any] = {}
    slots: list[_Slot] = []
    for place, question in enumerate(body.questions):
        qid = str(place)
        try:
            questions[qid], shown = _question(question)
        except RequestError as error:
            raise RequestError(str(error), (FieldProblem(("questions", place), str(error), "value_error"),)) from error
        slots.append(_Slot(qid, question.name, shown))
    request = _checked(body, questions)
    return Asked(request, lambda decision: _render(decision, slots))


def _checked(body: DecisionsBody, questions: Mapping[str, Any]) -> Request:
    return parse_request({"model": body.model, "state": input_state(body.input), "questions": dict(questions)})


def _question(question: Predicate | ChoiceQuestion | ScoreQuestion) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The same question in our terms, and what each option key stands for."""
    instructions = parts_text(question.instructions)
    if isinstance(question, Predicate):
        return {"type": "noul", "instructions": instructions}, {}
    if isinstance(question, ScoreQuestion):
        levels = [
            level.label if level.description is None else {"label": level.label, "description": level.description}
            for level in question.levels
        ]
        labels = {str(index): level.label for index, level in enumerate(question.levels)}
        return {"type": "score", "instructions": instructions, "criteria": levels}, labels
    values = _keyed_values(question.choices)
    criteria = {key: choice.description for key, choice in zip(values, question.choices, strict=True)}
    return {"type": "choice", "instructions": instructions, "criteria": criteria}, values


def _keyed_values(choices: Sequence[ChoiceValue]) -> dict[str, str | bool]:
    texts = {choice.value for choice in choices if isinstance(choice.value, str)}
    values: dict[str, str | bool] = {}
    for choice in choices:
        if isinstance(choice.value, str):
            key = choice.value
        else:
            key = str(choice.value).lower()
            while key in texts:  # the caller also has that spelling as text
                key += " (boolean)"
        if key in values:
            raise RequestError(f"choices: the value {choice.value!r:.60} appears twice; values must be unique")
        values[key] = choice.value
    return values


def _render(decision: Decision, slots: Sequence[_Slot]) -> dict[str, Any]:
    usage = decision.usage
    return {
        "model": decision.model,
        "answers": [_answer(decision.answers[slot.qid], slot) for slot in slots],
        "usage": {
            "input_tokens": int(usage.input_tokens),
            "input_tokens_details": {"cached_tokens": int(usage.cached_tokens), "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": int(usage.input_tokens),
        },
        "x_bundle": decision.bundle_id,
        "x_calibrated": decision.calibrated,
    }


def _answer(answer: Answer, slot: _Slot) -> dict[str, Any]:
    extras = {} if answer.verdict is None else {"x_verdict": answer.verdict}
    shares = answer.probabilities.tolist()
    if answer.type == "noul":
        return {"type": "predicate", "name": slot.name, "probability": shares[1], **extras}
    body: dict[str, Any] = {"type": answer.type, "name": slot.name, "confidence": float(answer.confidence)}
    if answer.type == "choice":
        options = zip(answer.keys, shares, strict=True)
        body["choice"] = slot.shown[answer.key]
        body["probabilities"] = [{"value": slot.shown[key], "probability": share} for key, share in options]
    else:
        levels = enumerate(zip(answer.keys, shares, strict=True))
        body["score"] = answer.value
        body["probabilities"] = [
            {"value": index, "label": slot.shown[key], "probability": share} for index, (key, share) in levels
        ]
    return body | extras


OPENAI_DECISIONS = Dialect("openai", _read, render_failure)
"""The dialect, for the app."""
