"""What stands on a page: tiles, tables and pictures, as plain values. Templates arrange them and know nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from forthwith.evaluation.results import Confusion

__all__ = [
    "Board",
    "Cell",
    "ConfusionView",
    "ErrorView",
    "Head",
    "HeatCell",
    "LeaderboardPage",
    "Picture",
    "ReportPage",
    "Row",
    "Table",
    "Tile",
    "confusion_view",
    "number",
    "percent",
]

Tone = Literal["", "good", "bad", "none"]

_MATRIX_OPTIONS = 12
_PAIRS = 15


@dataclass(frozen=True)
class Tile:
    """One figure of the summary."""

    name: str
    figure: str
    note: str = ""
    tone: Tone = ""


@dataclass(frozen=True)
class Head:
    """A column's head; `hint` explains it on hover."""

    name: str
    hint: str = ""
    text_column: bool = False


@dataclass(frozen=True)
class Cell:
    """A table cell: what it shows, the number to sort by, an interval in small print, and a tone if it is a verdict."""

    text: str
    value: float | None = None
    interval: str = ""
    tone: Tone = ""
    is_text: bool = False


@dataclass(frozen=True)
class Row:
    """A table row; `strong` rows sum up the others."""

    cells: Sequence[Cell]
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """A table with a caption that says what it holds."""

    caption: str
    heads: Sequence[Head]
    rows: Sequence[Row]


@dataclass(frozen=True)
class Picture:
    """A titled chart."""

    title: str
    chart: Markup


@dataclass(frozen=True)
class HeatCell:
    """One cell of a confusion matrix; `depth` in [0, 1] is its share of its row."""

    count: int
    depth: float
    diagonal: bool


@dataclass(frozen=True)
class ConfusionView:
    """A confusion matrix by rows, or where it is too large the commonest mistakes."""

    family: str
    options: Sequence[str]
    cells: Sequence[tuple[str, Sequence[HeatCell]]]
    pairs: Table


@dataclass(frozen=True)
class ErrorView:
    """A wrong answer that was given with confidence; texts are empty where the report may not show them."""

    record: str
    qid: str
    family: str
    right: str
    answered: str
    confidence: float
    automated: bool
    question: str = ""
    state: str = ""


@dataclass(frozen=True)
class ReportPage:
    """Everything on the report of one evaluation; the first of `models` is reported, the others are compared."""

    title: str
    lede: str
    models: Sequence[str]
    tiles: Sequence[Tile]
    family_chart: Markup
    risk_chart: Markup
    notes: Sequence[str] = ()
    metric_tables: Sequence[Table] = ()
    differences: Sequence[Picture] = ()
    difference_tables: Sequence[Table] = ()
    checks: Table | None = None
    reliability: Sequence[Picture] = ()
    reliability_by_family: Sequence[Picture] = ()
    automation: Sequence[Table] = ()
    slices: Sequence[Table] = ()
    confusions: Sequence[ConfusionView] = ()
    errors: Sequence[ErrorView] = ()
    footer: Sequence[str] = ()

    @property
    def error_families(self) -> list[str]:
        """Families that the confident errors come from."""
        return sorted({error.family for error in self.errors})


@dataclass(frozen=True)
class Board:
    """The models of one data set."""

    data: str
    chart: Markup
    models: Table
    families: Table


@dataclass(frozen=True)
class LeaderboardPage:
    """Many runs side by side."""

    title: str
    lede: str
    boards: Sequence[Board]
    footer: Sequence[str] = ()


def number(value: float | None, *, digits: int = 3, interval: tuple[float, float] | None = None) -> Cell:
    """A cell for a number, with its interval where one is known; a dash for None."""
    if value is None:
        return Cell("–")
    shown = "" if interval is None else f"{interval[0]:.{digits}f} to {interval[1]:.{digits}f}"
    return Cell(f"{value:.{digits}f}", value, shown)


def percent(value: float | None) -> str:
    """A share as whole and tenth percent; a dash for None."""
    return "–" if value is None else f"{100 * value:.1f} %"


def confusion_view(family: str, confusion: Confusion) -> ConfusionView:
    """A confusion matrix with shares of rows where it is small, else its commonest mistakes as a table."""
    cells: list[tuple[str, list[HeatCell]]] = []
    mistakes: list[tuple[int, str, str]] = []
    for i, (option, row) in enumerate(zip(confusion.options, confusion.counts, strict=True)):
        total = max(sum(row), 1)
        cells.append((option, [HeatCell(count, count / total, i == j) for j, count in enumerate(row)]))
        mistakes += [(count, option, confusion.options[j]) for j, count in enumerate(row) if count and i != j]
    mistakes.sort(key=lambda mistake: -mistake[0])
    rows = [
        Row([Cell(right), Cell(answered, is_text=True), Cell(str(count), count)])
        for count, right, answered in mistakes[:_PAIRS]
    ]
    heads = [Head("right", text_column=True), Head("answered", text_column=True), Head("questions")]
    pairs = Table(f"{family}: commonest mistakes", heads, rows)
    return ConfusionView(family, confusion.options, cells if len(cells) <= _MATRIX_OPTIONS else [], pairs)
