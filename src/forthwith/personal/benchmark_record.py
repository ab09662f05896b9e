"""A draft and its text as one record of the benchmark, in the layout that the record reader calls Pev's."""

from __future__ import annotations

from typing import Any

from forthwith.personal.determinism import seeded_rng
from forthwith.personal.fragment import DraftRecord, Fragment
from forthwith.personal.lookups import lookups
from forthwith.personal.render.rendered import QuestionText, RenderedRecord
from forthwith.personal.steps import Step, step_questions

__all__ = ["benchmark_record"]


def benchmark_record(draft: DraftRecord, rendered: RenderedRecord, prompt_sha256: str | None = None) -> dict[str, Any]:
    """Plain JSON values: id, state, questions with labels, and metadata with anchors, variants and provenance.

    Labels are option keys for a choice (item names for pick_option), booleans for a yes/no, zero-based levels for a
    score. Required anchors are given in the spelling of the text; `roles` beside them says what each is.

    Args:
        draft: what was decided.
        rendered: what was written.
        prompt_sha256: of the request to an outside writer.
    """
    planned = draft.planned
    fragments = {fragment.qid: fragment for fragment in draft.fragments}
    questions = {text.qid: _question(fragments[text.qid], text) for text in rendered.questions}
    if planned.asks_steps:
        for fragment in draft.fragments:
            questions |= step_questions(fragment.family, fragment.steps)
    questions |= step_questions("lookup", _lookups(draft))
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


def _lookups(draft: DraftRecord) -> tuple[Step, ...]:
    planned = draft.planned
    rng = seeded_rng("pd-lookups", planned.split, planned.seed, planned.index)
    return lookups(draft.snapshot, planned.lookups, rng)


def _question(fragment: Fragment, text: QuestionText) -> dict[str, Any]:
    """The worded question with its answer; items to pick from go by their names where these differ."""
    names = _option_names(fragment)
    payload = text.payload()
    if names:
        payload["criteria"] = {names[key]: _without_name(names[key], said) for key, said in text.criteria}
    label: object = names.get(fragment.label, fragment.label)
    if fragment.question.type == "noul":
        label = fragment.label == "true"
    elif fragment.question.type == "score":
        label = int(fragment.label)
    payload["label"] = label
    if fragment.soft is not None:
        payload["soft_label"] = {names.get(key, key): share for key, share in fragment.soft}
    return payload | {"src": f"pd/{fragment.family}"}


def _option_names(fragment: Fragment) -> dict[str, str]:
    """Option id to name; empty where two options share a name, so that the ids stay."""
    options = fragment.question.options
    names = {option.option_id: option.name for option in options}
    return names if len(set(names.values())) == len(options) else {}


def _without_name(name: str, said: str) -> str:
    inside = said.removeprefix(f"{name} (")
    return inside.removesuffix(")") if inside != said else said


def _variant(fragment: Fragment, rendered: RenderedRecord) -> str:
    return f"buried+{fragment.variant}" if rendered.buried else fragment.variant


def _anchors(fragment: Fragment, rendered: RenderedRecord) -> dict[str, list[str]]:
    own = [anchor for anchor in rendered.anchors if anchor.qid == fragment.qid]
    return {
        "required": [anchor.text for anchor in own],
        "roles": [anchor.anchor.role for anchor in own],
        "forbidden": [anchor.text for anchor in fragment.forbidden],
    }


def _features(fragment: Fragment) -> dict[str, dict[str, str | float | None]]:
    names = _option_names(fragment)
    return {
        names.get(option.option_id, option.option_id): {
            "item_id": option.option_id,
            "price": None if option.price_cents is None else option.price_cents / 100,
            "price_level": option.price_level,
            "popularity": option.popularity,
            "name_length": len(option.name),
        }
        for option in fragment.question.options
    }
