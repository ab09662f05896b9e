"""What stands on a page: tiles, tables and pictures, as plain values. Templates arrange them and know nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from markupsafe import Markup

from forthwith.evaluation.report.figures import ConfidentError, Confusion

__all__ = [
    "Cell",
    "ConfusionView",
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

Tone = Literal["", "good", "bad"]


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
    automation: Table | None = None
    slices: Sequence[Table] = ()
    confusions: Sequence[ConfusionView] = ()
    errors: Sequence[ConfidentError] = ()
    footer: Sequence[str] = ()

    @property
    def error_families(self) -> list[str]:
        """Families that the confident errors come from."""
        return sorted({error.family for error in self.errors})


@dataclass(frozen=True)
class LeaderboardPage:
    """Many runs side by side."""

    title: str
    lede: str
    chart: Markup
    table: Table
    family_tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    footer: Sequence[str] = field(default_factory=tuple[str, ...])


def number(value: float | None, *, digits: int = 3, interval: tuple[float, float] | None = None) -> Cell:
    """A cell for a number, with its interval where one is known; a dash for None."""
    if value is None:
        return Cell("–")
    shown = "" if interval is None else f"{interval[0]:.{digits}f} to {interval[1]:.{digits}f}"
    return Cell(f"{value:.{digits}f}", value, shown)


def percent(value: float | None) -> str:
    """A share as whole and tenth percent; a dash for None."""
    return "–" if value is None else f"{100 * value:.1f} %"


def confusion_view(confusion: Confusion) -> ConfusionView:
    """A confusion matrix with shares of rows, and its commonest mistakes as a table."""
    cells: list[tuple[str, list[HeatCell]]] = []
    for i, (option, row) in enumerate(zip(confusion.options, confusion.counts, strict=False)):
        total = max(sum(row), 1)
        cells.append((option, [HeatCell(count, count / total, i == j) for j, count in enumerate(row)]))
    rows = [
        Row([Cell(right), Cell(answered, is_text=True), Cell(str(count), count)])
        for right, answered, count in confusion.pairs
    ]
    heads = [Head("right", text_column=True), Head("answered", text_column=True), Head("questions")]
    return ConfusionView(
        confusion.family, confusion.options, cells, Table(f"{confusion.family}: commonest mistakes", heads, rows)
    )
