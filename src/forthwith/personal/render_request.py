"""What a writer outside this package gets and owes: a snapshot to put into words, and strings to copy exactly.

Takes plain values, gives the two prompt texts and their hash, and says what is wrong with a text that comes back. The
writer never sees questions, labels or forbidden strings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from forthwith.personal.anchor_text import absent, present

__all__ = [
    "ProblemKind",
    "RenderRequest",
    "TextProblem",
    "WriterStyle",
    "check_text",
    "prompt_sha256",
    "repair_text",
    "system_text",
    "user_text",
]

ProblemKind = Literal[
    "empty_render",
    "missing_required_anchor",
    "forbidden_anchor_present",
    "not_in_snapshot",
    "does_not_match",
    "cut_off",
]

_ROLE = (
    "You turn a structured snapshot of one person's situation into the natural context that an assistant would read "
    "before it decides something."
)
_RULES = (
    "Keep every fact, date, time, amount, rule, contact and option of the snapshot.",
    "Add nothing: no fact, number, name, date, reason or opinion that the snapshot does not hold.",
    "Never hint at what the right decision is, and never say what is missing.",
    "Copy each string of the list MUST APPEAR exactly as given, character by character and untranslated.",
    "Keep the labels of pending items (such as Request A) and list all options of a request.",
    "Keep dates and times as they are; do not turn them into relative ones.",
    "Leave a blank line between topics.",
    "Answer with the text alone: no introduction, no heading about the task, no code fence.",
)


@dataclass(frozen=True)
class WriterStyle:
    """How a text shall sound. Only the id enters records; the rest is the instruction to the writer."""

    style_id: str
    voice: str
    format: str
    language_mix: str = "English"
    verbosity: str = "medium"
    notes: str = ""


@dataclass(frozen=True)
class RenderRequest:
    """One text to be written.

    Attributes:
        id: the record it is for.
        style: how it shall sound.
        snapshot: plain JSON values, the only source of facts.
        required: strings that the text must contain, without repeats.
        forbidden: strings that it must not contain; not shown to the writer.
    """

    id: str
    style: WriterStyle
    snapshot: dict[str, Any]
    required: tuple[str, ...]
    forbidden: tuple[str, ...] = ()


class TextProblem(NamedTuple):
    """One reason why a text cannot be used; `found` is the string in question."""

    kind: ProblemKind
    found: str


def system_text(style: WriterStyle) -> str:
    """Role, hard rules and style, as the writer gets them."""
    rules = "\n".join(f"{number}. {rule}" for number, rule in enumerate(_RULES, start=1))
    lines = {name: value for name, value in asdict(style).items() if name != "style_id" and value}
    manner = "\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in lines.items())
    return f"{_ROLE}\n\nRules:\n{rules}\n\nStyle:\n{manner}"


def user_text(request: RenderRequest) -> str:
    """The snapshot as JSON and the list of strings to copy."""
    snapshot = json.dumps(request.snapshot, ensure_ascii=False, indent=1)
    anchors = "\n".join(f"- {json.dumps(anchor, ensure_ascii=False)}" for anchor in request.required)
    return f"SNAPSHOT\n{snapshot}\n\nMUST APPEAR\n{anchors}"


def prompt_sha256(request: RenderRequest) -> str:
    """Hex SHA-256 of system text and user text."""
    return hashlib.sha256(f"{system_text(request.style)}\n\n{user_text(request)}".encode()).hexdigest()


def check_text(
    request: RenderRequest, text: str, further: Callable[[str], list[TextProblem]] | None = None
) -> list[TextProblem]:
    """What is wrong with a text; nothing when it may be used.

    Args:
        request: what was asked for.
        text: what came back.
        further: what else is wrong with a text, such as values that its snapshot does not hold.
    """
    if not text.strip():
        return [TextProblem("empty_render", text)]
    problems = [TextProblem("missing_required_anchor", anchor) for anchor in absent(text, request.required)]
    problems += [TextProblem("forbidden_anchor_present", anchor) for anchor in present(text, request.forbidden)]
    if further is not None:
        problems += [problem for problem in further(text) if problem not in problems]
    return problems


def repair_text(problems: list[TextProblem]) -> str:
    """What the writer is told in the repair round. Forbidden strings are not named, so that they stay unseen."""
    missing = [problem.found for problem in problems if problem.kind == "missing_required_anchor"]
    extra = [problem.found for problem in problems if problem.kind == "not_in_snapshot"]
    lines = ["The text cannot be used yet. Write the whole text again, with these corrections:"]
    if missing:
        lines += ["These strings are missing or were altered; copy each exactly:"]
        lines += [f"- {json.dumps(anchor, ensure_ascii=False)}" for anchor in missing]
    if extra:
        lines += ["These are not in the snapshot; leave them out:"]
        lines += [f"- {json.dumps(found, ensure_ascii=False)}" for found in extra]
    if any(problem.kind == "forbidden_anchor_present" for problem in problems):
        lines += ["It says something that the snapshot does not say. Keep strictly to the snapshot."]
    if any(problem.kind == "does_not_match" for problem in problems):
        lines += ["Not all of it matches the snapshot. Say each entry in a sentence of its own, values together."]
    if any(problem.kind == "empty_render" for problem in problems):
        lines += ["It was empty."]
    if any(problem.kind == "cut_off" for problem in problems):
        lines += ["It was cut off before its end. Write less."]
    return "\n".join(lines)
