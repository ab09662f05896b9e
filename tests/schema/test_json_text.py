from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.errors import RequestError
from forthwith.schema import MAX_DEPTH, check_json_value, parse_json

text = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=20,
)


@given(values)
def test_what_json_writes_is_read_back(value: object) -> None:
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b'{"a": \xff}', "not UTF-8: byte 0xff at offset 6"),
        ('{"a": 1,}', r"not JSON: .* at column 9"),
        ('{"a":\n 1,}', r"not JSON: .* at line 2 column 4"),
        ('{"a": 1, "b": 2, "a": 3}', "the member name 'a' appears twice"),
        ('{"a": NaN}', "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("[1e999]", r"value\[0\] is inf"),
        ('["\\ud800"]', r"value\[0\] holds a lone surrogate at character 0"),
        ('{"\\udfff": 1}', "value holds a lone surrogate"),
        ("[" * 5000 + "]" * 5000, f"nested deeper than {MAX_DEPTH} levels"),
        ("[" * 70 + "]" * 70, f"nested deeper than {MAX_DEPTH} levels"),
        ("1" * 5000, "not a usable number"),
    ],
)
def test_what_is_not_strict_json_is_refused(source: str | bytes, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parse_json(source)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": {1: 2}}, "state.a has the member name 1; names must be strings"),
        ({"a": [b"x"]}, r"state.a\[0\] is a bytes; use strings, numbers, lists and dicts"),
    ],
)
def test_python_values_that_json_cannot_carry_are_refused(value: object, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        check_json_value(value, "state")
