"""Questions and their criteria in words."""

from __future__ import annotations

from forthwith.personal.fragment import Fragment, QuestionSpec
from forthwith.personal.pending import ShareAction
from forthwith.personal.render.pending_lines import option_description
from forthwith.personal.render.phraser import Phraser
from forthwith.personal.render.rendered import QuestionText

__all__ = ["word_question"]

_LEAD_SHARE = 0.5
"""Share of questions that open with a lead, so that few are the same word for word."""


def word_question(voice: Phraser, fragment: Fragment) -> QuestionText:
    """The instructions and criteria of a fragment's question; options keep their displayed order."""
    spec = fragment.question
    values = {"label": spec.pending}
    if spec.note_date is not None:
        values["note"] = voice.say("questions", "note", date=voice.date(spec.note_date))
    if isinstance(fragment.pending.body, ShareAction):
        public = "公开动态" if voice.language == "zh" else "the public feed"
        values["recipient"] = fragment.pending.body.recipient or public
    instructions = voice.say("questions", spec.family, **values)
    instructions = instructions[:1].upper() + instructions[1:]
    if voice.rng.random() < _LEAD_SHARE:
        gap = "" if voice.language == "zh" else " "
        instructions = voice.say("questions", "lead") + gap + instructions
    return QuestionText(fragment.qid, spec.family, spec.type, instructions, _criteria(voice, spec))


def _criteria(voice: Phraser, spec: QuestionSpec) -> tuple[tuple[str, str], ...]:
    if spec.options:
        return tuple((o.option_id, f"{o.name} ({option_description(voice, o)})") for o in spec.options)
    keys = ("true", "false") if spec.type == "noul" else spec.keys
    return tuple((key, voice.say("criteria", f"{spec.family}.{key}")) for key in keys)
