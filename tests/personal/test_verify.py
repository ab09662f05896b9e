"""The verifier: what it lets pass, and that a changed, missing, leaked or invented value does not."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from render_drafts import build_draft
from text_mutations import as_outside_text, mutate

from forthwith.personal.anchor_text import contains_anchor, normalised
from forthwith.personal.compose import draft as draft_record
from forthwith.personal.fragment import Anchor
from forthwith.personal.inventory import holdings_of, strays
from forthwith.personal.lines import ApprovalRule
from forthwith.personal.plan import PlanConfig, make_plan
from forthwith.personal.render import public_style_ids, render_record, reserved_style_ids, style, wrap_text
from forthwith.personal.snapshot import snapshot_payload
from forthwith.personal.standing import stands_alone
from forthwith.personal.verify import verify_record

ALL_STYLES = (*public_style_ids(), *reserved_style_ids())


@pytest.fixture(scope="module")
def real_drafts(kb):
    plan = make_plan(kb, PlanConfig(split="dev", states=126, seed=5))
    return [draft_record(record, kb) for record in plan.records]


def kinds(verdict) -> set[str]:
    return {problem.kind for problem in verdict.problems}


def with_state(rendered, text: str):
    return dataclasses.replace(rendered, state=text, unburied=text)


def draft_with(family: str, style_id: str, scenario=lambda draft: True):
    return next(
        draft
        for index in range(400)
        for draft in [build_draft(index, style_id)]
        if any(f.family == family for f in draft.fragments) and scenario(draft)
    )


def has_limit(draft) -> bool:
    """Whether a question turns on a spending limit, and somebody else is mentioned, too."""
    return any(a.role == "spend_limit.amount" for f in draft.fragments for a in f.required) and any(
        getattr(line, "owner", None) for line in draft.snapshot.lines()
    )


def test_records_of_the_real_families_pass(real_drafts):
    verdicts = [verify_record(draft, render_record(draft)) for draft in real_drafts]
    assert [verdict for verdict in verdicts if not verdict.ok] == []


@pytest.mark.parametrize("style_id", ALL_STYLES)
def test_names_with_marks_of_every_notation_pass(style_id):
    for index in range(8):
        draft = build_draft(index, style_id, "test", documents=index % 4 == 0, hard_names=True)
        assert verify_record(draft, render_record(draft)).problems == ()


def test_real_texts_pass_as_texts_of_an_outside_writer(real_drafts):
    for draft in real_drafts:
        if not style(draft.planned.style_id).structured:
            assert verify_record(draft, as_outside_text(render_record(draft))).problems == ()


@pytest.mark.parametrize("count", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_changed_values_are_caught(real_drafts, count):
    rng = random.Random(11)
    missed = []
    for number in range(count):
        draft = real_drafts[number % len(real_drafts)] if number % 2 else build_draft(number, ALL_STYLES[number % 21])
        changed, what = mutate(draft, render_record(draft), rng)
        if verify_record(draft, changed).ok:
            missed.append(what)
    assert len(missed) <= count // 100, missed


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_changed_values_are_caught_without_knowing_the_phrases(real_drafts, count):
    rng = random.Random(12)
    outside = [draft for draft in real_drafts if not style(draft.planned.style_id).structured]
    missed = []
    for number in range(count):
        draft = outside[number % len(outside)]
        changed, what = mutate(draft, render_record(draft), rng)
        if verify_record(draft, as_outside_text(changed)).ok:
            missed.append(what)
    assert len(missed) <= count // 100, missed


def test_an_empty_text_is_named():
    draft = build_draft(1, "diary")
    assert kinds(verify_record(draft, with_state(render_record(draft), "  \n "))) == {"empty_render"}


def test_a_dropped_line_is_a_missing_anchor():
    draft = draft_with("needs_approval", "terse_notes", has_limit)
    rendered = render_record(draft)
    limit = next(a for a in rendered.anchors if a.anchor.role == "spend_limit.amount")
    lines = [line for line in rendered.state.split("\n") if limit.context not in line]
    verdict = verify_record(draft, with_state(rendered, "\n".join(lines)))
    assert "changed_phrase" in kinds(verdict)
    outside = as_outside_text(with_state(rendered, "\n".join(lines)))
    assert kinds(verify_record(draft, outside)) & {"missing_required_anchor", "misplaced_anchor"}


@pytest.mark.parametrize(
    "invention",
    [
        "By the way, it costs fifty-three dollars.",
        "It was on 3 May 1987.",
        "Call at 4:47 am.",
        "Write to nobody@example.org as well.",
        "There are 9417 of them.",
        "Margaret will come along.",
        "另外还要付八十七美元。",
        "记得告诉王先生。",
        "晚上九点再说。",
    ],
)
def test_an_invented_value_or_name_is_found(invention):
    draft = build_draft(5, "handover_letter")
    rendered = render_record(draft)
    verdict = verify_record(draft, as_outside_text(with_state(rendered, f"{rendered.state}\n\n{invention}")))
    assert "not_in_snapshot" in kinds(verdict)


@pytest.mark.parametrize("leak", ["$47", "$47.00", "47 dollars", "forty-seven dollars", "47 USD", "四十七美元"])
def test_a_forbidden_amount_is_found_in_any_spelling(leak):
    draft = build_draft(5, "handover_letter")
    forbidden = (Anchor("$47", "spend_limit.amount", "gone", "money"),)
    fragments = (dataclasses.replace(draft.fragments[0], forbidden=forbidden), *draft.fragments[1:])
    draft = dataclasses.replace(draft, fragments=fragments)
    rendered = render_record(draft)
    assert verify_record(draft, rendered).ok
    leaking = as_outside_text(with_state(rendered, f"{rendered.state}\n\nThe limit was {leak}."))
    assert "forbidden_anchor_present" in kinds(verify_record(draft, leaking))


def test_a_rule_turned_into_its_opposite_is_found():
    def has_rule(draft):
        rules = [line for line in draft.snapshot.rules if isinstance(line, ApprovalRule)]
        return len(rules) == 1 and rules[0].on and rules[0].about == "new_recipient"

    draft = draft_with("needs_approval", "terse_notes", has_rule)
    rule = next(line for line in draft.snapshot.rules if isinstance(line, ApprovalRule))
    rules = tuple(dataclasses.replace(line, on=False) if line is rule else line for line in draft.snapshot.rules)
    opposite = dataclasses.replace(draft, snapshot=dataclasses.replace(draft.snapshot, rules=rules))
    text = render_record(opposite).state
    assert "wrong_polarity" in kinds(verify_record(draft, wrap_text(draft, text, "outside")))


def test_a_wrong_label_is_found_in_every_style():
    for number, style_id in enumerate(ALL_STYLES):
        draft = draft_with("needs_approval", style_id)
        fragments = tuple(
            dataclasses.replace(f, label={"true": "false", "false": "true"}[f.label])
            if f.family == "needs_approval"
            else f
            for f in draft.fragments
        )
        wrong = dataclasses.replace(draft, fragments=fragments)
        verdict = verify_record(wrong, render_record(wrong))
        sources = {problem.detail.split(":")[0] for problem in verdict.problems if problem.kind == "label_disagrees"}
        assert sources == ({"snapshot", "text"} if style(style_id).structured else {"snapshot"}), number


def test_a_value_said_of_somebody_else_does_not_count():
    draft = draft_with("needs_approval", "terse_notes", has_limit)
    rendered = render_record(draft)
    limit = next(a for a in rendered.anchors if a.anchor.role == "spend_limit.amount")
    owner = next(line.owner for line in draft.snapshot.lines() if getattr(line, "owner", None))
    moved = rendered.state.replace(limit.context, f"{owner} said of {owner}: {limit.context}")
    assert not verify_record(draft, as_outside_text(with_state(rendered, moved))).ok


def test_a_lost_document_and_a_broken_paragraph_are_found():
    draft = build_draft(3, "email_thread", documents=True)
    rendered = render_record(draft)
    without = rendered.state.replace(draft.documents[0][2].strip(), "")
    assert "document_lost" in kinds(verify_record(draft, dataclasses.replace(rendered, state=without)))


def test_the_inventory_allows_what_the_snapshot_quotes():
    draft = build_draft(5, "diary")
    holdings = holdings_of(snapshot_payload(draft.snapshot))
    item = draft.snapshot.memory[0].item_name
    assert strays(f"About {item}.", holdings) == []
    assert strays("It is 14:10 on 18 June 2021, or June 18.", holdings) == []
    assert strays("It is 14:11.", holdings) == ["14:11"]


WORDS = st.text(alphabet="ab1 .,$-家", min_size=1, max_size=6)


@given(WORDS, st.lists(WORDS, max_size=5))
def test_standing_alone_is_the_anchor_rule(string, parts):
    text, string = normalised("".join([*parts, string, *parts[:1]])), normalised(string)
    if string:
        assert stands_alone(text, string) == contains_anchor(text, string)
