from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from forthwith.decision import Answer, Decision, Usage
from forthwith.errors import RequestError
from forthwith.serving.failures import Failure, failure_of
from forthwith.serving.openai_decisions import OPENAI_DECISIONS, render_failure

BODY: dict[str, Any] = {
    "model": "m",
    "input": "A parcel.",
    "questions": [
        {"type": "predicate", "instructions": "Lost?", "name": "lost"},
        {
            "type": "choice",
            "instructions": [{"type": "input_text", "text": "Which"}, {"type": "input_text", "text": "queue?"}],
            "choices": [{"value": True, "description": "yes"}, {"value": "true"}, {"value": "other"}],
        },
        {
            "type": "score",
            "instructions": "How?",
            "levels": [{"label": "low"}, {"label": "high", "description": "very"}],
        },
    ],
}


def read(**change: Any) -> Any:
    return OPENAI_DECISIONS.read(BODY | change)


def test_questions_become_ours_by_position() -> None:
    questions = read().request.questions
    assert list(questions) == ["0", "1", "2"]
    assert questions["0"].type == "noul"
    assert questions["1"].instructions == "Which\nqueue?"
    assert questions["1"].criteria == {"true (boolean)": "yes", "true": None, "other": None}
    assert questions["2"].criteria == ["low", {"label": "high", "description": "very"}]


def test_answers_come_in_order_with_the_callers_values() -> None:
    def answer(kind: str, keys: tuple[str, ...], shares: list[float]) -> Answer:
        return Answer(kind, keys, np.array(shares), np.log(shares), 0.5, verdict="ask")

    decision = Decision(
        {
            "0": answer("noul", ("false", "true"), [0.25, 0.75]),
            "1": answer("choice", ("true (boolean)", "true", "other"), [0.6, 0.3, 0.1]),
            "2": answer("score", ("0", "1"), [0.25, 0.75]),
        },
        model="m",
        calibrated=False,
        usage=Usage(input_tokens=30, cached_tokens=10),
        bundle_id="b",
    )
    assert read().render(decision) == {
        "model": "m",
        "answers": [
            {"type": "predicate", "name": "lost", "probability": 0.75, "x_verdict": "ask"},
            {
                "type": "choice",
                "name": None,
                "confidence": 0.5,
                "choice": True,
                "probabilities": [
                    {"value": True, "probability": 0.6},
                    {"value": "true", "probability": 0.3},
                    {"value": "other", "probability": 0.1},
                ],
                "x_verdict": "ask",
            },
            {
                "type": "score",
                "name": None,
                "confidence": 0.5,
                "score": 0.75,
                "probabilities": [
                    {"value": 0, "label": "low", "probability": 0.25},
                    {"value": 1, "label": "high", "probability": 0.75},
                ],
                "x_verdict": "ask",
            },
        ],
        "usage": {
            "input_tokens": 30,
            "input_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 30,
        },
        "x_bundle": "b",
        "x_calibrated": False,
    }


def test_conversations_become_states() -> None:
    items = [
        {"role": "developer", "content": "Be kind."},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_json", "data": {"a": [1]}}, {"type": "input_text", "text": "look"}],
        },
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"q":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "three"},
    ]
    assert read(input=items).request.state == [
        {"developer": "Be kind."},
        {"user": [{"a": [1]}, "look"]},
        {"assistant": "no"},
        {"tool_call": {"name": "find", "arguments": '{"q":1}'}},
        {"tool_output": "three"},
    ]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"input": None}, "input"),
        ({"input": []}, "input"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input.0"),
        ({"input": [{"type": "function_call_output", "call_id": "x", "output": "y"}]}, "input.0.call_id"),
        ({"input": [{"type": "video"}]}, "input.0.type"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input.0.role"),
        ({"questions": []}, "questions"),
        ({"questions": [{"type": "noul", "instructions": "x"}]}, "questions.0"),
        ({"questions": [{"instructions": "x"}]}, "questions.0"),
        ({"questions": [{"type": "choice", "name": "lost"}]}, "questions.0.instructions"),
        ({"questions": [BODY["questions"][1] | {"choices": [{"value": "a"}, {"value": "a"}]}]}, "questions.0"),
        ({"questions": [BODY["questions"][1] | {"instructions": []}]}, "questions.0"),
    ],
)
def test_wrong_fields_are_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(RequestError) as caught:
        read(**change)
    failure = failure_of(caught.value)
    assert failure.status == 422
    assert render_failure(failure)["error"]["param"].startswith(field)


def test_only_the_question_that_was_meant_is_judged() -> None:
    with pytest.raises(RequestError) as caught:
        read(questions=[{"type": "choice", "name": "lost"}, {"type": "predicate"}])
    assert str(caught.value) == (
        "questions.0.instructions: is missing; add it; questions.0.choices: is missing; add it;"
        " questions.1.instructions: is missing; add it"
    )


def test_errors_have_that_apis_shape() -> None:
    assert render_failure(Failure(401, "authentication_error", "no key")) == {
        "error": {"message": "no key", "type": "authentication_error", "param": None, "code": "authentication_error"}
    }
    assert render_failure(Failure(500, "internal_error", "oh"))["error"]["type"] == "server_error"
    assert render_failure(Failure(429, "overloaded", "oh"))["error"]["type"] == "rate_limit_error"


def test_system_one_bodies_on_this_path_are_read_as_such() -> None:
    asked = OPENAI_DECISIONS.read({"state": "s", "questions": {"q": {"type": "noul", "instructions": "x"}}})
    assert list(asked.request.questions) == ["q"]
