r"""OpenFlights `airports.dat`, `airlines.dat`, `routes.dat`: comma-separated, no header line, `\N` for no value."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from forthwith.errors import DataError
from forthwith.personal.tables import SCHEMAS, TableName

__all__ = ["OpenFlights", "load_openflights"]

_SOURCE = "openflights"
_COLUMNS = {"airports.dat": 14, "airlines.dat": 8, "routes.dat": 9}


class OpenFlights(NamedTuple):
    """The three tables; codes are upper-case IATA and ICAO codes, null where a row has none."""

    airports: pl.DataFrame
    airlines: pl.DataFrame
    routes: pl.DataFrame


def load_openflights(folder: Path) -> OpenFlights:
    """Read the three files.

    Raises:
        DataError: a file is missing, or a row has another number of columns or a broken number (path and line).
    """
    airports = _table(folder / "airports.dat", _airport, "airports")
    airlines = _table(folder / "airlines.dat", _airline, "airlines")
    routes = _table(folder / "routes.dat", _route, "routes")
    return OpenFlights(airports, airlines, routes)


def _table(path: Path, row: Callable[[list[str | None]], tuple[object, ...]], name: TableName) -> pl.DataFrame:
    rows: list[tuple[object, ...]] = []
    for line, fields in _rows(path):
        try:
            rows.append((*row(fields), _SOURCE))
        except ValueError as error:
            raise DataError(f"has a broken number: {error}; fetch the file again", path, line) from error
    return pl.DataFrame(rows, schema=SCHEMAS[name], orient="row")


def _rows(path: Path) -> Iterator[tuple[int, list[str | None]]]:
    wanted = _COLUMNS[path.name]
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            reader = csv.reader(handle)
            for fields in reader:
                if len(fields) != wanted:
                    raise DataError(
                        f"has {len(fields)} columns, not {wanted}; fetch the file again", path, reader.line_num
                    )
                yield reader.line_num, [None if field in ("\\N", "") else _unescaped(field) for field in fields]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"cannot be read: {error}; fetch the file again", path) from error


def _unescaped(field: str) -> str:
    r"""The published files carry `\'` and `\\'` for an apostrophe."""
    while "\\'" in field:
        field = field.replace("\\'", "'")
    return field


def _airport(f: list[str | None]) -> tuple[object, ...]:
    return int(f[0] or ""), f[1], f[2], f[3], f[4], f[5], _number(f[6]), _number(f[7]), f[11]


def _airline(f: list[str | None]) -> tuple[object, ...]:
    return int(f[0] or ""), f[1], f[3], f[4], f[6], f[7] == "Y"


def _route(f: list[str | None]) -> tuple[object, ...]:
    return f[0], f[2], f[4], f[6] == "Y", int(f[7] or 0)


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)
