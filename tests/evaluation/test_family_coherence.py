"""Sure loss over records, and the weight that is fitted on right answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scripted import ScriptedDecider, hashed_scores

from forthwith.coherence import build_family
from forthwith.errors import DataError, RequestError
from forthwith.evaluation.family_coherence import FamilyAnswers, ask_families, fit_weight, summarise
from forthwith.schema import Noul, Record, Request, option_keys, parse_record


def records(count: int = 10, words: int = 2) -> list[Record]:
    return [
        parse_record(
            {
                "id": f"r{n}",
                "task": f"task{n % 2}",
                "state": " ".join([f"state{n}"] * words),
                "questions": {
                    "pick": {"type": "choice", "instructions": "Which?", "criteria": {"a": "A", "b": "B", "c": "C"}},
                    "late": {"type": "noul", "instructions": "Late?"},
                    "loud": {"type": "score", "instructions": "How loud?", "criteria": ["low", "middle", "high"]},
                },
                "targets": {"pick": {"label": "a"}, "late": {"label": "no"}, "loud": {"label": 1}},
            }
        )
        for n in range(count)
    ]


def answered(model: ScriptedDecider, **options: bool) -> list[FamilyAnswers]:
    found = list(ask_families(records(), model, **options))
    assert not any(isinstance(item, RequestError) for item in found)
    return [item for item in found if isinstance(item, FamilyAnswers)]


def test_families_are_asked_once_a_question_and_sliced_by_task_and_type() -> None:
    model = ScriptedDecider()
    report = summarise(answered(model), model="scripted")
    assert [(part.name, part.families, part.questions) for part in report.by_type] == [
        ("choice", 10, 40),
        ("noul", 10, 30),
        ("score", 10, 30),
    ]
    assert [(part.name, part.families) for part in report.by_task] == [("task0", 15), ("task1", 15)]
    assert report.macro_sure_loss == pytest.approx(np.mean([part.sure_loss for part in report.by_task]))
    assert all(part.sure_loss > 0.01 for part in report.by_type)


def test_asked_apart_or_together_an_isolating_model_gives_the_same_families() -> None:
    together, apart = answered(ScriptedDecider()), answered(ScriptedDecider(), together=False)
    for one, other in zip(together, apart, strict=True):
        assert one.vector == pytest.approx(other.vector)


def test_a_yes_sayer_is_seen() -> None:
    def always_yes(request: Request, qid: str) -> list[float]:
        return [-3.0, 0.0] if isinstance(request.questions[qid], Noul) else hashed_scores(request, qid)

    report = summarise(answered(ScriptedDecider(scores=always_yes)), model="scripted")
    yes = 1 / (1 + math.exp(-3))
    noul = next(part for part in report.by_type if part.name == "noul")
    assert noul.acquiescence == pytest.approx(2 * yes - 1)
    assert next(part for part in report.by_type if part.name == "choice").acquiescence is None


def family_answers(yes: float, negation: float, gold: int, cluster: str) -> FamilyAnswers:
    family = build_family(Noul(instructions="?"), seed="s")
    return FamilyAnswers(family, np.array([yes, negation, yes, 1 - yes]), "task", cluster, gold)


def test_good_siblings_get_a_small_weight_and_bad_ones_an_infinite() -> None:
    # the negation knows better: P(yes) .6 where no is right, negation .9
    helped = [family_answers(0.6, 0.9, 0, f"c{n}") for n in range(4)]
    assert fit_weight(helped) == 0.5
    harmed = [family_answers(0.1, 0.1, 0, f"c{n}") for n in range(4)]
    assert math.isinf(fit_weight(harmed))
    part = summarise(helped, model="m").by_type[0]
    assert part.accuracy == 0.0
    q = (0.5 * 0.6 + 0.1 + 0.6 + 0.6) / 3.5
    assert part.nll_projected == pytest.approx(-math.log(1 - q))
    assert part.weight == 0.5
    assert summarise(harmed, model="m").by_type[0].weight is None


def test_without_right_answers_only_coherence_is_reported() -> None:
    unlabelled = [
        FamilyAnswers(answer.family, answer.vector, answer.task, answer.cluster, None)
        for answer in answered(ScriptedDecider())
    ]
    part = summarise(unlabelled, model="m").by_type[0]
    assert part.accuracy is None
    assert part.sure_loss > 0
    with pytest.raises(DataError, match="there are none"):
        fit_weight(unlabelled)
    with pytest.raises(DataError, match="no families"):
        summarise([], model="m")


def test_too_long_states_come_as_errors() -> None:
    found = list(ask_families(records(1, words=3000), ScriptedDecider()))
    assert len(found) == 3
    assert all(isinstance(item, RequestError) for item in found)


def test_gold_follows_the_primary() -> None:
    answers = answered(ScriptedDecider())
    for answer in answers[:3]:
        assert option_keys(answer.family.primary)[answer.gold or 0] in ("a", "false", "1")
