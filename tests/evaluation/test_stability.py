"""Models whose faults are known, and whether the probes see them."""

from __future__ import annotations

import pytest
from scripted import ScriptedDecider, hashed_scores

from forthwith.errors import DataError
from forthwith.evaluation.rewordings import label_words, option_orders, paraphrases
from forthwith.evaluation.stability import ProbeResult, StabilityOptions, StabilityReport, measure_stability
from forthwith.schema import Choice, Noul, NoulCriteria, Record, Request, Score, option_keys, parse_record


def records(count: int = 12, words: int = 3) -> list[Record]:
    return [
        parse_record(
            {
                "id": f"r{n}",
                "task": "letters",
                "state": " ".join([f"state{n}"] * words),
                "questions": {
                    "pick": {"type": "choice", "instructions": "Which?", "criteria": {"a": "A", "b": "B", "c": "C"}},
                    "late": {"type": "noul", "instructions": "Late?"},
                },
                "targets": {"pick": {"label": "a"}, "late": {"label": "no"}},
            }
        )
        for n in range(count)
    ]


def find(report: StabilityReport, probe: str, variant: str) -> ProbeResult:
    return next(result for result in report.probes if (result.probe, result.variant) == (probe, variant))


def test_a_model_that_reads_options_by_name_never_flips_on_order() -> None:
    def by_name(request: Request, qid: str) -> list[float]:
        question = request.questions[qid]
        return [
            {"a": -1.0, "b": -3.0, "c": -2.0}.get(key, -1.0 if key in ("true", "yes") else -2.0)
            for key in option_keys(question)
        ]

    report = measure_stability(records(), ScriptedDecider(scores=by_name))
    for variant in ("reversed", "shuffle 1"):
        result = find(report, "option order", variant)
        assert (result.questions, result.flips, result.mean_tvd) == (12, 0, 0)
        assert result.accuracy == result.accuracy_varied == 1
    assert find(report, "label words", "false/true").flips == 0
    assert (report.records, report.questions, report.skipped) == (12, 24, 0)


def test_a_model_that_picks_the_first_option_flips_on_every_reversal() -> None:
    def first(request: Request, qid: str) -> list[float]:
        return [0.0, *[-3.0] * (len(option_keys(request.questions[qid])) - 1)]

    report = measure_stability(records(), ScriptedDecider(scores=first))
    result = find(report, "option order", "reversed")
    assert (result.flips, result.flip_rate, result.near_tie_flips) == (12, 1.0, 0)
    assert result.flip_low == pytest.approx(0.7575, abs=1e-4)  # Wilson, 12 of 12
    assert (result.accuracy, result.accuracy_varied) == (1.0, 0.0)
    # a noul lists no first, so the same model says no when asked as it stands and yes to a list that begins with true
    words = find(report, "label words", "true/false")
    assert words.flips == 12
    assert words.mean_yes is not None
    assert words.mean_yes_varied is not None
    assert words.mean_yes < 0.1
    assert words.mean_yes_varied > 0.9
    assert find(report, "label words", "false/true").flips == 0


def test_a_model_that_sees_the_other_questions_fails_isolation() -> None:
    def crowded(request: Request, qid: str) -> list[float]:
        scores = hashed_scores(request, qid)
        return [score * len(request.questions) for score in scores]

    apart = StabilityOptions(together=False)
    report = measure_stability(records(), ScriptedDecider(scores=crowded), options=apart)
    assert find(report, "isolation", "alone").max_tvd > 0.05
    assert find(report, "isolation", "one more question").max_tvd > 0.05
    clean = measure_stability(records(), ScriptedDecider(), options=apart)
    assert [result.max_tvd for result in clean.probes if result.probe == "isolation"] == [0, 0, 0]


def test_together_and_apart_agree_for_a_model_that_isolates() -> None:
    together = measure_stability(records(), ScriptedDecider())
    apart = measure_stability(records(), ScriptedDecider(), options=StabilityOptions(together=False))
    by_key = {(result.probe, result.variant): result for result in apart.probes}
    assert {(result.probe, result.variant): result for result in together.probes} == by_key


def test_near_ties_are_told_apart_from_real_flips() -> None:
    def nearly(request: Request, qid: str) -> list[float]:
        return [0.01 * -index for index in range(len(option_keys(request.questions[qid])))]

    result = find(measure_stability(records(), ScriptedDecider(scores=nearly)), "option order", "reversed")
    assert result.flips == result.near_tie_flips == 12


def test_records_that_are_too_long_are_counted() -> None:
    report = measure_stability([*records(2), *records(1, words=2000)], ScriptedDecider())
    assert report.records == 2
    assert report.skipped > 0


def test_no_records_is_an_error() -> None:
    with pytest.raises(DataError, match="no records"):
        measure_stability([], ScriptedDecider())


def test_rewordings_keep_the_meaning() -> None:
    noul = Noul(instructions="Late?", criteria=NoulCriteria(true="after ten", false="before ten"))
    swapped = next(variant for variant in label_words(noul) if variant.name == "no/yes").question
    assert isinstance(swapped, Choice)
    assert swapped.criteria == {"no": "before ten", "yes": "after ten"}
    choice = Choice(instructions={"task": "pick"}, criteria={"a": None, "b": None, "c": None})
    orders = option_orders(choice, orders=3, seed=1)
    assert [variant.name for variant in orders] == ["reversed", "shuffle 1", "shuffle 2"]
    assert list(orders[0].question.criteria or {}) == ["c", "b", "a"]
    assert option_orders(choice, orders=3, seed=1) == orders
    assert paraphrases(choice) == []
    assert option_orders(Score(criteria=["x", "y"]), orders=2, seed=1) == []
    assert paraphrases(Noul(instructions="Is {it}?"))[0].question.instructions == (
        "Please answer this question. Is {it}?"
    )
