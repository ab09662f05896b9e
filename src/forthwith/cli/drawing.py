"""Decisions drawn on a terminal: one bar an option, the answer marked, the verdict in words."""

from __future__ import annotations

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from forthwith.decision import Answer, Decision
from forthwith.prompt import option_text, render_content
from forthwith.schema import Noul, Question, Record, option_descriptions

__all__ = ["draw_decision"]

_BAR_WIDTH = 24
_SHOWN_OPTIONS = 12
_WIDTH = 80
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def draw_decision(record: Record, decision: Decision, console: Console | None = None) -> None:
    """Print a record's answers: a panel a question, then one line on who answered and at what cost."""
    console = console or Console(highlight=False)
    for qid, answer in decision.answers.items():
        console.print(_panel(qid, record.questions[qid], answer, calibrated=decision.calibrated))
    usage = decision.usage
    cached = f", {usage.cached_tokens} cached" if usage.cached_tokens else ""
    state = "calibrated" if decision.calibrated else "not calibrated"
    console.print(
        f"[dim]{decision.model} ({decision.bundle_id}), {state} · {usage.input_tokens} tokens{cached} ·"
        f" {usage.latency_ms:.0f} ms[/dim]"
    )


def _panel(qid: str, question: Question, answer: Answer, *, calibrated: bool) -> Panel:
    table = Table.grid(padding=(0, 1))
    table.add_column(width=_WIDTH - _BAR_WIDTH - 12, overflow="ellipsis", no_wrap=True)
    table.add_column(width=_BAR_WIDTH, no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    shown = _rows(question, answer)
    for key, probability, is_best in shown[:_SHOWN_OPTIONS]:
        style = "bold green" if is_best else "dim"
        table.add_row(Text(key, style=style), Text(bar(probability), style=style), f"{probability:.3f}")
    if len(shown) > _SHOWN_OPTIONS:
        rest = sum(probability for _, probability, _ in shown[_SHOWN_OPTIONS:])
        table.add_row(Text(f"{len(shown) - _SHOWN_OPTIONS} more", style="dim"), "", f"{rest:.3f}")
    instructions = question.instructions
    title = Text(qid, style="bold")
    if instructions is not None:
        title.append(f"  {render_content(instructions).splitlines()[0][:70]}", style="default")
    return Panel(table, title=title, title_align="left", subtitle=_verdict(answer, calibrated=calibrated), width=_WIDTH)


def _rows(question: Question, answer: Answer) -> list[tuple[str, float, bool]]:
    labels = ["no", "yes"] if isinstance(question, Noul) else _labels(question, answer)
    rows = [
        (label, float(probability), key == answer.key)
        for label, key, probability in zip(labels, answer.keys, answer.probabilities, strict=True)
    ]
    return rows if answer.type == "score" else sorted(rows, key=lambda row: -row[1])


def _labels(question: Question, answer: Answer) -> list[str]:
    described = zip(answer.keys, option_descriptions(question), strict=True)
    return [option_text(key, description).splitlines()[0] for key, description in described]


def bar(probability: float) -> str:
    """A bar of block characters, `_BAR_WIDTH` wide at probability 1."""
    eighths = round(probability * _BAR_WIDTH * 8)
    full, part = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[part] if part else "")


def _verdict(answer: Answer, *, calibrated: bool) -> str:
    parts = [f"confidence {answer.confidence:.2f}"]
    if answer.type == "score":
        parts.append(f"expected level {answer.value:.2f}")
    if answer.verdict == "automate":
        parts.append("[green]automate[/green]")
    elif answer.verdict == "ask":
        parts.append("[yellow]ask[/yellow]")
    elif not calibrated:
        parts.append("no verdict: not calibrated")
    return " · ".join(parts)
