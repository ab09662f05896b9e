import pytest

from forthwith.readout import readout_by_name
from forthwith.schema import parse_record
from forthwith.testing import tiny_encoder
from forthwith.training.config import Data
from forthwith.training.planning import Planner, task_of, task_weights
from forthwith.training.rows import RowRules


def record(number, *sources, task=None):
    questions = {
        f"q{place}": {"type": "noul", "instructions": "Is it?", "label": True, "src": source}
        for place, source in enumerate(sources)
    }
    return parse_record(
        {"id": f"r{number}", "state": "a state", "questions": questions, **({"task": task} if task else {})}
    )


RULE = record(1, "pd/route", "pd/route.kind", "pd/lookup.mark3")
TOPIC = record(2, "topics", task="topics")


def test_a_task_weighs_what_its_name_or_its_longest_prefix_says():
    data = Data(task_weights={"rou*": 3.0, "r*": 9.0, "topics": 1.0})
    weights = task_weights([RULE, TOPIC], data)
    assert task_of(RULE) == "route"
    assert weights["route"] == pytest.approx(3 / 2)  # mean 1 over the two records
    assert weights["topics"] == pytest.approx(1 / 2)


def test_a_family_of_questions_weighs_what_it_is_named_for_whatever_its_record_weighs():
    weights = task_weights([RULE, TOPIC], Data(task_weights={"route": 3.0, "route.*": 0.5, "lookup*": 0.0}))
    assert weights["route.kind"] == pytest.approx(0.5 / 2)
    assert weights["lookup.mark3"] == 0
    assert weights["route"] == pytest.approx(3 / 2)


def test_families_that_are_not_named_follow_their_record():
    assert set(task_weights([RULE, TOPIC], Data(task_weights={"topics": 2.0}))) == {"route", "topics"}
    assert set(task_weights([RULE, TOPIC], Data(balance=0.5))) == {"route", "topics"}


def test_a_row_weighs_each_question_by_its_family_and_the_others_by_the_record():
    weights = {"route": 3.0, "route.kind": 0.5}
    row = Planner(readout_by_name("branch"), tiny_encoder(), RowRules(), weights).row(RULE, 0)
    assert {question.family: question.weight for question in row.questions} == {
        "route": 3.0, "route.kind": 0.5, "lookup.mark3": 3.0,
    }  # fmt: skip
