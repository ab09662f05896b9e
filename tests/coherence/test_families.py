"""Siblings: which are asked, how many, and that each stands on its own."""

from __future__ import annotations

import pytest

from forthwith.coherence import build_family
from forthwith.errors import RequestError
from forthwith.schema import Choice, Noul, NoulCriteria, Score


def options(count: int) -> Choice:
    return Choice(instructions="Which?", criteria={f"o{index}": f"meaning {index}" for index in range(count)})


@pytest.mark.parametrize(("count", "size"), [(77, 81), (151, 155), (28, 32), (3, 6)])
def test_choice_families_have_the_published_sizes(count: int, size: int) -> None:
    assert build_family(options(count), seed="s").size == size


@pytest.mark.parametrize(("levels", "size"), [(5, 9), (6, 10), (3, 5)])
def test_score_families_have_the_published_sizes(levels: int, size: int) -> None:
    assert build_family(Score(criteria=["x"] * levels), seed="s").size == size


def test_a_noul_family_has_four_answers() -> None:
    assert build_family(Noul(instructions="?"), seed="s").size == 4


def test_the_same_seed_asks_the_same_options_and_another_seed_others() -> None:
    question = options(50)
    assert build_family(question, seed="r1/q") == build_family(question, seed="r1/q")
    assert len({build_family(question, seed=str(seed)).asked for seed in range(5)}) > 1


def test_included_options_are_asked() -> None:
    family = build_family(options(50), seed="s", include=["o7", "o3", "o7"])
    assert {3, 7} <= set(family.asked)
    assert len(family.asked) == 4
    assert build_family(options(50), seed="s", include=["o1", "o2", "o3", "o4", "o5"]).asked == (1, 2, 3, 4)
    assert 2 in build_family(Score(criteria=["x"] * 9), seed="s", include=["2", "0"]).asked


def test_an_unknown_option_to_include_is_refused() -> None:
    with pytest.raises(RequestError, match="'o9' is not an option"):
        build_family(options(3), seed="s", include=["o9"])


def test_negation_swaps_the_criteria_and_keeps_the_question() -> None:
    question = Noul(instructions="Is it late?", criteria=NoulCriteria(true="after ten", false="before ten"))
    family = build_family(question, seed="s")
    negation, claim = family.siblings["not"], family.siblings["true_or_false"]
    assert isinstance(negation, Noul)
    assert negation.criteria == NoulCriteria(true="before ten", false="after ten")
    assert str(negation.instructions).startswith("Question: Is it late?\n")
    assert isinstance(claim, Choice)
    assert claim.criteria == {"true": "after ten", "false": "before ten"}


def test_nested_instructions_stay_nested() -> None:
    question = Choice(instructions={"task": "pick"}, criteria={"a": None, "b": ["x", "y"]})
    siblings = build_family(question, seed="s").siblings
    assert siblings["is:b"].instructions == {
        "question": {"task": "pick"},
        "asked": 'Is "b" the right answer to that question?',
        "meaning": ["x", "y"],
    }


def test_thresholds_name_the_level_and_the_ends_of_the_scale() -> None:
    family = build_family(Score(instructions="How loud?", criteria=["silent", "audible", "loud"]), seed="s")
    assert list(family.siblings) == ["at_least:1", "at_least:2"]
    text = str(family.siblings["at_least:2"].instructions)
    assert "How loud?" in text
    assert "Meaning: loud" in text
    assert '"silent"' in text
