"""Pictures as inline SVG: no script, no fonts, no network; colours are CSS classes, so light and dark need one picture.

Every function takes plain numbers and gives SVG text with a title and a description for readers who do not see it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

__all__ = [
    "CurvePoint",
    "Interval",
    "ReliabilityBin",
    "difference_chart",
    "interval_chart",
    "reliability_chart",
    "risk_coverage_chart",
]


_WIDE = 1000.0


class Interval(NamedTuple):
    """A value with its interval, and what it is called."""

    name: str
    value: float
    low: float
    high: float
    note: str = ""


class ReliabilityBin(NamedTuple):
    """Questions of one bin of confidence: mean confidence, and mean correctness with its 95 % interval."""

    low_edge: float
    high_edge: float
    questions: int
    confidence: float
    correctness: float
    low: float
    high: float


class CurvePoint(NamedTuple):
    """The answers at or above a confidence: their share, and the share of them that is wrong."""

    coverage: float
    risk: float


class _Frame(NamedTuple):
    """The plotting area: pixels of its corners, and the scales into it."""

    left: float
    top: float
    right: float
    bottom: float
    x: Callable[[float], float]
    y: Callable[[float], float]


def reliability_chart(bins: Sequence[ReliabilityBin], title: str, *, series: int = 1, size: int = 400) -> Markup:
    """Mean correctness against mean confidence by bin, with intervals; the area of a dot is the number of questions.

    A dot below the diagonal is over-confident. Bars at the foot show how many questions fall into each bin.
    """
    foot = 34.0
    frame = _frame(size, size + foot, margins=(42, 14, 12, 40 + foot))
    most = max((item.questions for item in bins), default=1)
    parts = [_grid(frame, (0, 0.25, 0.5, 0.75, 1), (0, 0.25, 0.5, 0.75, 1), offset=foot)]
    parts.append(_line(frame.x(0), frame.y(0), frame.x(1), frame.y(1), "diagonal"))
    for item in bins:
        x, y = frame.x(item.confidence), frame.y(item.correctness)
        radius = 2.5 + 6.5 * (item.questions / most) ** 0.5
        hint = (
            f"confidence {item.confidence:.3f}, right {item.correctness:.3f} "
            f"[{item.low:.3f}, {item.high:.3f}], {item.questions} questions"
        )
        tall = (foot - 6) * item.questions / most
        left, width = frame.x(item.low_edge) + 1, frame.x(item.high_edge) - frame.x(item.low_edge) - 2
        base = frame.bottom + foot
        parts.append(
            f'<g class="mark"><title>{escape(hint)}</title>'
            f'<rect class="count" x="{left:.1f}" y="{base - tall:.1f}" width="{width:.1f}" height="{tall:.1f}"/>'
            f"{_line(x, frame.y(item.low), x, frame.y(item.high), f'whisker s{series}')}"
            f'<circle class="dot s{series}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/></g>'
        )
    parts.append(_axis_names(frame, "confidence", "share right", offset=foot))
    summary = f"{len(bins)} bins, {sum(item.questions for item in bins)} questions"
    return _svg(size, size + foot, title, summary, parts)


def risk_coverage_chart(
    curves: Sequence[tuple[str, Sequence[CurvePoint]]], title: str, *, budget: float | None = None, size: int = 380
) -> Markup:
    """Error among accepted answers against the share accepted, one line a model; lower is better."""
    points = [point for _, curve in curves for point in curve]
    top = _nice_top(max([point.risk for point in points if point.coverage >= 0.02] + [budget or 0.0, 0.02]))
    frame = _frame(_WIDE, size, margins=(46, 14, 14, 40), y_range=(0, top))
    ticks = [top * step / 4 for step in range(5)]
    parts = [_grid(frame, (0, 0.25, 0.5, 0.75, 1), ticks)]
    if budget is not None and budget <= top:
        y = frame.y(budget)
        parts.append(_line(frame.left, y, frame.right, y, "budget"))
        parts.append(f'<text class="tick" x="{frame.left + 6:.1f}" y="{y - 5:.1f}">budget {budget:.0%}</text>')
    for number, (name, curve) in enumerate(curves, start=1):
        # Below 2 % of the questions the curve is a handful of answers and jumps between extremes.
        drawn = [point for point in curve if point.coverage >= 0.02] or list(curve)
        path = " ".join(f"{frame.x(p.coverage):.1f},{frame.y(min(p.risk, top)):.1f}" for p in drawn)
        last = f"{name}: {curve[-1].risk:.3f} wrong when all are accepted" if curve else name
        parts.append(
            f'<g class="mark"><title>{escape(last)}</title><polyline class="curve s{number}" points="{path}"/></g>'
        )
    parts.append(_axis_names(frame, "share of questions answered without asking", "share of those wrong"))
    return _svg(_WIDE, size, title, ", ".join(name for name, _ in curves), parts)


def interval_chart(rows: Sequence[tuple[str, Sequence[Interval]]], title: str, *, unit: str = "accuracy") -> Markup:
    """One row a family, in it one dot with its interval for each model, on a scale from 0 to 1."""
    per_row = max((len(row) for _, row in rows), default=1)
    step = 16.0 + 10.0 * per_row
    width, label = _WIDE, 210.0
    height = step * len(rows) + 46
    frame = _frame(width, height, margins=(label, 8, 58, 38))
    parts = [_grid(frame, (0, 0.25, 0.5, 0.75, 1), ())]
    for number, (name, row) in enumerate(rows):
        middle = frame.top + step * (number + 0.5)
        if number:
            parts.append(_line(frame.left, middle - step / 2, frame.right, middle - step / 2, "grid"))
        parts.append(f'<text class="label" x="{label - 12:.1f}" y="{middle + 4:.1f}">{escape(_short(name))}</text>')
        for place, item in enumerate(row):
            y = middle + (place - (len(row) - 1) / 2) * 11
            parts.append(_interval_mark(frame, item, y, f"s{place + 1}"))
        first = row[0] if row else None
        if first is not None:
            value = f'<text class="value" x="{frame.right + 8:.1f}" y="{middle + 4:.1f}">{first.value:.3f}</text>'
            parts.append(value)
    parts.append(_axis_names(frame, unit, ""))
    return _svg(width, height, title, f"{len(rows)} rows", parts)


def difference_chart(rows: Sequence[Interval], title: str, *, unit: str = "difference in points") -> Markup:
    """Differences in points with their intervals around a line at zero; an interval off the line is a difference."""
    width, label, step = _WIDE, 210.0, 30.0
    height = step * max(len(rows), 1) + 46
    reach = _nice_top(max([abs(edge) for row in rows for edge in (row.low, row.high)] + [0.01]))
    frame = _frame(width, height, margins=(label, 8, 66, 38), x_range=(-reach, reach))
    ticks = (-reach, -reach / 2, 0.0, reach / 2, reach)
    parts = [_grid(frame, ticks, (), x_text=lambda value: f"{100 * value:+.3g}" if value else "0")]
    parts.append(_line(frame.x(0), frame.top, frame.x(0), frame.bottom, "zero"))
    for number, row in enumerate(rows):
        y = frame.top + step * (number + 0.5)
        tone = "better" if row.low > 0 else "worse" if row.high < 0 else "level"
        parts.append(f'<text class="label" x="{label - 12:.1f}" y="{y + 4:.1f}">{escape(_short(row.name))}</text>')
        parts.append(_interval_mark(frame, row, y, tone))
        shown = f"{100 * row.value:+.1f}"
        parts.append(f'<text class="value" x="{frame.right + 8:.1f}" y="{y + 4:.1f}">{shown}</text>')
    parts.append(_axis_names(frame, unit, ""))
    return _svg(width, height, title, f"{len(rows)} rows", parts)


def _interval_mark(frame: _Frame, item: Interval, y: float, tone: str) -> str:
    x = frame.x(item.value)
    hint = f"{item.name}: {item.value:.3f} [{item.low:.3f}, {item.high:.3f}]{' ' + item.note if item.note else ''}"
    return (
        f'<g class="mark"><title>{escape(hint)}</title>'
        f"{_line(frame.x(item.low), y, frame.x(item.high), y, f'whisker {tone}')}"
        f'<circle class="dot {tone}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/></g>'
    )


def _frame(
    width: float,
    height: float,
    *,
    margins: tuple[float, float, float, float],
    x_range: tuple[float, float] = (0.0, 1.0),
    y_range: tuple[float, float] = (0.0, 1.0),
) -> _Frame:
    """Margins are left, top, right, bottom."""
    left, top, right, bottom = margins[0], margins[1], width - margins[2], height - margins[3]

    def x(value: float) -> float:
        return left + (value - x_range[0]) / (x_range[1] - x_range[0]) * (right - left)

    def y(value: float) -> float:
        return bottom - (value - y_range[0]) / (y_range[1] - y_range[0]) * (bottom - top)

    return _Frame(left, top, right, bottom, x, y)


def _grid(
    frame: _Frame,
    x_ticks: Sequence[float],
    y_ticks: Sequence[float],
    *,
    offset: float = 0.0,
    x_text: Callable[[float], str] = "{:g}".format,
) -> str:
    parts: list[str] = []
    for tick in x_ticks:
        x = frame.x(tick)
        parts.append(_line(x, frame.top, x, frame.bottom, "grid"))
        parts.append(
            f'<text class="tick middle" x="{x:.1f}" y="{frame.bottom + offset + 15:.1f}">{x_text(tick)}</text>'
        )
    for tick in y_ticks:
        y = frame.y(tick)
        parts.append(_line(frame.left, y, frame.right, y, "grid"))
        parts.append(f'<text class="tick end" x="{frame.left - 6:.1f}" y="{y + 4:.1f}">{tick:.3g}</text>')
    return "".join(parts)


def _axis_names(frame: _Frame, x_name: str, y_name: str, *, offset: float = 0.0) -> str:
    middle = (frame.left + frame.right) / 2
    text = f'<text class="axis middle" x="{middle:.1f}" y="{frame.bottom + offset + 32:.1f}">{escape(x_name)}</text>'
    if y_name:
        y = (frame.top + frame.bottom) / 2
        text += f'<text class="axis middle" transform="translate(11 {y:.1f}) rotate(-90)">{escape(y_name)}</text>'
    return text


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _svg(width: float, height: float, title: str, summary: str, parts: Sequence[str]) -> Markup:
    body = "".join(parts)
    name = f"c{zlib.crc32(f'{title}{body}'.encode()):08x}"  # equal pictures share an id, others do not
    kind = "chart wide" if width >= _WIDE else "chart"
    return Markup(
        f'<svg class="{kind}" viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px" role="img" '
        f'aria-labelledby="{name}t {name}d"><title id="{name}t">{escape(title)}</title>'
        f'<desc id="{name}d">{escape(summary)}</desc>{body}</svg>'
    )


def _nice_top(value: float) -> float:
    """The least of 1, 2, 4, 5, 8 or 10 times a power of ten that reaches the value, but at most 1."""
    scale = 1.0
    while scale / 10 >= value:
        scale /= 10
    return min(1.0, next(scale * step for step in (0.1, 0.2, 0.4, 0.5, 0.8, 1.0) if scale * step >= value - 1e-12))


def _short(name: str) -> str:
    return name if len(name) <= 26 else name[:25] + "…"
