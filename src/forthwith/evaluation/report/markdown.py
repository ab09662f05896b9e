"""The tables of a page as Markdown: the same numbers, for a pull request or a log."""

from __future__ import annotations

from forthwith.evaluation.report.view import Cell, ReportPage, Table

__all__ = ["render_markdown"]


def render_markdown(page: ReportPage) -> str:
    """A page without its pictures, its states and its confident errors."""
    parts = [f"# {_escaped(page.title)}", _escaped(page.lede)]
    parts.append(
        "\n".join(f"- **{_escaped(tile.name)}**: {tile.figure} ({_escaped(tile.note)})" for tile in page.tiles)
    )
    parts += [_escaped(note) for note in page.notes]
    tables = [*page.metric_tables, *page.difference_tables, *page.automation, *page.slices]
    if page.checks is not None:
        tables.insert(0, page.checks)
    parts += [_table(table) for table in tables]
    parts.append("\n".join(f"- {_escaped(line)}" for line in page.footer))
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(table: Table) -> str:
    heads = "| " + " | ".join(_escaped(head.name) for head in table.heads) + " |"
    rule = (
        "|"
        + "|".join(" --- " if head.text_column or place == 0 else " ---: " for place, head in enumerate(table.heads))
        + "|"
    )
    rows = ["| " + " | ".join(_cell(cell) for cell in row.cells) + " |" for row in table.rows]
    return "\n".join([f"## {_escaped(table.caption)}", "", heads, rule, *rows])


def _cell(cell: Cell) -> str:
    return _escaped(cell.text + (f" ({cell.interval})" if cell.interval else ""))


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    for mark in ("\\", "|", "<", "*", "_", "`", "["):
        text = text.replace(mark, "\\" + mark)
    return text.replace("\n", " ")
