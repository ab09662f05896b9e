"""Labels derived a second time, by code that shares nothing with the rules: from snapshots, and from text alone."""

from __future__ import annotations

import pytest
from render_drafts import build_draft

from forthwith.errors import DataError
from forthwith.personal.compose import draft as draft_record
from forthwith.personal.field_reader import Row, read_rows
from forthwith.personal.plan import PlanConfig, make_plan
from forthwith.personal.rederive import derive_label, rows_from_payload
from forthwith.personal.render import public_style_ids, render_record, reserved_style_ids, style
from forthwith.personal.snapshot import snapshot_payload

ALL_STYLES = (*public_style_ids(), *reserved_style_ids())
STRUCTURED = tuple(name for name in ALL_STYLES if style(name).structured)


def derived(rows, fragment):
    day = fragment.question.note_date
    return derive_label(rows, fragment.family, fragment.question.pending, day and day.isoformat())


def test_the_labels_of_500_records_are_derived_again(kb):
    planned = make_plan(kb, PlanConfig(split="dev", states=260, seed=9)).records
    real = [draft_record(record, kb) for record in planned]
    drafts = [*real, *(build_draft(index, ALL_STYLES[index % 21]) for index in range(500 - len(real)))]
    from_snapshot = from_text = 0
    for draft in drafts:
        rows = rows_from_payload(snapshot_payload(draft.snapshot))
        look = style(draft.planned.style_id)
        read = read_rows(render_record(draft).unburied, look.layout) if look.structured else None
        for fragment in draft.fragments:
            if fragment.family == "pick_option" or not fragment.is_hard:
                continue
            assert derived(rows, fragment) == fragment.label, (draft.planned.record_id, fragment.rule_path)
            from_snapshot += 1
            if read is not None:
                assert derived(read, fragment) == fragment.label, (draft.planned.record_id, fragment.rule_path)
                from_text += 1
    assert len(drafts) == 500
    assert from_snapshot > 800
    assert from_text > 150


@pytest.mark.parametrize("style_id", STRUCTURED)
def test_a_structured_text_holds_the_rows_of_its_snapshot(style_id):
    for index in range(20):
        draft = build_draft(index, style_id)
        read = read_rows(render_record(draft).state, style(style_id).layout)
        wanted = rows_from_payload(snapshot_payload(draft.snapshot))
        assert sorted(row.kind for row in read) == sorted(row.kind for row in wanted)
        for kind in ("spend_limit", "quiet_hours", "urgency_scale", "calendar_event", "forget_request", "vip_list"):
            assert [r.fields for r in read if r.kind == kind] == [r.fields for r in wanted if r.kind == kind]


def pending(**fields):
    return Row("pending", {"label": "Proposed action A", **fields})


NOW = Row("now", {"time": "2021-06-18 14:10"})


@pytest.mark.parametrize(("cents", "answer"), [(5000, "false"), (5001, "true"), (7400, "true")])
def test_the_latest_limit_that_has_begun_decides_strictly(cents, answer):
    limits = [
        Row("spend_limit", {"amount": 5000, "since": "2021-03-09"}),
        Row("spend_limit", {"amount": 7500}),
        Row("spend_limit", {"amount": 100, "since": "2021-09-01"}),
        Row("spend_limit", {"amount": 200, "owner": "Dana Cole"}),
    ]
    rows = [NOW, *limits, pending(amount_cents=cents)]
    assert derive_label(rows, "needs_approval", "Proposed action A") == answer


@pytest.mark.parametrize(
    ("hour", "vip", "level"), [(21, False, "2"), (22, False, "1"), (6, False, "1"), (7, False, "2"), (23, True, "2")]
)
def test_quiet_hours_wrap_midnight_and_a_vip_passes_but_not_the_cap(hour, vip, level):
    rows = [
        NOW,
        Row("quiet_hours", {"start": 22, "end": 7}),
        Row("type_cap", {"event": "message", "level": "notify"}),
        Row("priority_code", {"event": "message", "code": "P1", "urgency": "high"}),
        Row("vip_list", {"names": ("Ruth Ashby",)}),
        Row("pending", {
            "label": "Incoming event A", "event": "message", "code": "P1", "arrival": f"2021-06-18 {hour:02d}:05",
            "sender": "Ruth Ashby" if vip else "Milo Cole",
        }),
    ]  # fmt: skip
    assert derive_label(rows, "notify_level", "Incoming event A") == level


def test_a_missing_rule_leaves_the_question_open():
    rows = [NOW, pending(amount_cents=5000)]
    assert derive_label(rows, "needs_approval", "Proposed action A") is None
    assert derive_label(rows, "pick_option", "Proposed action A") is None
    assert derive_label(rows, "needs_approval", "Proposed action B") is None


def test_a_permission_lifts_a_request_until_the_next_request():
    asked = Row("forget_request", {"date": "2020-01-05", "item_name": "Oat Cookies"})
    lifted = Row("repermission", {"date": "2020-02-05", "item_name": "Oat Cookies"})
    again = Row("forget_request", {"date": "2020-03-05", "item_name": "Oat Cookies"})
    other = Row("forget_request", {"date": "2020-03-05", "item_name": "Oat Cookies", "owner": "Dana Cole"})
    item = pending(item_name="Oat Cookies")

    def violates(*terms):
        return derive_label([NOW, *terms, item], "forgotten_violation", "Proposed action A")

    assert violates(asked) == "true"
    assert violates(lifted, asked) == "false"
    assert violates(asked, lifted, again) == "true"
    assert violates(asked, lifted, other) == "false"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("spend_limit: amount=a lot", "expected one money"),
        ("type_cap: event=message; level=loud", "'level' says 'loud'"),
        ("spend_limit: colour=$5", "unknown field 'colour'"),
        ("priority_code: event=post", "'event' says 'post'"),
    ],
)
def test_a_line_of_fields_that_cannot_be_read_is_named(line, message):
    with pytest.raises(DataError, match=message):
        read_rows(line, "key_value")


def test_other_lines_are_passed_over():
    assert read_rows("Dear all: nothing=here\nspend_limit: amount=$5\nfoo", "key_value") == [
        Row("spend_limit", {"amount": 500})
    ]
