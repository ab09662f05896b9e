from __future__ import annotations

from pathlib import Path

import pytest

from forthwith import errors
from forthwith.errors import (
    ArtifactError,
    ConfigError,
    ContextTooLongError,
    DataError,
    EngineError,
    ForthwithError,
    OverloadedError,
    RequestError,
    ShapeError,
    UnknownModelError,
)


def test_values_are_attributes_and_not_only_text() -> None:
    long = ContextTooLongError(900, 512)
    assert (long.tokens, long.limit, long.problems) == (900, 512, ())
    assert UnknownModelError("x", ("a", "b")).known == ("a", "b")
    assert str(UnknownModelError("x", ("a", "b"))) == "unknown model 'x'; known models: a, b"
    bad = DataError("not JSON", "f.jsonl", 3)
    assert (str(bad), bad.path, bad.line, bad.reason) == ("f.jsonl:3: not JSON", Path("f.jsonl"), 3, "not JSON")
    assert (ArtifactError("x", 1, 2).expected, ArtifactError("x", 1, 2).found) == (1, 2)
    assert ConfigError("x", "field").field == "field"


def test_a_busy_engine_says_when_to_come_back() -> None:
    busy = OverloadedError("full", retry_after_s=2.5)
    assert (busy.retryable, busy.retry_after_s) == (True, 2.5)
    assert not EngineError("broken").retryable


def test_a_shape_error_is_a_value_error_too() -> None:
    with pytest.raises(ValueError, match="3 and 4"):
        raise ShapeError("3 and 4")


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = [line for line in (errors.__doc__ or "").splitlines() if "Error" in line and "─" in line]
    named = {line.split("─ ")[1].split()[0] for line in drawn} | {"ForthwithError"}
    defined = {name for name in errors.__all__ if name.endswith("Error")}
    assert named == defined
    assert all(issubclass(getattr(errors, name), ForthwithError) for name in defined)
    assert issubclass(ContextTooLongError, RequestError)
