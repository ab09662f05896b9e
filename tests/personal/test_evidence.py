"""Evidence is found where the text says it, and the page shows all of it."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest
from render_drafts import build_draft

from forthwith.personal.evidence import evidence_spans, record_page
from forthwith.personal.render import render_record, style_ids


@pytest.mark.parametrize("style_id", style_ids("test"))
def test_spans_quote_the_spelling_of_the_text_without_overlap(style_id: str):
    draft = build_draft(3, style_id)
    rendered = render_record(draft)
    for fragment in draft.fragments:
        spans = evidence_spans(rendered, fragment.qid)
        spelled = {anchor.text for anchor in rendered.anchors if anchor.qid == fragment.qid}
        assert all(rendered.state[span.start : span.end] in spelled for span in spans)
        assert all(first.end <= second.start for first, second in pairwise(spans))
        assert bool(spans) == bool(spelled)


def test_the_page_shows_snapshot_text_questions_and_evidence():
    made = build_draft(0, "bullet_briefing")
    first = dataclasses.replace(made.fragments[0], rule_path=("limit in force 75", "61.98 is not above 75"))
    draft = dataclasses.replace(made, fragments=(first, *made.fragments[1:]))
    rendered = render_record(draft)
    page = record_page(draft, rendered)
    assert rendered.unburied in page
    for fragment in draft.fragments:
        assert f"### {fragment.family}: " in page
    assert "← **right**" in page
    assert "*(" in page
    assert "Why: limit in force 75; 61.98 is not above 75." in page
