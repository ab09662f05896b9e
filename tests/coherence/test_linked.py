"""A request there and back."""

from __future__ import annotations

import numpy as np
import pytest

from forthwith.coherence import coherent_answers, link_request
from forthwith.errors import RequestError, ShapeError
from forthwith.schema import Choice, Noul, Request, Score

REQUEST = Request(
    state="It is nine.",
    questions={
        "late": Noul(instructions="Is it late?"),
        "who": Choice(instructions="Who?", criteria={"a": None, "b": None, "c": None}),
        "loud": Score(instructions="How loud?", criteria=["low", "middle", "high"]),
    },
)


def test_every_question_is_asked_with_its_siblings_about_the_same_state() -> None:
    linked = link_request(REQUEST)
    assert list(linked.request.questions) == [
        "late", "late/not", "late/true_or_false",
        "who", "who/is:a", "who/is:b", "who/is:c",
        "loud", "loud/at_least:1", "loud/at_least:2",
    ]  # fmt: skip
    assert linked.request.state == REQUEST.state


def test_answers_come_back_coherent_one_for_each_question_asked() -> None:
    answers = {
        "late": [0.2, 0.8], "late/not": [0.6, 0.4], "late/true_or_false": [0.7, 0.3],
        "who": [0.6, 0.3, 0.1], "who/is:a": [0.1, 0.9], "who/is:b": [0.5, 0.5], "who/is:c": [0.8, 0.2],
        "loud": [0.2, 0.5, 0.3], "loud/at_least:1": [0.1, 0.9], "loud/at_least:2": [0.6, 0.4],
    }  # fmt: skip
    coherent = coherent_answers(link_request(REQUEST), {qid: np.array(p) for qid, p in answers.items()})
    assert coherent["late"] == pytest.approx([0.30, 0.70])
    assert coherent["who"] == pytest.approx([0.65, 0.30, 0.05])
    assert coherent["loud"] == pytest.approx([0.15, 0.50, 0.35])


def test_a_missing_sibling_is_named() -> None:
    with pytest.raises(ShapeError, match="no answer for the sibling 'not'"):
        coherent_answers(link_request(REQUEST), {"late": np.array([0.5, 0.5])})


def test_an_id_that_a_sibling_needs_is_refused() -> None:
    taken = Request(state="s", questions={"q": Noul(instructions="?"), "q/not": Noul(instructions="??")})
    with pytest.raises(RequestError, match=r"questions.q/not: a sibling of 'q' needs this id"):
        link_request(taken)
