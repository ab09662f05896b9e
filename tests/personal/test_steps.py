"""The steps of a rule agree with the rule: what they say, put together, is the label."""

import dataclasses
import json

import pytest

from forthwith.personal.compose import draft
from forthwith.personal.generate import make_record
from forthwith.personal.plan import PlanConfig, make_plan
from forthwith.personal.vocabulary import NOTIFY_LEVELS, PRIVACY_LEVELS, URGENCIES
from forthwith.schema import parse_record


@pytest.fixture(scope="module")
def fragments(kb):
    plan = make_plan(kb, PlanConfig("dev", 150, seed=31, p_buried=0))
    return [part for record in plan.records for part in draft(record, kb).fragments]


def answers(fragment):
    return {step.name: step.answer for step in fragment.steps}


def of(fragments, family):
    return [(part, answers(part)) for part in fragments if part.family == family]


def test_every_answer_is_one_of_the_options(fragments):
    for part in fragments:
        for step in part.steps:
            assert step.answer in (step.options or ("true", "false"))
        assert len({step.name for step in part.steps}) == len(part.steps)


def test_sharing_is_allowed_up_to_the_clearance(fragments):
    for part, said in of(fragments, "share_ok"):
        if "marking" in said:
            allowed = PRIVACY_LEVELS.index(said["marking"]) <= PRIVACY_LEVELS.index(said["clearance"])
            assert part.label == str(allowed).lower() == ("false" if said["order"] == "true" else "true")


def test_a_purchase_needs_approval_above_the_limit_and_a_message_to_somebody_new_where_the_rule_holds(fragments):
    for part, said in of(fragments, "needs_approval"):
        if part.is_hard and "above" in said:
            assert said["above"] == said["over"] == part.label
        if part.is_hard and "known" in said:
            assert part.label == str(said["rule"] == "true" and said["known"] == "false").lower()
        if part.is_hard and "undo" in said:
            assert part.label == str(said["rule"] == "true" and said["undo"] == "false").lower()
        assert part.is_hard or not {"rule", "limit", "over"} & set(said)


def test_an_event_reaches_the_user_as_urgent_as_it_is_and_no_more_than_its_cap(fragments):
    seen = 0
    for part, said in of(fragments, "notify_level"):
        if part.is_hard:
            urgency = URGENCIES.index(said["urgency"])
            level = min(urgency, NOTIFY_LEVELS.index(said["cap"]))
            assert said["capped"] == NOTIFY_LEVELS[level]
            assert said.get("meaning", said["urgency"]) == said["urgency"]
            assert all(
                said.get(f"reaches{step}", str(urgency >= step).lower()) == str(urgency >= step).lower()
                for step in (1, 2, 3)
            )
            free = said["vip"] == "true" or (said["quiet"] == "false" and said["meeting"] == "false")
            assert int(part.label) <= level
            assert not free or int(part.label) == level
            assert said["inside"] == said["quiet"]
            assert said["entry"] == said["meeting"]
            seen += 1
    assert seen > 10


def test_a_request_goes_to_its_service_where_that_is_connected(fragments):
    for part, said in of(fragments, "route"):
        if said["kind"] == "more than one thing":
            assert part.label == "ask_user"
        else:
            assert part.label == (said["service"] if said["connected"] == "true" else "ask_user")


def test_only_what_was_to_be_forgotten_can_be_a_violation(fragments):
    for part, said in of(fragments, "forgotten_violation"):
        assert part.label == "false" or said["asked"] == "true"
        assert part.label == "true" or said["asked"] == "false" or said["lifted"] == "true"


def test_a_record_holds_its_steps_where_the_plan_says_so(kb):
    record = make_plan(kb, PlanConfig("dev", 20, seed=8, p_buried=0)).records[3]
    plain = json.loads(make_record(kb, record).line)
    wide = json.loads(make_record(kb, dataclasses.replace(record, asks_steps=True)).line)
    extra = {qid: question for qid, question in wide["questions"].items() if qid not in plain["questions"]}
    assert extra
    assert wide["state"] == plain["state"]
    assert all(question["src"] == f"pd/{qid}" for qid, question in extra.items())
    read = parse_record(wide)
    assert set(read.targets) == set(wide["questions"])
