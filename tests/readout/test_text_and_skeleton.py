from __future__ import annotations

import numpy as np
import pytest

from forthwith.errors import RequestError
from forthwith.model import Model
from forthwith.readout import SkeletonReadout, TextReadout
from forthwith.schema import Choice, Noul, Score
from forthwith.testing import ScriptedEngine, tiny_encoder

ENCODER = tiny_encoder()


def test_text_scores_are_pointwise_mutual_information_with_the_state() -> None:
    with_state = ENCODER.text("N/A")

    def script(path: tuple[int, ...], candidates: tuple[int, ...]) -> np.ndarray:
        content_free = any(path[i : i + len(with_state)] == with_state for i in range(len(path)))
        return np.full(len(candidates), -2.0 if content_free else -1.5)

    model = Model(ScriptedEngine(script), ENCODER, TextReadout())
    answer = model.decide("late", {"q": Choice(criteria={"k1": "ab", "k2": "abcd"})})["q"]
    assert answer.log_scores.tolist() == pytest.approx([2 * 0.5, 4 * 0.5])  # half a nat a token
    assert answer.allowed_mass is None


def test_text_reads_every_token_of_every_option_type() -> None:
    model = Model(ScriptedEngine(), ENCODER, TextReadout())
    decision = model.decide(
        {"a": 1}, {"n": Noul(instructions="?"), "s": Score(criteria=["low", {"x": "high"}]), "c": Choice(criteria={"": None, "b": None})}
    )  # fmt: skip
    assert all(np.isfinite(answer.log_scores).all() for answer in decision.answers.values())


def test_a_skeleton_is_one_sequence_with_one_read_a_field() -> None:
    model = Model(ScriptedEngine(), ENCODER, SkeletonReadout())
    request = {
        "state": "s",
        "questions": {
            "a": {"type": "noul", "criteria": {"true": "yes it is"}},
            "b": {"type": "choice", "criteria": {"x": None, "y": None, "z": None}},
        },
    }
    (tree,) = model.prepare(request).plan.trees
    assert [segment.parent for segment in tree.segments] == [-1, 0]
    assert [len(read.candidates) for read in tree.reads] == [2, 3]
    assert [tree.segments[1].ids[read.offset] for read in tree.reads] == [ENCODER.text('"')[0]] * 2
    assert model.decide(request)["b"].probabilities.sum() == pytest.approx(1.0)


def test_a_skeleton_never_holds_an_answer_and_earlier_fields_ignore_later_ones() -> None:
    model = Model(ScriptedEngine(), ENCODER, SkeletonReadout())
    first = model.decide("s", {"a": Noul(instructions="?")})
    assert first["a"].keys == ("false", "true")


def test_more_options_than_symbols_are_refused_not_cut() -> None:
    model = Model(ScriptedEngine(), ENCODER, SkeletonReadout())
    with pytest.raises(
        RequestError, match=r"questions\.q\.criteria: the skeleton readout has 62 symbols and this question 63"
    ):
        model.decide("s", {"q": Choice(criteria={str(i): None for i in range(63)})})
    assert len(model.decide("s", {"q": Choice(criteria={str(i): None for i in range(62)})})["q"].keys) == 62
