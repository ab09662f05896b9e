from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.errors import RequestError
from forthwith.schema import Choice, Noul, Request, Score, option_descriptions, option_keys, parse_request

NOUL = {"type": "noul", "instructions": "Is it lost?"}


def problems(payload: object) -> dict[str, str]:
    with pytest.raises(RequestError) as caught:
        parse_request(payload)  # type: ignore[arg-type]
    return {".".join(map(str, problem.field)): problem.message for problem in caught.value.problems} or {
        "": str(caught.value)
    }


def ask(question: object, state: object = "s") -> dict[str, object]:
    return {"state": state, "questions": {"q": question}}


def test_every_question_type_is_read_with_its_option_keys_in_order() -> None:
    request = parse_request(
        {
            "state": {"a": [1, None, {"b": True}]},
            "questions": {
                "lost": NOUL,
                "queue": {"type": "choice", "criteria": {"z": None, "a": {"covers": ["x"]}, "": "empty name"}},
                "heat": {"type": "score", "criteria": ["calm", {"label": "hot"}]},
            },
        }
    )
    assert option_keys(request.questions["lost"]) == ("false", "true")
    assert option_keys(request.questions["queue"]) == ("z", "a", "")
    assert option_keys(request.questions["heat"]) == ("0", "1")
    assert option_descriptions(request.questions["queue"]) == (None, {"covers": ["x"]}, "empty name")
    assert option_descriptions(request.questions["lost"]) == (None, None)


def test_one_sided_criteria_are_enough_without_instructions() -> None:
    question = parse_request(ask({"type": "noul", "criteria": {"true": "it is lost"}})).questions["q"]
    assert option_descriptions(question) == (None, "it is lost")


@pytest.mark.parametrize(
    ("question", "field", "message"),
    [
        ({"type": "rank"}, "questions.q", "unknown question type 'rank'; use noul, choice or score"),
        ({}, "questions.q", "has no type; set type to noul, choice or score"),
        ({"type": "noul"}, "questions.q", "a noul needs instructions or a described side; add instructions"),
        (
            {"type": "noul", "instructions": "x", "criteria": {"maybe": "y"}},
            "questions.q.criteria.maybe",
            "is not a known field; remove it or check its spelling",
        ),
        (
            {"type": "choice", "criteria": {"a": None}},
            "questions.q.criteria",
            "a choice needs 2 to 255 options, found 1",
        ),
        (
            {"type": "choice", "criteria": {str(i): None for i in range(256)}},
            "questions.q.criteria",
            "a choice needs 2 to 255 options, found 256",
        ),
        ({"type": "choice", "criteria": ["a", "b"]}, "questions.q.criteria", "must be an object, not an array"),
        ({"type": "choice"}, "questions.q.criteria", "is missing; add it"),
        ({"type": "score", "criteria": ["a"] * 11}, "questions.q.criteria", "a score needs 2 to 10 levels, found 11"),
        ({"type": "score", "criteria": {"0": "a"}}, "questions.q.criteria", "must be an array, not an object"),
        (
            {"type": "score", "criteria": ["a", None]},
            "questions.q.criteria.1",
            "must be a string, an object or an array, not null",
        ),
        (
            {"type": "noul", "instructions": 3},
            "questions.q.instructions",
            "must be a string, an object or an array, not a number (3)",
        ),
        (
            {"type": "noul", "instructions": {"x": math.nan}},
            "questions.q.instructions",
            "the value.x is nan; JSON has no such number, send text or leave it out",
        ),
        ("yes?", "questions.q", "must be an object, not a string ('yes?')"),
        (
            {"type": "noul", "instrutions": "x", "instructions": "y"},
            "questions.q.instrutions",
            "is not a known field; remove it or check its spelling",
        ),
    ],
)
def test_a_bad_question_names_its_field_and_what_to_do(question: object, field: str, message: str) -> None:
    assert problems(ask(question)) == {field: message}


@pytest.mark.parametrize(
    ("state", "found"),
    [(None, "null"), (3, "a number (3)"), (1.5, "a number (1.5)"), (True, "a boolean (true)"), ((1,), "a tuple")],
)
def test_a_state_must_be_text_object_or_array(state: object, found: str) -> None:
    assert problems(ask(NOUL, state)) == {"state": f"must be a string, an object or an array, not {found}"}


def test_missing_parts_are_named_together() -> None:
    assert problems({}) == {"state": "is missing; add it", "questions": "is missing; add it"}
    assert problems({"state": "s", "questions": {}}) == {"questions": "is empty; ask at least one question"}
    assert problems({"state": "s", "questions": [NOUL]}) == {"questions": "must be an object, not an array"}
    assert problems([1]) == {"": "a request must be an object with state and questions, not an array"}


def test_option_names_must_be_valid_unicode() -> None:
    assert (
        "lone surrogate"
        in problems(ask({"type": "choice", "criteria": {"\ud800": None, "b": None}}))["questions.q.criteria"]
    )


def test_option_names_must_be_text() -> None:
    found = problems(ask({"type": "choice", "criteria": {1: None, "b": None}}))
    assert found == {"questions.q.criteria": "the option name 1 must be a string"}


def test_a_request_passes_through_unchanged() -> None:
    request = Request(state="s", questions={"q": Noul(instructions="x")})
    assert parse_request(request) is request


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2, max_size=30, unique=True))
def test_option_names_come_back_byte_for_byte(names: list[str]) -> None:
    assert option_keys(Choice(criteria=dict.fromkeys(names))) == tuple(names)


@given(st.integers(2, 10))
def test_levels_are_numbered_from_zero(count: int) -> None:
    assert option_keys(Score(criteria=["level"] * count)) == tuple(str(level) for level in range(count))
