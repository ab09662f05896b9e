"""What a request is: a state and typed questions about it. Knows nothing of models, tokens or wire formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from forthwith.errors import FieldProblem, RequestError
from forthwith.schema.frozen import Frozen
from forthwith.schema.json_text import check_json_value

__all__ = [
    "MAX_LEVELS",
    "MAX_OPTIONS",
    "Choice",
    "Content",
    "Noul",
    "NoulCriteria",
    "Question",
    "Request",
    "Score",
    "option_descriptions",
    "option_keys",
    "parse_request",
]

MAX_OPTIONS = 255
"""Most options of one choice."""

MAX_LEVELS = 10
"""Most levels of one score."""


def _check_content(value: object) -> object:
    if not isinstance(value, str | dict | list):
        raise ValueError(f"must be a string, an object or an array, not {_json_type(value)}")  # noqa: TRY004 - Pydantic collects ValueErrors
    try:
        check_json_value(cast("object", value), "the value")
    except RequestError as error:
        raise ValueError(str(error)) from error
    return cast("object", value)


Content = Annotated[str | dict[str, Any] | list[Any], BeforeValidator(_check_content)]
"""Text or nested JSON that the model reads: a state, an instruction, a description."""


class NoulCriteria(Frozen):
    """What yes (`true`) and no (`false`) mean; either side may be left out."""

    true: Content | None = None
    false: Content | None = None


class Noul(Frozen):
    """A yes/no question. The answer is P(yes)."""

    type: Literal["noul"] = "noul"
    instructions: Content | None = None
    criteria: NoulCriteria | None = None

    @model_validator(mode="after")
    def _has_something_to_judge(self) -> Noul:
        sides = self.criteria
        if self.instructions is None and (sides is None or (sides.true is None and sides.false is None)):
            raise ValueError("a noul needs instructions or a described side; add instructions")
        return self


class Choice(Frozen):
    """Pick one of 2 to 255 named options. Order is the order of the options; a null description lets the name speak."""

    type: Literal["choice"] = "choice"
    instructions: Content | None = None
    criteria: dict[str, Content | None]

    @field_validator("criteria", mode="before")
    @classmethod
    def _has_enough_options(cls, criteria: object) -> object:
        if isinstance(criteria, dict):
            options = cast("dict[object, object]", criteria)
            if not 2 <= len(options) <= MAX_OPTIONS:
                raise ValueError(f"a choice needs 2 to {MAX_OPTIONS} options, found {len(options)}")
            for name in options:
                _check_option_name(name)
        return cast("object", criteria)


def _check_option_name(name: object) -> None:
    if not isinstance(name, str):
        raise ValueError(f"the option name {name!r} must be a string")  # noqa: TRY004 - Pydantic collects ValueErrors
    try:
        check_json_value(name, "an option name")
    except RequestError as error:
        raise ValueError(str(error)) from error


class Score(Frozen):
    """Place the state on 2 to 10 ordered levels, lowest first."""

    type: Literal["score"] = "score"
    instructions: Content | None = None
    criteria: list[Content]

    @field_validator("criteria")
    @classmethod
    def _has_enough_levels(cls, criteria: list[Any]) -> list[Any]:
        if not 2 <= len(criteria) <= MAX_LEVELS:
            raise ValueError(f"a score needs 2 to {MAX_LEVELS} levels, found {len(criteria)}")
        return criteria


Question = Annotated[Noul | Choice | Score, Field(discriminator="type")]
"""One typed question."""


class Request(Frozen):
    """One state and the questions about it, by question id. Ids are opaque: they never reach the model."""

    state: Content
    questions: dict[str, Question] = Field(min_length=1)
    model: str | None = None


def option_keys(question: Noul | Choice | Score) -> tuple[str, ...]:
    """The option keys of a question, in the one order that log-scores, probabilities and targets use everywhere.

    noul: `("false", "true")`; choice: the option names in criteria order; score: `("0", "1", …)`.
    """
    match question:
        case Noul():
            return ("false", "true")
        case Choice():
            return tuple(question.criteria)
        case Score():
            return tuple(str(level) for level in range(len(question.criteria)))


def option_descriptions(question: Noul | Choice | Score) -> tuple[str | dict[str, Any] | list[Any] | None, ...]:
    """The descriptions of a question's options, aligned with `option_keys`; None where there is none."""
    match question:
        case Noul():
            sides = question.criteria
            return (None, None) if sides is None else (sides.false, sides.true)
        case Choice():
            return tuple(question.criteria.values())
        case Score():
            return tuple(question.criteria)


def parse_request(payload: Request | Mapping[str, Any]) -> Request:
    """A checked request from plain JSON values.

    Raises:
        RequestError: `problems` names every field at fault, what was found and what to do.
    """
    if isinstance(payload, Request):
        return payload
    if not isinstance(payload, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RequestError(f"a request must be an object with state and questions, not {_json_type(payload)}")
    try:
        return Request.model_validate(dict(payload))
    except ValidationError as error:
        raise request_error(error) from error


_TYPES = ("noul", "choice", "score")


def request_error(error: ValidationError, types: tuple[str, ...] = _TYPES) -> RequestError:
    """A validation failure in our own words, one line a field; `types` are what questions are called in the dialect at hand."""
    problems = tuple(_problem(dict(detail), types) for detail in error.errors(include_url=False))
    lines = [f"{'.'.join(str(part) for part in p.field) or 'request'}: {p.message}" for p in problems]
    return RequestError("; ".join(lines), problems)


def _problem(detail: dict[str, Any], types: tuple[str, ...]) -> FieldProblem:
    # Pydantic puts the union member ("choice", "dict[str,any]") into the location; the field's own path has no such part.
    location = tuple(detail["loc"])
    if len(location) > 2 and location[0] == "questions":
        location = location[:2] + tuple(part for part in location[3:]) if location[2] in types else location
    location = tuple(part for part in location if part not in _UNION_PARTS)
    kind, found = str(detail["type"]), detail.get("input")
    message = str(detail["msg"]).removeprefix("Value error, ")
    if kind == "missing":
        message = "is missing; add it"
    elif kind == "extra_forbidden":
        message = "is not a known field; remove it or check its spelling"
    elif kind == "union_tag_invalid":
        message = f"unknown question type {detail['ctx']['tag']!r}; use {_listed(types)}"
    elif kind == "union_tag_not_found":
        message = f"has no type; set type to {_listed(types)}"
    elif kind == "too_short":
        message = "is empty; ask at least one question"
    elif kind in ("dict_type", "list_type", "model_type", "model_attributes_type", "string_type"):
        wanted = {"dict_type": "an object", "list_type": "an array", "string_type": "a string"}.get(kind, "an object")
        message = f"must be {wanted}, not {_json_type(found)}"
    return FieldProblem(location, message, kind)


def _listed(types: tuple[str, ...]) -> str:
    return f"{', '.join(types[:-1])} or {types[-1]}"


_UNION_PARTS = (
    "str",
    "dict[str,any]",
    "list[any]",
    "function-before[_check_content(), union[str,dict[str,any],list[any]]]",
)


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"a boolean ({str(value).lower()})"
    if isinstance(value, int | float):
        return f"a number ({value!r})"
    if isinstance(value, str):
        return f"a string ({value[:40]!r})"
    return {"list": "an array", "dict": "an object", "tuple": "a tuple"}.get(type(value).__name__, type(value).__name__)
