"""Drafts as requests to outside writers, and as records: nothing hidden is shown, nothing shown is lost."""

from __future__ import annotations

import json

import pytest
from render_drafts import build_draft

from forthwith.personal.anchor_text import absent
from forthwith.personal.benchmark_record import benchmark_record
from forthwith.personal.outside import render_request, rendered_by, text_check, writer_style
from forthwith.personal.pseudonyms import ReleaseKey
from forthwith.personal.release import release_record
from forthwith.personal.render import render_record, style_ids
from forthwith.personal.render_request import check_text, system_text, user_text
from forthwith.schema import parse_record

DRAFTS = [build_draft(index, "bullet_briefing") for index in range(4)]


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_request_shows_the_snapshot_and_required_strings_but_no_question_or_label(draft):
    request = render_request(draft)
    shown = system_text(request.style) + user_text(request)
    assert all(json.dumps(anchor, ensure_ascii=False) in shown for anchor in request.required)
    assert not any(word in shown for word in ("soft", "criteria", "needs_approval", "rule_path"))
    for fragment in draft.fragments:
        if fragment.question.type == "choice" and fragment.label.startswith("opt"):
            assert shown.count(fragment.label) <= 1


def test_every_style_is_an_instruction():
    texts = {style_id: system_text(writer_style(style_id)) for style_id in style_ids("test")}
    assert len(set(texts.values())) > 12


def test_our_own_text_without_an_anchor_is_found_out():
    draft = DRAFTS[0]
    request = render_request(draft)
    problems = check_text(request, "Request A is waiting.", text_check(draft))
    assert {"missing_required_anchor", "does_not_match"} <= {problem.kind for problem in problems}
    stray = text_check(draft)("On 1987-04-12 somebody paid $777,777.")
    assert any(problem.kind == "not_in_snapshot" for problem in stray)


def test_a_writers_text_keeps_its_words_and_gets_our_questions():
    rendered = rendered_by(DRAFTS[0], "First.\n\nSecond.", "some-model")
    assert rendered.state == "First.\n\nSecond."
    assert rendered.renderer == "some-model"
    assert len(rendered.questions) == len(DRAFTS[0].fragments)


@pytest.mark.parametrize("index", range(6))
def test_a_record_reads_back_and_survives_a_release(index):
    draft = build_draft(index, style_ids("test")[index])
    record = benchmark_record(draft, render_record(draft))
    parsed = parse_record(record)
    assert parsed.id == draft.planned.record_id
    for fragment in draft.fragments:
        target = parsed.targets[fragment.qid]
        names = {option.option_id: option.name for option in fragment.question.options}
        assert target.label == names.get(fragment.label, fragment.label)
        assert parsed.families[fragment.qid] == fragment.family
        if fragment.soft is not None:
            assert target.distribution == pytest.approx({names.get(key, key): share for key, share in fragment.soft})
        anchors = record["meta"]["anchors"][fragment.qid]
        assert len(anchors["required"]) == len(anchors["roles"]) == len(fragment.required)
        assert absent(record["state"], anchors["required"]) == []
    released, _, _ = release_record(record, ReleaseKey.from_hex("0f" * 16))
    before, after = record["questions"], released["questions"]
    assert {qid: question["criteria"] for qid, question in after.items()} == {
        qid: question["criteria"] for qid, question in before.items()
    }
