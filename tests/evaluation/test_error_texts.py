"""A few records out of a file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from forthwith.errors import DataError
from forthwith.evaluation.error_texts import ErrorText, error_texts

QUESTIONS = {"q": {"type": "noul", "instructions": "Late?"}, "p": {"type": "noul", "instructions": {"ask": "Lost?"}}}


def write(path: Path, ids: list[str | None], *, ascii_only: bool = True) -> Path:
    rows = [{"id": name, "state": f"state {place}", "questions": QUESTIONS} for place, name in enumerate(ids)]
    text = "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["data.jsonl", "data.jsonl.gz"])
def test_only_the_wanted_questions_come_back(tmp_path: Path, name: str) -> None:
    data = write(tmp_path / name, ["r1", "r11", "r2"])
    assert error_texts(data, [("r2", "q"), ("r1", "p")]) == [
        ErrorText(id="r1", qid="p", question='{\n "ask": "Lost?"\n}', state="state 0"),
        ErrorText(id="r2", qid="q", question="Late?", state="state 2"),
    ]
    assert error_texts(data, []) == []


@pytest.mark.parametrize("ascii_only", [True, False])
def test_ids_are_found_however_they_are_written(tmp_path: Path, ascii_only: bool) -> None:
    data = write(tmp_path / "data.jsonl", ['é"\\', "b"], ascii_only=ascii_only)
    assert [text.state for text in error_texts(data, [('é"\\', "q")])] == ["state 0"]


def test_records_without_an_id_go_by_their_line(tmp_path: Path) -> None:
    data = write(tmp_path / "data.jsonl", [None, None, None])
    assert [text.state for text in error_texts(data, [("line-2", "q")])] == ["state 1"]


def test_parquet_and_missing_files(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows = [{"id": f"r{place}", "state": f"state {place}", "questions": json.dumps(QUESTIONS)} for place in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "data.parquet")
    assert [text.state for text in error_texts(tmp_path / "data.parquet", [("r1", "q")])] == ["state 1"]
    with pytest.raises(DataError, match="cannot be read"):
        error_texts(tmp_path / "none.jsonl", [("r1", "q")])


def test_long_texts_are_cut_and_say_so(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps({"id": "r", "state": "x" * 2000, "questions": QUESTIONS}) + "\n")
    (text,) = error_texts(data, [("r", "q")])
    assert len(text.state) == 702
    assert text.state.endswith(" …")
