"""Candidate against baselines, on files worked by hand."""

from __future__ import annotations

import pytest

from forthwith.errors import DataError
from forthwith.evaluation.align import AlignedQuestions, align
from forthwith.evaluation.compare import CompareOptions, Contender, compare
from forthwith.evaluation.predictions import Prediction
from forthwith.schema import parse_record

FEW = CompareOptions(n_resamples=999)


def aligned(right: list[bool], *, ambiguous: int = 0) -> AlignedQuestions:
    """Yes/no questions of two families; the answer is yes, and the model says yes where `right`."""
    total = len(right) + ambiguous
    tie = {"distribution": {"yes": 0.5, "no": 0.5}}
    records = [
        parse_record(
            {
                "id": f"r{n}",
                "task": f"family{n % 2}",
                "state": "s",
                "questions": {"q": {"type": "noul", "instructions": "?"}},
                "targets": {"q": {"label": "yes"} if n < len(right) else tie},
                "meta": {"user_id": f"u{n // 2}"},
            }
        )
        for n in range(total)
    ]
    predictions = [
        Prediction(
            id=f"r{n}", qid="q", type="noul", family=f"family{n % 2}", options=["false", "true"], readout="label",
            log_scores=[0.0, 1.0 if n >= len(right) or right[n] else -1.0], probabilities=[0.5, 0.5],
        )
        for n in range(total)
    ]  # fmt: skip
    return align(predictions, records)


def test_differences_are_candidate_minus_baseline_by_family_and_macro() -> None:
    new = [True] * 8 + [True, False]  # family0 5 of 5, family1 4 of 5
    old = [True, False] * 5  # family0 5 of 5, family1 0 of 5
    (result,) = compare(Contender("new", aligned(new, ambiguous=3)), [Contender("old", aligned(old, ambiguous=3))], FEW)
    assert (result.questions, result.clusters) == (10, 5)
    assert result.families["family0"].difference == 0
    assert result.families["family1"].difference == pytest.approx(0.8)
    assert result.macro.difference == pytest.approx(0.4)
    assert result.micro.difference == pytest.approx(0.4)
    assert (result.only_candidate, result.only_baseline) == (4, 0)
    assert result.mcnemar_p == pytest.approx(2 / 2**4)
    assert result.macro.low <= 0.4 <= result.macro.high


def test_holm_corrects_over_all_comparisons_and_p_has_its_floor() -> None:
    new, old = aligned([True] * 40), aligned([False] * 40)
    results = compare(Contender("new", new), [Contender(f"old{n}", old) for n in range(5)], FEW)
    assert [result.p_value for result in results] == [pytest.approx(1 / 1000)] * 5
    assert [result.p_holm for result in results] == [pytest.approx(5 / 1000)] * 5


def test_a_model_is_equivalent_to_itself() -> None:
    same = aligned([True, False] * 20)
    (result,) = compare(Contender("a", same), [Contender("b", same)], CompareOptions(n_resamples=999, margin=0.02))
    assert result.equivalence is not None
    assert result.equivalence.is_equivalent
    assert result.p_value == 1.0
    assert result.sign_flip_p == 1.0


def test_other_questions_and_missing_baselines_are_refused() -> None:
    one, two = aligned([True] * 4), aligned([True] * 5)
    with pytest.raises(DataError, match="new and old do not answer the same questions"):
        compare(Contender("new", one), [Contender("old", two)], FEW)
    with pytest.raises(DataError, match="nothing to compare with"):
        compare(Contender("new", one), [], FEW)
    with pytest.raises(DataError, match="no question has one right answer"):
        compare(Contender("new", aligned([], ambiguous=3)), [Contender("old", aligned([], ambiguous=3))], FEW)
