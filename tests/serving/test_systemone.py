from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from forthwith.decision import Answer, Decision, Usage
from forthwith.errors import ContextTooLongError, FieldProblem, OverloadedError, RequestError, UnknownModelError
from forthwith.serving.failures import Failure, failure_of
from forthwith.serving.systemone import (
    SYSTEM_ONE,
    read_families,
    read_request,
    render_failure,
    render_models,
    render_response,
)

LEVELS = ["calm", {"label": "furious", "signs": ["threats"]}, "gone"]
BODY = {
    "model": "jev-latest",
    "state": {"subject": "Parcel"},
    "questions": {
        "lost 📦.a-b": {"type": "noul", "instructions": None, "criteria": {"true": "gone", "false": None}},
        "queue": {"type": "choice", "criteria": {"Ünï": None, "b": {"covers": [1]}}},
        "heat": {"type": "score", "instructions": "How upset?", "criteria": LEVELS},
    },
}


def answer(kind: str, keys: tuple[str, ...], shares: list[float], confidence: float, **extra: object) -> Answer:
    return Answer(kind, keys, np.array(shares), np.log(shares), confidence, **extra)  # type: ignore[arg-type]


def test_a_decision_is_shown_as_the_contract_says() -> None:
    decision = Decision(
        {
            "lost 📦.a-b": answer("noul", ("false", "true"), [0.25, 0.75], 0.5, verdict="ask"),
            "queue": answer("choice", ("Ünï", "b"), [0.9, 0.1], 0.8, verdict="automate", none_score=1.5),
            "heat": answer("score", ("0", "1", "2"), [0.5, 0.25, 0.25], 0.1, lost_mass=0.01),
        },
        model="m",
        calibrated=True,
        usage=Usage(input_tokens=210, cached_tokens=7),
        bundle_id="abc",
    )
    assert render_response(decision, read_request(BODY)) == {
        "model": "m",
        "answers": {
            "lost 📦.a-b": {"type": "noul", "noul": 0.75, "x_confidence": 0.5, "x_verdict": "ask"},
            "queue": {
                "type": "choice",
                "choice": "Ünï",
                "confidence": 0.8,
                "probabilities": {"Ünï": 0.9, "b": 0.1},
                "x_verdict": "automate",
                "x_none_score": 1.5,
            },
            "heat": {
                "type": "score",
                "score": 0.75,
                "confidence": 0.1,
                "probabilities": {"0": 0.5, "1": 0.25, "2": 0.25},
                "legend": {"0": "calm", "1": LEVELS[1], "2": "gone"},
                "x_lost_mass": 0.01,
            },
        },
        "usage": {"input_tokens": 210, "output_tokens": 0, "x_cached_tokens": 7},
        "x_bundle": "abc",
        "x_calibrated": True,
    }


def test_unknown_members_are_ignored_where_the_contract_says_so() -> None:
    body = json.loads(json.dumps(BODY)) | {"temperature": 1, "assets": None}
    body["questions"]["queue"]["hint"] = "x"
    assert read_request(body) == read_request(BODY)


def test_a_question_may_name_its_family() -> None:
    body = json.loads(json.dumps(BODY))
    body["questions"]["queue"]["x_family"] = "route"
    body["questions"]["heat"]["x_family"] = None
    assert read_families(body) == {"queue": "route"}
    assert SYSTEM_ONE.read(body).families == {"queue": "route"}
    assert read_request(body) == read_request(BODY), "the family is not the model's business"


@pytest.mark.parametrize(
    ("change", "loc"),
    [
        ({"state": None}, ["body", "state"]),
        ({"questions": {}}, ["body", "questions"]),
        ({"questions": [1]}, ["body", "questions"]),
        ({"questions": {"": {"type": "noul", "instructions": "x"}}}, ["body", "questions", ""]),
        ({"questions": {"a": {"instructions": "x"}}}, ["body", "questions", "a"]),
        ({"questions": {"a": {"type": "boolean"}}}, ["body", "questions", "a"]),
        ({"questions": {"a": {"type": "box"}}}, ["body", "questions", "a"]),
        ({"questions": {"a": {"type": "noul"}}}, ["body", "questions", "a"]),
        ({"questions": {"a": {"type": "choice", "criteria": {}}}}, ["body", "questions", "a", "criteria"]),
        ({"questions": {"a": {"type": "score", "criteria": {"0": "x"}}}}, ["body", "questions", "a", "criteria"]),
        ({"questions": {"a": {"type": "score", "criteria": ["x", None]}}}, ["body", "questions", "a", "criteria", 1]),
        (
            {"questions": {"a": {"type": "noul", "instructions": "x", "x_family": 3}}},
            ["body", "questions", "a", "x_family"],
        ),
        (
            {"questions": {"a": {"type": "noul", "instructions": "x", "x_family": ""}}},
            ["body", "questions", "a", "x_family"],
        ),
        ({"model": 3}, ["body", "model"]),
        ({"assets": {"<image:1>": {}}}, ["body", "assets"]),
    ],
)
def test_wrong_fields_are_named(change: dict[str, object], loc: list[object]) -> None:
    with pytest.raises(RequestError) as caught:
        SYSTEM_ONE.read(BODY | change)
    failure = failure_of(caught.value)
    assert failure.status == 422
    assert render_failure(failure)["detail"][0]["loc"] == loc


def test_errors_have_the_shape_that_clients_read() -> None:
    unknown = failure_of(UnknownModelError("jev-9", ("m",)))
    assert (unknown.status, unknown.kind) == (400, "api_usage_error")
    assert render_failure(unknown)["detail"]["message"] == "unknown model 'jev-9'; known models: m"
    long = failure_of(ContextTooLongError(90, 80))
    assert (long.status, long.kind) == (413, "max_tokens_exceeded")
    busy = failure_of(OverloadedError("full", retry_after_s=100))
    assert busy.status == 429
    assert busy.all_headers() == {"retry-after": "15", "retry-after-ms": "15000"}  # clients give up above 20 s
    assert Failure(429, "x", "y", retry_after_s=0.25).all_headers() == {"retry-after": "1", "retry-after-ms": "250"}
    assert failure_of(ZeroDivisionError("secret")).message.find("secret") == -1
    one = failure_of(RequestError("bad", (FieldProblem(("a", 1), "is bad", "value_error"),)))
    assert render_failure(one) == {"detail": [{"loc": ["body", "a", 1], "msg": "is bad", "type": "value_error"}]}


def test_models_are_listed_as_the_contract_says() -> None:
    assert render_models({"m": "ours"}, "2026-10-01") == {
        "models": [{"name": "m", "description": "ours", "release_date": "2026-10-01"}]
    }


def test_the_dialect_needs_no_web_framework_and_no_torch() -> None:
    script = (
        "import sys, forthwith.serving.systemone; print(sorted({'fastapi', 'starlette', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
