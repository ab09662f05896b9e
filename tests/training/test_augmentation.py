"""Alterations keep what is right, or say that nothing is."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forthwith.schema import Choice, Record, parse_record
from forthwith.training.augmentation import OptionPool, augmented
from forthwith.training.config import Augmentation

RECORD = parse_record({
    "id": "r", "state": "The kettle leaks.",
    "questions": {"kind": {"type": "choice", "instructions": "What is it about?", "criteria": {
        "product_fault": "something broke", "lateDelivery": "it came late", "thanks": "praise", "refund": "money back"}}},
    "targets": {"kind": {"label": "product_fault", "distribution": {"product_fault": 0.75, "refund": 0.25}}},
})  # fmt: skip
POOL = OptionPool((("weather", "rain and sun"), ("sports", "games"), ("thanks", "praise")))


def altered(seed: int, **shares: float) -> tuple[Record, frozenset[str]]:
    return augmented(RECORD, Augmentation(**shares), np.random.default_rng(seed), POOL)


def choice_of(record: Record) -> Choice:
    question = record.questions["kind"]
    assert isinstance(question, Choice)
    return question


@given(st.integers(0, 10_000))
def test_the_right_option_keeps_its_meaning_under_every_alteration(seed: int) -> None:
    record, none_right = altered(
        seed, option_order=0.5, option_subset=0.5, rename_keys=0.5, letter_keys=0.3, drop_keys=0.3, reword=0.5, distractors=0.5
    )  # fmt: skip
    assert not none_right
    target, criteria = record.targets["kind"], choice_of(record).criteria
    assert criteria[target.label] == "something broke"
    assert 2 <= len(criteria) <= 7
    assert sum(target.distribution.values()) == 1.0
    assert set(target.distribution) <= set(criteria)


@given(st.integers(0, 10_000))
def test_none_of_these_takes_the_right_option_away(seed: int) -> None:
    record, none_right = altered(seed, none_of_these=1.0)
    assert none_right == {"kind"}
    assert "product_fault" not in choice_of(record).criteria


def test_the_same_draw_gives_the_same_record_and_nothing_is_altered_at_zero() -> None:
    assert altered(5, option_subset=1.0, reword=1.0) == altered(5, option_subset=1.0, reword=1.0)
    assert altered(5)[0] == RECORD


def test_dropped_descriptions_leave_speaking_keys() -> None:
    record, _ = altered(1, drop_descriptions=1.0)
    assert set(choice_of(record).criteria.values()) == {None}
    assert record.targets["kind"].label == "product_fault"


def test_distractors_never_repeat_an_option() -> None:
    for seed in range(30):
        record, _ = altered(seed, distractors=1.0)
        texts = list(choice_of(record).criteria.values())
        assert len(texts) == len(set(texts))
