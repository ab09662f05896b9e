"""Strict JSON: what RFC 8259 allows, and nothing that would be read one way here and another way elsewhere.

Duplicate member names, NaN and infinities, lone surrogates and nesting beyond `MAX_DEPTH` are errors that say where.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any, cast

from forthwith.errors import RequestError

__all__ = ["MAX_DEPTH", "JsonValue", "check_json_value", "parse_json"]

JsonValue = str | int | float | bool | None | list[Any] | dict[str, Any]
"""Any JSON value."""

MAX_DEPTH = 64
"""Deepest nesting of arrays and objects that is read."""


def parse_json(text: str | bytes) -> JsonValue:
    """The value of one JSON text.

    Raises:
        RequestError: not UTF-8, not JSON, a duplicate member name, NaN or an infinity, or nested deeper than `MAX_DEPTH`.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RequestError(f"not UTF-8: byte 0x{text[error.start]:02x} at offset {error.start}") from error
    text = text.removeprefix("\ufeff")  # a byte order mark, as some editors write it
    try:
        value: JsonValue = json.loads(
            text, object_pairs_hook=_object_without_duplicates, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}" if "\n" in text.rstrip("\r\n") else f"column {error.colno}"
        raise RequestError(f"not JSON: {error.msg} at {where}") from error
    except RecursionError as error:
        raise RequestError(f"nested deeper than {MAX_DEPTH} levels; flatten the value") from error
    except ValueError as error:  # integers of over 4,300 digits
        raise RequestError("not a usable number: an integer has over 4,300 digits; send it as text") from error
    check_json_value(value)
    return value


def check_json_value(value: object, place: str = "value") -> None:
    """Refuse what JSON cannot carry: other Python types, NaN, infinities, lone surrogates, too deep nesting.

    Raises:
        RequestError: names the place of the first offender.
    """
    stack: list[tuple[object, str, int]] = [(value, place, 0)]
    while stack:
        item, where, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise RequestError(f"{place} is nested deeper than {MAX_DEPTH} levels; flatten it")
        if isinstance(item, dict):
            for key, member in cast("dict[object, object]", item).items():
                if not isinstance(key, str):
                    raise RequestError(f"{where} has the member name {key!r}; names must be strings")
                _check_text(key, where)
                stack.append((member, f"{where}.{key}", depth + 1))
        elif isinstance(item, list):
            members = cast("list[object]", item)
            stack.extend((member, f"{where}[{index}]", depth + 1) for index, member in enumerate(members))
        else:
            _check_scalar(item, where)


def _check_scalar(item: object, where: str) -> None:
    if isinstance(item, str):
        _check_text(item, where)
    elif isinstance(item, float):
        if not math.isfinite(item):
            raise RequestError(f"{where} is {item!r}; JSON has no such number, send text or leave it out")
    elif item is not None and not isinstance(item, bool | int):
        raise RequestError(f"{where} is a {type(item).__name__}; use strings, numbers, lists and dicts")


def _check_text(text: str, where: str) -> None:
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise RequestError(
                f"{where} holds a lone surrogate at character {error.start}; send valid Unicode"
            ) from error


def _object_without_duplicates(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise RequestError(f"the member name {twice!r} appears twice in one object; names must be unique")
    return members


def _refuse_constant(name: str) -> JsonValue:
    raise RequestError(f"{name} is not JSON; send text or leave it out")
