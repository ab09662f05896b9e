from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.calibration import softmax
from forthwith.errors import ArtifactError, ConfigError
from forthwith.model import Model
from forthwith.readout import LabelReadout, readout_by_name
from forthwith.readout.label import balanced_orders, find_identifiers
from forthwith.schema import Choice, Noul, Score
from forthwith.testing import ScriptedEngine, tiny_encoder

ENCODER = tiny_encoder()
CUE = ENCODER.frame("s")[1]


def by_label(values: dict[str, float]) -> ScriptedEngine:
    """An engine whose log-probability of a label depends on the label alone: pure position bias."""
    tokens = {ENCODER.single_token(CUE, label): value for label, value in values.items()}
    return ScriptedEngine(lambda _path, candidates: np.array([tokens[token] for token in candidates]))


def test_labels_are_letters_words_and_digits() -> None:
    engine = by_label({"A": -1.0, "B": -2.0, "yes": -0.5, "no": -1.5, "0": -3.0, "1": -1.0})
    decision = Model(engine, ENCODER, LabelReadout()).decide(
        "s",
        {"c": Choice(criteria={"x": None, "y": None}), "n": Noul(instructions="?"), "s": Score(criteria=["l", "h"])},
    )
    assert decision["c"].log_scores.tolist() == [-1.0, -2.0]
    assert decision["n"].log_scores.tolist() == [-1.5, -0.5]
    assert decision["s"].log_scores.tolist() == [-3.0, -1.0]
    assert decision["c"].allowed_mass == pytest.approx(np.exp(-1) + np.exp(-2))


def test_balanced_orders_cancel_position_bias() -> None:
    engine = by_label({"A": 0.0, "B": -1.0, "C": -3.0})
    question = {"q": Choice(criteria={"x": None, "y": None, "z": None})}
    for average in ("probability", "log"):
        answer = Model(engine, ENCODER, LabelReadout(orders=3, average=average)).decide("s", question)["q"]
        assert answer.probabilities.tolist() == pytest.approx([1 / 3] * 3)


def test_two_orders_are_averaged_as_probabilities_or_as_logs() -> None:
    engine = by_label({"A": np.log(0.9), "B": np.log(0.1)})
    question = {"q": Choice(criteria={"x": None, "y": None})}
    answer = Model(engine, ENCODER, LabelReadout(orders=2)).decide("s", question)["q"]
    assert answer.probabilities.tolist() == pytest.approx([0.5, 0.5])


def test_the_content_free_prior_is_divided_out() -> None:
    engine = by_label({"yes": np.log(0.6), "no": np.log(0.2)})
    answer = Model(engine, ENCODER, LabelReadout(divide_prior=True)).decide("s", {"q": Noul(instructions="?")})["q"]
    assert softmax(answer.log_scores).tolist() == pytest.approx([0.5, 0.5])  # state and placeholder answer alike
    assert answer.allowed_mass == pytest.approx(0.8)


def test_priors_are_read_once_for_equal_questions() -> None:
    engine = ScriptedEngine()
    model = Model(engine, ENCODER, LabelReadout(divide_prior=True))
    trees: list[int] = []
    engine._before = lambda batch: trees.append(len(batch))
    for state in ("one", "two"):
        model.decide(state, {"q": Noul(instructions="?")})
    assert trees == [2, 1]


@given(st.integers(1, 8), st.integers(1, 3))
def test_full_sets_of_orders_balance_every_place(count: int, sets: int) -> None:
    orders = balanced_orders(count, count * sets)
    for place in range(count):
        assert np.bincount([order[place] for order in orders], minlength=count).tolist() == [sets] * count


def test_255_identifiers_are_distinct_single_tokens() -> None:
    names, tokens = find_identifiers(ENCODER, CUE, 255)
    assert names[:3] == ("A", "B", "C")
    assert names[26] == "AA"
    assert len(set(tokens)) == 255


def test_too_many_options_for_the_tokenizer_are_refused() -> None:
    with pytest.raises(ArtifactError, match="too few one-token labels"):
        find_identifiers(ENCODER, CUE, 5000)


@pytest.mark.parametrize(
    "name",
    ["branch", "label", "label(orders=3,log)", "label(orders=2,probability,prior)", "label(prior)", "skeleton", "text"],
)
def test_a_readout_is_found_by_its_own_name(name: str) -> None:
    assert readout_by_name(name).name == name


@pytest.mark.parametrize("name", ["brunch", "label(orders=0)", "label(orders=x)", "label(fast)", "label("])
def test_an_unknown_readout_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(ConfigError, match="use one of branch, label"):
        readout_by_name(name)
