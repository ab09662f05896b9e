"""Drafts as requests to writers outside this package, and their texts as rendered records."""

from __future__ import annotations

from collections.abc import Callable

from forthwith.personal.fragment import DraftRecord
from forthwith.personal.render import RenderedRecord, style, wrap_text
from forthwith.personal.render_request import RenderRequest, TextProblem, WriterStyle
from forthwith.personal.snapshot import snapshot_payload
from forthwith.personal.verify import verify_record

__all__ = ["render_request", "rendered_by", "text_check", "writer_style"]

_LANGUAGES = {
    "en": "English",
    "zh": "Chinese; the strings of the list stay as they are",
    "mixed": "English and Chinese by turns, as bilingual people write; the strings of the list stay as they are",
}
_VOICES = {"first": "first person, the user speaks", "third": "third person, about the user"}


def writer_style(style_id: str) -> WriterStyle:
    """One of our styles as an instruction.

    Raises:
        ConfigError: there is no such style.
    """
    look = style(style_id)
    return WriterStyle(
        style_id=look.style_id,
        voice=_VOICES[look.voice],
        format=look.layout.replace("_", " "),
        language_mix=_LANGUAGES[look.language],
        verbosity="as the format has it",
        notes="one field a line, each with its name" if look.structured else "",
    )


def render_request(draft: DraftRecord) -> RenderRequest:
    """What a writer gets for a draft: its snapshot, and every required anchor in its canonical writing."""
    required = (anchor.text for fragment in draft.fragments for anchor in fragment.required)
    forbidden = (anchor.text for fragment in draft.fragments for anchor in fragment.forbidden)
    return RenderRequest(
        id=draft.planned.record_id,
        style=writer_style(draft.planned.style_id),
        snapshot=snapshot_payload(draft.snapshot),
        required=tuple(dict.fromkeys(required)),
        forbidden=tuple(dict.fromkeys(forbidden)),
    )


def rendered_by(draft: DraftRecord, text: str, renderer: str) -> RenderedRecord:
    """A writer's text as a record: our questions, buried documents inserted, anchors as the list asked for them."""
    return wrap_text(draft, text, renderer)


def text_check(draft: DraftRecord) -> Callable[[str], list[TextProblem]]:
    """The verifier as a check of a writer's text; whatever is not an invented value is reported without its content."""

    def check(text: str) -> list[TextProblem]:
        problems = verify_record(draft, rendered_by(draft, text, "outside")).problems
        strays = [TextProblem("not_in_snapshot", p.detail) for p in problems if p.kind == "not_in_snapshot"]
        others = any(p.kind != "not_in_snapshot" for p in problems)
        return [*strays, *([TextProblem("does_not_match", "")] if others else [])]

    return check
