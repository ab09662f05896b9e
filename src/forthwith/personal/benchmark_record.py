"""A draft and its text as one record of the benchmark, in the layout that the record reader calls Pev's."""

from __future__ import annotations

from typing import Any

from forthwith.personal.fragment import DraftRecord, Fragment
from forthwith.personal.render.rendered import RenderedRecord

__all__ = ["benchmark_record"]


def benchmark_record(draft: DraftRecord, rendered: RenderedRecord, prompt_sha256: str | None = None) -> dict[str, Any]:
    """Plain JSON values: id, state, questions with labels, and metadata with anchors, variants and provenance.

    Labels are option keys for a choice, booleans for a yes/no, zero-based levels for a score. Required anchors are
    given in the spelling of the text; `roles` beside them says what each is.

    Args:
        draft: what was decided.
        rendered: what was written.
        prompt_sha256: of the request to an outside writer.
    """
    planned = draft.planned
    fragments = {fragment.qid: fragment for fragment in draft.fragments}
    questions = {text.qid: text.payload() | _answer(fragments[text.qid]) for text in rendered.questions}
    render = {"model": rendered.renderer, "style_id": rendered.style_id, "wording": rendered.wording}
    if prompt_sha256 is not None:
        render["prompt_sha256"] = prompt_sha256
    meta: dict[str, Any] = {
        "user_id": planned.user_id,
        "shard": planned.split,
        "state_id": planned.record_id,
        "synthetic": draft.is_synthetic,
        "families": {qid: fragment.family for qid, fragment in fragments.items()},
        "variants": {qid: _variant(fragment, rendered) for qid, fragment in fragments.items()},
        "scenarios": {qid: fragment.scenario for qid, fragment in fragments.items()},
        "anchors": {qid: _anchors(fragment, rendered) for qid, fragment in fragments.items()},
        "render": render,
    }
    if features := {qid: _features(fragment) for qid, fragment in fragments.items() if fragment.question.options}:
        meta["option_features"] = features
    return {"id": planned.record_id, "state": rendered.state, "questions": questions, "meta": meta}


def _answer(fragment: Fragment) -> dict[str, Any]:
    label: object = fragment.label
    if fragment.question.type == "noul":
        label = fragment.label == "true"
    elif fragment.question.type == "score":
        label = int(fragment.label)
    members: dict[str, Any] = {"label": label}
    if fragment.soft is not None:
        members["soft_label"] = dict(fragment.soft)
    return {**members, "src": f"pd/{fragment.family}"}


def _variant(fragment: Fragment, rendered: RenderedRecord) -> str:
    return f"buried+{fragment.variant}" if rendered.buried else fragment.variant


def _anchors(fragment: Fragment, rendered: RenderedRecord) -> dict[str, list[str]]:
    own = [anchor for anchor in rendered.anchors if anchor.qid == fragment.qid]
    return {
        "required": [anchor.text for anchor in own],
        "roles": [anchor.anchor.role for anchor in own],
        "forbidden": [anchor.text for anchor in fragment.forbidden],
    }


def _features(fragment: Fragment) -> dict[str, dict[str, float | None]]:
    return {
        option.option_id: {
            "price": None if option.price_cents is None else option.price_cents / 100,
            "price_level": option.price_level,
            "popularity": option.popularity,
        }
        for option in fragment.question.options
    }
