"""The whole step from raw files to tables, resumed and never mixed."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from forthwith.errors import ConfigError, DataError
from forthwith.personal.sources import SourceOptions, normalise
from forthwith.personal.sources.enron import EnronRules
from forthwith.personal.tables import TABLE_NAMES, read_stats, read_table

BODY = "A body that is long enough to be kept, which means eighty characters or more, as this one is."


def _raw(folder: Path) -> Path:
    (folder / "openflights").mkdir(parents=True)
    (folder / "openflights/airports.dat").write_text(
        '1,"Alpha Field","Alphaville","Nowhere","ALP","XALP",1.5,-2.25,100,10,"U","Pacific/Nowhere","airport","Ours"\n'
    )
    (folder / "openflights/airlines.dat").write_text('7,"Alpha Air",\\N,"AA","ALA","ALPHA","Nowhere","N"\n')
    (folder / "openflights/routes.dat").write_text("AA,7,ALP,1,BET,2,,0,CR2\n")
    (folder / "enron").mkdir()
    for part in range(3):
        pl.DataFrame(
            {"message_id": [f"m{part}"], "subject": ["s"], "date": ["2001-01-01"], "body": [f"{BODY} {part}"]}
        ).write_parquet(folder / f"enron/train-{part:05d}-of-00003.parquet")
    return folder


def test_tables_statistics_and_licences_are_written(tmp_path: Path):
    stats = normalise(_raw(tmp_path / "raw"), tmp_path / "out", SourceOptions(sources=("openflights", "enron")))
    assert stats["rows"] == {"items": 0, "interactions": 0, "airports": 1, "airlines": 1, "routes": 1, "emails": 3}
    assert {name: read_table(tmp_path / "out", name).height for name in TABLE_NAMES} == stats["rows"]
    assert read_stats(tmp_path / "out") == json.loads(json.dumps(stats))
    assert stats["synthetic"] is False
    assert len(stats["raw_files"]) == 6
    assert stats["sources"]["openflights"]["files_unlike_their_pin"] == [
        "openflights/airlines.dat", "openflights/airports.dat", "openflights/routes.dat",
    ]  # fmt: skip
    terms = json.loads((tmp_path / "out/LICENSES.json").read_text())
    assert [licence["source"] for licence in terms] == ["openflights", "enron"]
    assert not (tmp_path / "out/parts").exists()


def test_a_stopped_run_goes_on_and_other_options_start_over(tmp_path: Path):
    raw = _raw(tmp_path / "raw")
    (raw / "enron/train-00001-of-00003.parquet").rename(tmp_path / "away")
    options = SourceOptions(sources=("openflights", "enron"))
    with pytest.raises(DataError, match="is missing; fetch it from https"):
        normalise(raw, tmp_path / "out", options)
    (tmp_path / "away").rename(raw / "enron/train-00001-of-00003.parquet")
    steps: list[str] = []
    normalise(raw, tmp_path / "out", options, steps.append)
    assert steps == ["openflights: finished before", "reading Enron mail"]
    fewer = normalise(raw, tmp_path / "out", SourceOptions(sources=("enron",), enron=EnronRules(emails=2)))
    assert fewer["rows"]["emails"] == 2


def test_no_source_is_a_configuration_error(tmp_path: Path):
    with pytest.raises(ConfigError, match="no source"):
        normalise(tmp_path, tmp_path, SourceOptions(sources=()))
