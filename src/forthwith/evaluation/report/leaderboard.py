"""Many evaluations to one page: models side by side, but only on the same data."""

from __future__ import annotations

from collections.abc import Sequence

from forthwith.errors import ConfigError
from forthwith.evaluation.document import EvaluatedModel, Evaluation
from forthwith.evaluation.report.charts import Interval, interval_chart
from forthwith.evaluation.report.tables import models_table
from forthwith.evaluation.report.view import Board, Cell, Head, LeaderboardPage, Row, Table, number

__all__ = ["leaderboard_page"]


def leaderboard_page(evaluations: Sequence[Evaluation], *, title: str = "Leaderboard") -> LeaderboardPage:
    """One board a data set, models by falling macro accuracy; predictions that occur in several evaluations stand once.

    Raises:
        ConfigError: no evaluation was given, or two different models of one data set share a name.
    """
    if not evaluations:
        raise ConfigError("a leaderboard needs at least one evaluation; name folders that forthwith evaluate has made")
    boards: dict[str, dict[str, EvaluatedModel]] = {}
    names: dict[str, str] = {}
    for evaluation in evaluations:
        names[evaluation.data_sha256] = evaluation.data
        board = boards.setdefault(evaluation.data_sha256, {})
        for model in evaluation.models:
            _add(board, model, evaluation.data)
    count = sum(len(board) for board in boards.values())
    return LeaderboardPage(
        title=title,
        lede=f"{count} models on {len(boards)} data sets. Intervals are those of accuracy over all questions.",
        boards=[_board(names[data], list(board.values())) for data, board in boards.items()],
        footer=[f"Data {names[data]}, SHA-256 {data}" for data in boards],
    )


def _add(board: dict[str, EvaluatedModel], model: EvaluatedModel, data: str) -> None:
    name = model.report.name
    known = board.get(name)
    if known is None:
        board[name] = model
    elif (
        known.predictions_sha256 != model.predictions_sha256 or known.report.is_calibrated != model.report.is_calibrated
    ):
        raise ConfigError(f"two different models go by the name {name!r} on {data}; evaluate one under another --name")


def _board(data: str, models: list[EvaluatedModel]) -> Board:
    ranked = sorted(models, key=lambda model: -(model.report.macro.accuracy or 0.0))
    rows: list[tuple[str, list[Interval]]] = []
    for model in ranked:
        micro = model.report.micro
        if micro.accuracy is not None and micro.accuracy_low is not None and micro.accuracy_high is not None:
            shown = Interval(model.report.name, micro.accuracy, micro.accuracy_low, micro.accuracy_high)
            rows.append((model.report.name, [shown]))
    chart = interval_chart(rows, f"Accuracy on {data}", unit="accuracy, all questions")
    return Board(data, chart, models_table(ranked), _family_table(ranked))


def _family_table(ranked: list[EvaluatedModel]) -> Table:
    families = list(dict.fromkeys(family for model in ranked for family in model.report.families))
    rows: list[Row] = []
    for model in ranked:
        cells: list[Cell] = []
        for family in families:
            scores = model.report.families.get(family)
            cells.append(number(None if scores is None else scores.accuracy))
        rows.append(Row([Cell(model.report.name), *cells]))
    return Table("Accuracy by family", [Head("model"), *(Head(family) for family in families)], rows)
