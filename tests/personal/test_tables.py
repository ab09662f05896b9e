import datetime as dt

import polars as pl
import pytest

from forthwith.errors import DataError
from forthwith.personal.tables import read_stats, read_table, scan_table, write_stats, write_table

ITEM = {
    "item_id": "syn:1",
    "domain": "product",
    "name": "Kibble",
    "category": "Pet food",
    "price": 12.5,
    "price_level": None,
    "attributes": "{}",
    "city": None,
    "popularity": 7,
    "source": "synthetic",
}


def test_a_written_table_reads_back_the_same(tmp_path):
    write_table(tmp_path, "items", [ITEM])
    assert read_table(tmp_path, "items").to_dicts() == [ITEM]


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(DataError, match="table 'routes' is missing"):
        scan_table(tmp_path, "routes")


def test_a_wrong_type_names_the_column(tmp_path):
    pl.DataFrame([{**ITEM, "price": "12.50"}]).write_parquet(tmp_path / "items.parquet")
    with pytest.raises(DataError, match="column 'price'"):
        read_table(tmp_path, "items")


def test_a_file_that_is_not_parquet_is_named(tmp_path):
    (tmp_path / "items.parquet").write_bytes(b"not parquet at all")
    with pytest.raises(DataError, match=r"items\.parquet.*Parquet"):
        read_table(tmp_path, "items")


def test_rows_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(DataError, match="do not fit"):
        write_table(tmp_path, "interactions", [{"user_id": "u", "item_id": "i", "rating": 999}])


def test_timestamps_keep_their_zone(tmp_path):
    when = dt.datetime(2024, 1, 2, 3, 4, tzinfo=dt.UTC)
    row = {"user_id": "u", "item_id": "i", "rating": 5, "timestamp": when, "text": "t", "source": "synthetic"}
    write_table(tmp_path, "interactions", [row])
    assert read_table(tmp_path, "interactions")["timestamp"][0] == when


def test_stats_read_back(tmp_path):
    assert read_stats(tmp_path) == {}
    write_stats(tmp_path, {"users": 3})
    assert read_stats(tmp_path) == {"users": 3}
