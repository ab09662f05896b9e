"""The OpenAPI document: what each route takes and gives, as precisely as JSON Schema can say it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from forthwith.schema import MAX_LEVELS, MAX_OPTIONS

__all__ = ["describe"]

_Schema = dict[str, Any]
_PROBABILITY: _Schema = {"type": "number", "minimum": 0, "maximum": 1}
_COUNT: _Schema = {"type": "integer", "minimum": 0}
_STATUSES = {
    "400": "An unknown model, or a body whose encoding is broken.",
    "401": "The API key is missing or unknown.",
    "408": "The body did not arrive in time.",
    "413": "The body or the request's tokens are over a limit.",
    "415": "The body is not JSON, or its encoding is not read here.",
    "422": "Fields are missing or wrong; the answer names them.",
    "429": "Too many requests, for this key or for the server; retry as the headers say.",
    "500": "The model failed on this request.",
    "503": "The model cannot answer now.",
}


def describe(app: FastAPI, names: Sequence[str]) -> None:
    """Give the app its document, made when first asked for.

    Args:
        app: with all its routes.
        names: the model names it answers to.
    """

    def document() -> _Schema:
        if app.openapi_schema is None:
            made = get_openapi(title="Forthwith", version="1", routes=app.routes, description=_DESCRIPTION)
            made["components"] = {
                "schemas": _system_one(names) | _openai(names) | _failures(),
                "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            }
            _fill_paths(made["paths"])
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = document


_DESCRIPTION = (
    "Typed questions about a state in, calibrated probabilities out. Members that start with x_ are extensions."
)


def _fill_paths(paths: _Schema) -> None:
    decisions = {
        "/v1/systemone": ("Decide", "SystemOneRequest", "SystemOneResponse", "Problem"),
        "/v1/decisions": ("Decide, OpenAI Decisions form", "DecisionsRequest", "DecisionsResponse", "OpenAIError"),
        "/api/alpha/decisions": (
            "Decide, OpenRouter form",
            "OpenRouterRequest",
            "SystemOneResponse",
            "OpenRouterError",
        ),
    }
    for path, (summary, request, response, failure) in decisions.items():
        paths[path]["post"] |= {
            "summary": summary,
            "security": [{}, {"key": []}],
            "requestBody": {"required": True, "content": _json_of(request)},
            "responses": {
                "200": {"description": "The answers.", "content": _json_of(response)},
                **{status: {"description": text, "content": _json_of(failure)} for status, text in _STATUSES.items()},
            },
        }
    paths["/v1/models"]["get"] |= {
        "summary": "The models there are",
        "security": [{}, {"key": []}],
        "responses": {
            "200": {"description": "The models.", "content": _json_of("Models")},
            "401": {"description": _STATUSES["401"], "content": _json_of("Problem")},
        },
    }
    for path, text in {"/healthz": "Alive.", "/readyz": "Ready."}.items():
        paths[path]["get"]["responses"] = {
            "200": {"description": text, "content": {"application/json": {"schema": {"type": "object"}}}},
            "503": {"description": "Not so.", "content": _json_of("Problem")},
        }
    paths["/metrics"]["get"]["responses"] = {
        "200": {"description": "Prometheus text.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    }


def _json_of(name: str) -> _Schema:
    return {"application/json": {"schema": _ref(name)}}


def _ref(name: str) -> _Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: Sequence[str] = (), **properties: _Schema) -> _Schema:
    return {"type": "object", "required": list(required), "properties": properties} if required else {
        "type": "object", "properties": properties
    }  # fmt: skip


def _one_of(*schemas: _Schema) -> _Schema:
    return {"anyOf": list(schemas)}


def _array(items: _Schema, least: int = 0, most: int | None = None) -> _Schema:
    return {"type": "array", "items": items, "minItems": least} | ({} if most is None else {"maxItems": most})


def _constant(value: str) -> _Schema:
    return {"type": "string", "enum": [value]}


_NULL: _Schema = {"type": "null"}
_TEXT: _Schema = {"type": "string"}


def _system_one(names: Sequence[str]) -> _Schema:
    content, nullable = _ref("Content"), _one_of(_ref("Content"), _NULL)
    sides: _Schema = _object(true=nullable, false=nullable) | {"additionalProperties": False}
    with_yes = _object(("true",), true=content, false=nullable) | {"additionalProperties": False}
    with_no = _object(("false",), true=nullable, false=content) | {"additionalProperties": False}
    described = _one_of(with_yes, with_no)
    options = {"type": "object", "additionalProperties": nullable, "minProperties": 2, "maxProperties": MAX_OPTIONS}
    questions = _one_of(_ref("Noul"), _ref("Choice"), _ref("Score"))
    family = _one_of(_TEXT | {"minLength": 1}, _NULL)
    request = _object(
        ("state", "questions"),
        model=_one_of({"type": "string", "enum": list(names)}, _NULL),
        state=content,
        questions={
            "type": "object",
            "additionalProperties": questions,
            "minProperties": 1,
            "propertyNames": {"minLength": 1, "maxLength": 1000},
        },
        assets=_NULL,
    )
    noul_type = _constant("noul")
    return {
        "Content": _one_of(_TEXT, {"type": "object"}, {"type": "array", "items": {}}),
        "Noul": _one_of(
            _object(
                ("type", "instructions"),
                type=noul_type,
                instructions=content,
                criteria=_one_of(sides, _NULL),
                x_family=family,
            ),
            _object(("type", "criteria"), type=noul_type, instructions=nullable, criteria=described, x_family=family),
        ),
        "Choice": _object(
            ("type", "criteria"), type=_constant("choice"), instructions=nullable, criteria=options, x_family=family
        ),
        "Score": _object(
            ("type", "criteria"),
            type=_constant("score"),
            instructions=nullable,
            criteria=_array(content, 2, MAX_LEVELS),
            x_family=family,
        ),
        "SystemOneRequest": request,
        "OpenRouterRequest": request,
        "SystemOneResponse": _system_one_response(),
        "Models": _object(
            ("models",),
            models=_array(
                _object(
                    ("name", "description", "release_date"),
                    name=_TEXT,
                    description=_TEXT,
                    release_date={"type": "string", "format": "date"},
                ),
                1,
            ),
        ),
    }


def _system_one_response() -> _Schema:
    shares = {"type": "object", "additionalProperties": _PROBABILITY}
    noul = _object(("type", "noul"), type=_constant("noul"), noul=_PROBABILITY)
    choice = _object(
        ("type", "choice", "confidence", "probabilities"),
        type=_constant("choice"),
        choice=_TEXT,
        confidence=_PROBABILITY,
        probabilities=shares,
    )
    score = _object(
        ("type", "score", "confidence", "probabilities", "legend"),
        type=_constant("score"),
        score={"type": "number", "minimum": 0, "maximum": MAX_LEVELS - 1},
        confidence=_PROBABILITY,
        probabilities=shares,
        legend={"type": "object", "additionalProperties": _ref("Content")},
    )
    return _object(
        ("model", "answers", "usage"),
        model=_TEXT,
        answers={"type": "object", "additionalProperties": _one_of(noul, choice, score)},
        usage=_object(("input_tokens", "output_tokens"), input_tokens=_COUNT, output_tokens=_COUNT),
        x_bundle=_TEXT,
        x_calibrated={"type": "boolean"},
    )


def _openai(names: Sequence[str]) -> _Schema:
    part = _object(("type", "text"), type=_constant("input_text"), text=_TEXT)
    content = _one_of(_TEXT, _array(part, 1))
    role: _Schema = {"type": "string", "enum": ["user", "developer", "system", "assistant"]}
    message = _object(("role", "content"), type=_constant("message"), role=role, content=content)
    name = _one_of(_TEXT, _NULL)
    value = _one_of(_TEXT, {"type": "boolean"})
    option = _object(("value",), value=value, description=name)
    level = _object(("label",), label=_TEXT, description=name)
    required = ("type", "instructions")
    predicate = _object(required, type=_constant("predicate"), instructions=content, name=name)
    choice = _object((*required, "choices"), type=_constant("choice"), instructions=content, name=name,
                     choices=_array(option, 2, MAX_OPTIONS))  # fmt: skip
    score = _object((*required, "levels"), type=_constant("score"), instructions=content, name=name,
                    levels=_array(level, 2, MAX_LEVELS))  # fmt: skip
    return {
        "DecisionsRequest": _object(
            ("input", "questions"),
            model=_one_of({"type": "string", "enum": list(names)}, _NULL),
            input=_one_of(_TEXT, _array(message, 1)),
            questions=_array(_one_of(predicate, choice, score), 1, 400),
        ),
        "DecisionsResponse": _object(
            ("model", "answers", "usage"),
            model=_TEXT,
            answers=_array(_object(("type", "name"), type=_TEXT, name=name)),
            usage=_object(
                ("input_tokens", "output_tokens", "total_tokens"),
                input_tokens=_COUNT,
                output_tokens=_COUNT,
                total_tokens=_COUNT,
            ),
        ),
    }


def _failures() -> _Schema:
    item = _object(("loc", "msg", "type"), loc=_array(_one_of(_TEXT, {"type": "integer"})), msg=_TEXT, type=_TEXT)
    plain = _object(("error_type", "message"), error_type=_TEXT, message=_TEXT)
    optional = _one_of(_TEXT, _NULL)
    return {
        "Problem": _object(("detail",), detail=_one_of(_TEXT, plain, _array(item))),
        "OpenAIError": _object(
            ("error",),
            error=_object(("message", "type"), message=_TEXT, type=_TEXT, param=optional, code=optional),
        ),
        "OpenRouterError": _object(
            ("error",), error=_object(("code", "message"), code={"type": "integer"}, message=_TEXT)
        ),
    }
