"""Many evaluations on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forthwith.errors import ArtifactError, ConfigError
from forthwith.evaluation.document import Evaluation, write_evaluation
from forthwith.evaluation.report import write_leaderboard, write_report
from forthwith.evaluation.report.leaderboard import leaderboard_page


def renamed(evaluation: Evaluation, place: int, **changes: Any) -> Evaluation:
    model = evaluation.models[place]
    report = model.report.model_copy(update={"name": changes.pop("name", model.report.name)})
    return evaluation.model_copy(update={"models": [model.model_copy(update={"report": report, **changes})]})


def test_models_stand_by_falling_accuracy_and_once(evaluation: Evaluation) -> None:
    page = leaderboard_page([renamed(evaluation, 1), evaluation])
    (board,) = page.boards
    assert [row.cells[0].text for row in board.models.rows] == ["strong & tuned", "weak"]
    assert [row.cells[0].text for row in board.families.rows] == ["strong & tuned", "weak"]
    assert "2 models on 1 data sets" in page.lede


def test_other_data_get_a_board_of_their_own(evaluation: Evaluation) -> None:
    other = evaluation.model_copy(update={"data": "other.jsonl", "data_sha256": "e" * 64})
    assert [board.data for board in leaderboard_page([evaluation, other]).boards] == ["made-up.jsonl", "other.jsonl"]


def test_two_models_under_one_name_are_refused(evaluation: Evaluation) -> None:
    with pytest.raises(ConfigError, match=r"go by the name .weak. on made-up\.jsonl"):
        leaderboard_page([evaluation, renamed(evaluation, 0, name="weak")])
    with pytest.raises(ConfigError, match="at least one"):
        leaderboard_page([])


def test_pages_are_written_from_folders(evaluation: Evaluation, tmp_path: Path) -> None:
    write_evaluation(tmp_path / "one", evaluation)
    html, markdown = write_report(tmp_path / "one", title="One")
    assert "<h1>One</h1>" in html.read_text()
    assert markdown.read_text().startswith("# One\n")
    board = write_leaderboard([tmp_path / "one"], tmp_path / "site" / "board.html")
    assert "strong &amp; tuned" in board.read_text()
    with pytest.raises(ArtifactError, match=r"holds no evaluation\.json"):
        write_report(tmp_path / "two")
    (tmp_path / "one" / "evaluation.json").write_text("{}")
    with pytest.raises(ArtifactError, match="cannot be read as an evaluation"):
        write_report(tmp_path / "one")
