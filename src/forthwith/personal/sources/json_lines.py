"""JSON lines of any size, plain or gzipped, in columnar blocks; a broken line is named by path and number."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import polars as pl

from forthwith.errors import DataError

__all__ = ["Block", "iter_blocks", "iter_objects", "iter_tables"]

BLOCK_BYTES = 32 << 20
"""Uncompressed bytes read at a time."""


class Block(NamedTuple):
    """Whole lines, and the number (1-based) of the first."""

    first_line: int
    data: bytes


def iter_blocks(path: str | Path, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
    """Whole lines of a file in order, about `block_bytes` at a time.

    Raises:
        DataError: the file cannot be read, or its gzip stream is broken or cut short; names the last good line.
    """
    path, line, rest = Path(path), 1, b""
    with _open(path) as stream:
        while True:
            try:
                chunk = stream.read(block_bytes)
            except (OSError, EOFError, zlib.error) as error:
                raise DataError(
                    f"stops being readable in or after this line: {error}; fetch the file again", path, line
                ) from error
            if not chunk:
                break
            head, newline, rest_of_chunk = (rest + chunk).rpartition(b"\n")
            rest = rest_of_chunk
            if newline:
                yield Block(line, head + newline)
                line += head.count(b"\n") + 1
    if rest.strip():
        yield Block(line, rest + b"\n")


def iter_objects(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and JSON object of every non-empty line.

    Raises:
        DataError: a line is not a JSON object; names it.
    """
    for block in iter_blocks(path):
        for offset, line in enumerate(block.data.split(b"\n")):
            if line.strip():
                yield block.first_line + offset, _object(Path(path), block.first_line + offset, line)


def iter_tables(path: str | Path, schema: pl.Schema, block_bytes: int = BLOCK_BYTES) -> Iterator[pl.DataFrame]:
    """The columns of `schema`, block by block; other fields are ignored, absent ones are null.

    Raises:
        DataError: a line is not a JSON object, or a field of `schema` has another type; names the line.
    """
    path = Path(path)
    for block in iter_blocks(path, block_bytes):
        if block.data.strip():
            yield _table(path, block, schema)


def _table(path: Path, block: Block, schema: pl.Schema) -> pl.DataFrame:
    try:
        return pl.read_ndjson(io.BytesIO(block.data), schema=schema)
    except pl.exceptions.PolarsError as error:
        raise _name_the_line(path, block, schema, error) from error


def _name_the_line(path: Path, block: Block, schema: pl.Schema, error: Exception) -> DataError:
    """Which line of a refused block is at fault, read one by one."""
    for offset, line in enumerate(block.data.split(b"\n")):
        if not line.strip():
            continue
        number = block.first_line + offset
        try:
            _object(path, number, line)
            pl.read_ndjson(io.BytesIO(line), schema=schema)
        except DataError as broken:
            return broken
        except pl.exceptions.PolarsError as reason:
            return DataError(f"has a field of another type: {reason}; fetch the file again", path, number)
    return DataError(f"cannot be parsed: {error}", path, block.first_line)


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not JSON: {error}; found {line[:60]!r}", path, number) from error
    if not isinstance(value, dict):
        raise DataError(f"is not a JSON object; found {line[:60]!r}", path, number)
    return cast("dict[str, Any]", value)


def _open(path: Path) -> IO[bytes]:
    try:
        return cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")
    except OSError as error:
        raise DataError(f"cannot be opened: {error}", path) from error
