import json

import pytest

from forthwith.errors import DataError
from forthwith.training.data_files import read_files

RECORD = {"state": "a", "questions": {"q": {"type": "noul", "instructions": "Is it?", "label": True}}}


def lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_an_id_that_stands_twice_is_refused_and_both_files_are_named(tmp_path):
    one = lines(tmp_path / "one.jsonl", {"id": "r1", **RECORD}, {"id": "r2", **RECORD})
    two = lines(tmp_path / "two.jsonl", {"id": "r3", **RECORD}, {"id": "r2", **RECORD})
    with pytest.raises(DataError, match=r"two\.jsonl.*'r2' stands in .*one\.jsonl already"):
        read_files([one, two])
    with pytest.raises(DataError, match="'r1' stands in"):
        read_files([one, one])
    with pytest.raises(DataError, match="'r1' stands in"):
        read_files([lines(tmp_path / "same.jsonl", {"id": "r1", **RECORD}, {"id": "r1", **RECORD})])


def test_records_without_ids_are_told_apart_by_file_and_line(tmp_path):
    one, two = lines(tmp_path / "one.jsonl", RECORD, RECORD), lines(tmp_path / "two.jsonl", RECORD)
    ids = [record.id for record in read_files([one, two]).records]
    assert ids == ["line-1", "line-2", f"{two}:line-1"]
