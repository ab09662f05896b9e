from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.model import Model
from forthwith.readout import BranchReadout
from forthwith.schema import Choice, Noul, Score
from forthwith.testing import ScriptedEngine, tiny_encoder

ENCODER = tiny_encoder()
MODEL = Model(ScriptedEngine(), ENCODER, BranchReadout())
names = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=2, max_size=8, unique=True)


def fixed(no: float, yes: float) -> Model:
    return Model(ScriptedEngine(lambda _path, _candidates: np.array([no, yes])), ENCODER, BranchReadout())


def test_scores_are_log_odds_of_yes_and_mass_is_their_sum() -> None:
    decision = fixed(np.log(0.2), np.log(0.6)).decide(
        "s", {"c": Choice(criteria={"a": None, "b": None}), "n": Noul(instructions="?")}
    )
    assert decision["c"].log_scores.tolist() == pytest.approx([np.log(3), np.log(3)])
    assert decision["c"].probabilities.tolist() == pytest.approx([0.5, 0.5])
    assert decision["c"].none_score == pytest.approx(np.log(3))
    assert decision["c"].allowed_mass == pytest.approx(0.8)
    assert decision["n"].probabilities.tolist() == pytest.approx([0.25, 0.75])
    assert decision["n"].none_score is None


def test_the_tree_reads_state_once_and_one_leaf_an_option() -> None:
    request: Any = {
        "state": "the state",
        "questions": {
            "n": {"type": "noul", "instructions": "?"},
            "s": {"type": "score", "criteria": ["low", "mid", "high"]},
        },
    }
    (tree,) = MODEL.prepare(request).plan.trees
    assert [segment.parent for segment in tree.segments] == [-1, 0, 1, 0, 3, 3, 3]
    assert len(tree.reads) == 4
    assert tree.size < tree.plain_size


@given(names, st.randoms())
def test_permuting_options_permutes_the_answer(options: list[str], random: Any) -> None:
    shuffled = list(options)
    random.shuffle(shuffled)
    first = MODEL.decide("s", {"q": Choice(criteria=dict.fromkeys(options))})["q"]
    second = MODEL.decide("s", {"q": Choice(criteria=dict.fromkeys(shuffled))})["q"]
    by_key = dict(zip(second.keys, second.probabilities, strict=True))
    assert [by_key[key] for key in options] == pytest.approx(first.probabilities.tolist(), abs=1e-12)
    assert first.probabilities.sum() == pytest.approx(1.0, abs=1e-9)


@given(names, st.text(st.characters(exclude_categories=["Cs"])))
def test_another_question_and_other_ids_change_nothing(options: list[str], text: str) -> None:
    question = Choice(criteria=dict.fromkeys(options))
    alone = MODEL.decide("s", {"q": question})["q"]
    beside = MODEL.decide("s", {"x": Noul(instructions=text), "other": question, "y": Score(criteria=["a", "b"])})
    assert beside["other"].log_scores.tolist() == alone.log_scores.tolist()


def test_removing_an_option_leaves_the_scores_of_the_others() -> None:
    full = MODEL.decide("s", {"q": Choice(criteria={"a": "x", "b": None, "c": "z"})})["q"]
    less = MODEL.decide("s", {"q": Choice(criteria={"a": "x", "c": "z"})})["q"]
    assert less.log_scores.tolist() == full.log_scores[[0, 2]].tolist()


def test_255_options_are_answered() -> None:
    answer = MODEL.decide("s", {"q": Choice(criteria={f"option {i}": None for i in range(255)})})["q"]
    assert answer.probabilities.shape == (255,)
