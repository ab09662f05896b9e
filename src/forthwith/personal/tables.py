"""The normalised tables that sources and the synthetic world write as Parquet: schemas, writing, checked reading."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from forthwith.errors import DataError

__all__ = [
    "SCHEMAS",
    "TABLE_NAMES",
    "TableName",
    "read_stats",
    "read_table",
    "scan_table",
    "write_stats",
    "write_table",
]

TableName = Literal["items", "interactions", "airports", "airlines", "routes", "emails"]
TABLE_NAMES: tuple[TableName, ...] = get_args(TableName)

_SECONDS = pl.Datetime("ms", "UTC")

SCHEMAS: dict[TableName, pl.Schema] = {
    "items": pl.Schema(
        {
            "item_id": pl.String(),  # "amz:…", "gmap:…", "syn:…"
            "domain": pl.String(),  # product | restaurant
            "name": pl.String(),
            "category": pl.String(),
            "price": pl.Float64(),  # dollars, null when not listed
            "price_level": pl.Int8(),  # 1..4 dollar signs, null when not listed
            "attributes": pl.String(),  # JSON object: categories, store, features, description, traits
            "city": pl.String(),
            "popularity": pl.Int64(),  # catalogue review count, else null
            "source": pl.String(),
        }
    ),
    "interactions": pl.Schema(
        {
            "user_id": pl.String(),  # 16 hex digits
            "item_id": pl.String(),
            "rating": pl.Int8(),  # 1..5
            "timestamp": _SECONDS,
            "text": pl.String(),
            "source": pl.String(),
        }
    ),
    "airports": pl.Schema(
        {
            "airport_id": pl.Int64(),
            "name": pl.String(),
            "city": pl.String(),
            "country": pl.String(),
            "iata": pl.String(),
            "icao": pl.String(),
            "latitude": pl.Float64(),
            "longitude": pl.Float64(),
            "time_zone": pl.String(),
            "source": pl.String(),
        }
    ),
    "airlines": pl.Schema(
        {
            "airline_id": pl.Int64(),
            "name": pl.String(),
            "iata": pl.String(),
            "icao": pl.String(),
            "country": pl.String(),
            "active": pl.Boolean(),
            "source": pl.String(),
        }
    ),
    "routes": pl.Schema(
        {
            "airline": pl.String(),
            "source_iata": pl.String(),
            "destination_iata": pl.String(),
            "codeshare": pl.Boolean(),
            "stops": pl.Int16(),
            "source": pl.String(),
        }
    ),
    "emails": pl.Schema(
        {
            "email_id": pl.String(),
            "date": _SECONDS,
            "subject": pl.String(),
            "body": pl.String(),
            "source": pl.String(),
        }
    ),
}
"""Column names, types and order of each table."""


def write_table(folder: str | Path, name: TableName, rows: pl.DataFrame | Sequence[Mapping[str, Any]]) -> Path:
    """Write a whole table to `<folder>/<name>.parquet`, by way of a temporary file.

    Raises:
        DataError: the columns or types do not fit the schema.
    """
    path = Path(folder) / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = SCHEMAS[name]
    try:
        frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, schema=schema)
        frame = frame.select(pl.col(column).cast(kind) for column, kind in schema.items())
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        raise DataError(
            f"the rows do not fit the table {name!r}: {error}; columns are {', '.join(schema)}", path
        ) from error
    temporary = path.with_suffix(".parquet.partial")
    frame.write_parquet(temporary, compression="zstd")
    temporary.replace(path)
    return path


def scan_table(folder: str | Path, name: TableName) -> pl.LazyFrame:
    """A lazy view of a table, its schema checked.

    Raises:
        DataError: the file is missing, unreadable or has other columns or types.
    """
    path = Path(folder) / f"{name}.parquet"
    if not path.is_file():
        raise DataError(f"the table {name!r} is missing; build it first", path)
    try:
        frame = pl.scan_parquet(path)
        found = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"cannot be read as Parquet: {error}", path) from error
    for column, kind in SCHEMAS[name].items():
        if column not in found:
            raise DataError(f"the column {column!r} is missing; found {', '.join(found)}", path)
        if found[column] != kind:
            raise DataError(f"the column {column!r} has type {found[column]}, expected {kind}", path)
    return frame.select(list(SCHEMAS[name]))


def read_table(folder: str | Path, name: TableName) -> pl.DataFrame:
    """A whole table, its schema checked.

    Raises:
        DataError: as `scan_table`.
    """
    return scan_table(folder, name).collect()


def write_stats(folder: str | Path, stats: Mapping[str, Any]) -> Path:
    """Write what is known about the tables (row counts, licences, seeds) to `STATS.json`."""
    path = Path(folder) / "STATS.json"
    path.write_text(json.dumps(stats, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return path


def read_stats(folder: str | Path) -> dict[str, Any]:
    """The content of `STATS.json`; empty if there is none.

    Raises:
        DataError: it is not a JSON object.
    """
    path = Path(folder) / "STATS.json"
    if not path.is_file():
        return {}
    try:
        stats: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg}", path, error.lineno) from error
    return stats
