"""Rows are built once, come back as they were, and are known by what they depend on."""

from pathlib import Path

from training_runs import records

from forthwith.readout import readout_by_name
from forthwith.testing import tiny_encoder
from forthwith.training.planning import Planner
from forthwith.training.row_cache import build_rows, rows_key
from forthwith.training.rows import RowRules


def planner(limit: int = 8192, readout: str = "branch") -> Planner:
    return Planner(readout_by_name(readout), tiny_encoder(), RowRules(max_tokens=limit))


def test_cached_rows_are_the_rows_planned(tmp_path: Path) -> None:
    cached = build_rows(records(), planner(), tmp_path, rows_key("data", planner()))
    assert [cached.row(index) for index in range(len(cached))] == [planner().row(record, 0) for record in records()]
    assert cached.manifest.questions == 24


def test_rows_are_not_built_twice(tmp_path: Path) -> None:
    key = rows_key("data", planner())
    first = build_rows(records(), planner(), tmp_path, key)
    assert build_rows([], planner(), tmp_path, key).manifest == first.manifest


def test_skipped_records_keep_their_place_and_their_reason(tmp_path: Path) -> None:
    longest = sorted({planner().row(record, 0).tree.depth for record in records()})
    cached = build_rows(records(), planner(longest[-2]), tmp_path, "k", overlong="skip")
    assert len(cached) == 12
    assert 0 < cached.manifest.rows < 12
    for name, reason in cached.manifest.skipped.items():
        index = next(number for number, record in enumerate(records()) if record.id == name)
        assert cached.row(index) is None
        assert f"the limit is {longest[-2]}" in reason


def test_the_key_changes_with_data_template_and_limit() -> None:
    keys = {
        rows_key("a", planner()),
        rows_key("b", planner()),
        rows_key("a", planner(100)),
        rows_key("a", planner(readout="label")),
    }
    assert len(keys) == 4
