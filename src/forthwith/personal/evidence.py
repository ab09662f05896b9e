"""Where in a text the evidence for an answer stands, and one record as a page that shows it."""

from __future__ import annotations

import json
from typing import NamedTuple

from forthwith.personal.fragment import DraftRecord, Fragment
from forthwith.personal.render.rendered import QuestionText, RenderedAnchor, RenderedRecord
from forthwith.personal.snapshot import line_kind, snapshot_payload

__all__ = ["EvidenceSpan", "evidence_spans", "record_page"]


_INTRODUCTION = (
    "The lines below were chosen first, and they decide the answers. The text was written from them afterwards; each value "
    "that an answer rests on is found again in the text, shown in bold with whose value it is."
)


class EvidenceSpan(NamedTuple):
    """`state[start:end]` says a value that decides a question; `role` is whose value, `value` how we write it."""

    start: int
    end: int
    role: str
    value: str


def evidence_spans(rendered: RenderedRecord, qid: str) -> list[EvidenceSpan]:
    """The evidence for one question in the order of the state, without overlaps (of two, the longer stays)."""
    found = [span for anchor in rendered.anchors if anchor.qid == qid if (span := _place(rendered.state, anchor))]
    kept: list[EvidenceSpan] = []
    for span in sorted(found, key=lambda span: (span.start - span.end, span.start)):
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return sorted(kept)


def _place(state: str, anchor: RenderedAnchor) -> EvidenceSpan | None:
    """The anchor inside the phrase of its line; the first mention where the phrase is not known."""
    phrase = state.find(anchor.context) if anchor.context else 0
    start = state.find(anchor.text, max(phrase, 0))
    if start < 0:
        return None
    return EvidenceSpan(start, start + len(anchor.text), anchor.anchor.role, anchor.anchor.text)


def record_page(draft: DraftRecord, rendered: RenderedRecord) -> str:
    """A record in Markdown: what the knowledge base holds, the text, and each question with its evidence in bold."""
    payload = snapshot_payload(draft.snapshot)
    parts = [
        "# One record, from the knowledge base to its questions",
        _INTRODUCTION,
        f"## From the knowledge base: `{draft.planned.record_id}`",
        f"It is {payload['now']} in {payload['time_zone']}; the user is `{draft.planned.user_id}`.",
        "\n".join(_snapshot_lines(draft)),
        f"## The text (style `{rendered.style_id}`, {rendered.wording.replace('_', ' ')} wording)",
        _fenced(rendered.unburied),
    ]
    if rendered.buried:
        parts.append(f"{rendered.buried} unrelated documents stand between its paragraphs in the record.")
    parts.append("## Questions and their evidence")
    words = {question.qid: question for question in rendered.questions}
    parts += [_question(fragment, words[fragment.qid], rendered) for fragment in draft.fragments]
    return "\n\n".join(parts) + "\n"


def _snapshot_lines(draft: DraftRecord) -> list[str]:
    rows = ["| line | values |", "|---|---|"]
    payload = snapshot_payload(draft.snapshot)
    for name, lines in payload.items():
        if name not in ("now", "time_zone"):
            rows += [
                f"| {line['kind']} | {_cell(json.dumps(_without_kind(line), ensure_ascii=False))} |" for line in lines
            ]
    return rows


def _without_kind(line: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in line.items() if name not in ("kind", "item_id", "fact_id")}


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _fenced(text: str) -> str:
    fence = "```" if "```" not in text else "````"
    return f"{fence}text\n{text}\n{fence}"


def _question(fragment: Fragment, words: QuestionText, rendered: RenderedRecord) -> str:
    kind = line_kind(fragment.pending.body).replace("_", " ")
    lines = [
        f"### {fragment.family}: {words.instructions}",
        f"Variant `{fragment.variant}`, scenario `{fragment.scenario}`, about a {kind}.",
        "\n".join(_options(fragment, words)),
        "Why: " + ("; ".join(fragment.rule_path) or "see the evidence") + ".",
        "Evidence in the text:",
        "\n".join(_quotes(rendered, fragment.qid)) or "- none: the deciding lines were removed",
    ]
    return "\n\n".join(lines)


def _options(fragment: Fragment, words: QuestionText) -> list[str]:
    shares = dict(fragment.soft or ())
    lines: list[str] = []
    for key, description in words.criteria:
        share = f" — {shares.get(key, 0.0):.2f} of the answers" if shares else ""
        mark = " ← **right**" if key == fragment.label and fragment.is_hard else ""
        lines.append(f"- `{key}` {description}{share}{mark}")
    return lines


def _quotes(rendered: RenderedRecord, qid: str) -> list[str]:
    """Each line of the state that holds evidence, the evidence in bold with its role behind."""
    state, quotes = rendered.state, dict[tuple[int, int], list[EvidenceSpan]]()
    for span in evidence_spans(rendered, qid):
        start = state.rfind("\n", 0, span.start) + 1
        end = state.find("\n", span.end)
        quotes.setdefault((start, len(state) if end < 0 else end), []).append(span)
    return [f"- {_bold(state, start, end, spans)}" for (start, end), spans in quotes.items()]


def _bold(state: str, start: int, end: int, spans: list[EvidenceSpan]) -> str:
    pieces: list[str] = []
    position = start + len(state[start:end]) - len(state[start:end].lstrip("*->•– "))  # a bullet of the text's own
    for span in spans:
        pieces += [state[position : span.start], f"**{state[span.start : span.end]}** *({span.role})*"]
        position = span.end
    return " ".join("".join([*pieces, state[position:end]]).split())
