"""From a draft to text: phrases, styles, layouts and buried documents, all a pure function of the draft."""

from __future__ import annotations

from forthwith.personal.render.rendered import QuestionText, RenderedAnchor, RenderedRecord, Wording
from forthwith.personal.render.styles import public_style_ids, reserved_style_ids, style, style_ids
from forthwith.personal.render.template import render_record, wrap_text

__all__ = [
    "QuestionText",
    "RenderedAnchor",
    "RenderedRecord",
    "Wording",
    "public_style_ids",
    "render_record",
    "reserved_style_ids",
    "style",
    "style_ids",
    "wrap_text",
]
