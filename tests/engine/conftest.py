"""Fixtures: a scripted server on loopback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from loopback_server import Answer, Call, serve


@pytest.fixture
def answer_with() -> type[Answer]:
    return Answer


@pytest.fixture
def loopback() -> Callable[[Callable[[Call], Answer]], Any]:
    return serve
