"""Blocks keep line numbers; broken lines are named."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.errors import DataError
from forthwith.personal.sources.json_lines import iter_blocks, iter_objects, iter_tables

SCHEMA = pl.Schema({"a": pl.Int64(), "b": pl.String()})


@given(st.lists(st.integers(0, 10**6), max_size=40), st.integers(1, 50), st.booleans())
def test_blocks_of_any_size_give_every_object_with_its_line(tmp_path_factory, values, block_bytes, final_newline):
    path = tmp_path_factory.mktemp("lines") / "x.jsonl"
    text = "\n".join(f'{{"a": {value}}}' for value in values) + ("\n" if final_newline and values else "")
    path.write_text(text)
    found = [
        (block.first_line + offset, line)
        for block in iter_blocks(path, block_bytes)
        for offset, line in enumerate(block.data.split(b"\n"))
        if line
    ]
    assert found == [(number, f'{{"a": {value}}}'.encode()) for number, value in enumerate(values, start=1)]


def test_tables_take_the_schema_ignore_other_fields_and_fill_absent_ones(tmp_path: Path):
    path = tmp_path / "x.jsonl.gz"
    with gzip.open(path, "wt") as handle:
        handle.write('{"a": 1, "z": [1, {"q": 2}]}\n\n{"b": "x", "a": 2}\n')
    (table,) = iter_tables(path, SCHEMA)
    assert table.rows() == [(1, None), (2, "x")]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ('{"a": 1', "is not JSON"),
        ("[1]", "is not a JSON object"),
        ('{"a": "x"}', "field of another type"),
        ("\x00", "JSON"),
    ],
)
def test_a_broken_line_is_named_by_path_and_number(tmp_path: Path, bad: str, reason: str):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\n' + bad + '\n{"a": 4}\n')
    with pytest.raises(DataError, match=reason) as caught:
        list(iter_tables(path, SCHEMA))
    assert (caught.value.path, caught.value.line) == (path, 3)


def test_a_broken_line_in_a_later_block_keeps_its_number(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n' * 100 + "oops\n")
    with pytest.raises(DataError) as caught:
        list(iter_tables(path, SCHEMA, block_bytes=64))
    assert caught.value.line == 101


def test_a_cut_gzip_file_says_where_it_stops(tmp_path: Path):
    path = tmp_path / "x.jsonl.gz"
    whole = gzip.compress(b'{"a": 1}\n' * 10_000)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="fetch the file again"):
        list(iter_objects(path))


def test_a_missing_file_is_a_data_error(tmp_path: Path):
    with pytest.raises(DataError, match="cannot be opened"):
        list(iter_objects(tmp_path / "none.jsonl"))
