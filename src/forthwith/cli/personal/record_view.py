"""One record on a terminal: the state with the evidence of one question marked, the options, and why."""

from __future__ import annotations

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from forthwith.personal.evidence import EvidenceSpan, evidence_spans
from forthwith.personal.fragment import DraftRecord, Fragment
from forthwith.personal.render import QuestionText, RenderedRecord

__all__ = ["show_question"]

_CONTEXT_LINES = 1


def show_question(console: Console, draft: DraftRecord, rendered: RenderedRecord, qid: str, *, whole: bool) -> None:
    """Print one question of a record; `whole` shows all of the state, otherwise the lines around the evidence."""
    fragment = next(fragment for fragment in draft.fragments if fragment.qid == qid)
    words = next(question for question in rendered.questions if question.qid == qid)
    spans = evidence_spans(rendered, qid)
    state = _marked(rendered.state, spans)
    if not whole:
        state = _around(state, rendered.state, spans)
    title = f"{fragment.family} · {fragment.variant} · {fragment.scenario} · style {rendered.style_id}"
    body = Group(state, Text(), Text(words.instructions, style="bold"), _options(fragment, words), _why(fragment))
    console.print(Panel(body, title=title, subtitle=draft.planned.record_id, title_align="left"))


def _marked(state: str, spans: list[EvidenceSpan]) -> Text:
    text = Text(state)
    for span in spans:
        text.stylize("bold reverse", span.start, span.end)
    return text


def _around(marked: Text, state: str, spans: list[EvidenceSpan]) -> Text:
    """Only the lines that hold evidence and their neighbours; a gap shows as dots."""
    ends = [index for index, character in enumerate(state) if character == "\n"]
    starts = [0, *(end + 1 for end in ends)]
    holding = {_line_of(starts, place) for span in spans for place in (span.start, span.end - 1)}
    wanted = {line + step for line in holding for step in range(-_CONTEXT_LINES, _CONTEXT_LINES + 1)}
    lines = marked.split("\n", allow_blank=True)
    shown = Text()
    gap = False
    for number, line in enumerate(lines):
        if number in wanted and line.plain.strip():
            shown.append_text(Text("⋯\n", style="dim") if gap and shown else Text())
            shown.append_text(line).append("\n")
            gap = False
        elif number not in wanted:
            gap = True
    return shown


def _line_of(starts: list[int], place: int) -> int:
    return sum(start <= place for start in starts) - 1


def _options(fragment: Fragment, words: QuestionText) -> Table:
    shares = dict(fragment.soft or ())
    table = Table.grid(padding=(0, 2))
    for key, description in words.criteria:
        is_right = key == fragment.label and fragment.is_hard
        mark = f"{shares.get(key, 0.0):.2f}" if shares else "✔" if is_right else " "
        table.add_row(mark, key, description, style="green" if is_right else "")
    return table


def _why(fragment: Fragment) -> Text:
    return Text("because: " + ("; ".join(fragment.rule_path) or "the marked lines say so"), style="italic dim")
