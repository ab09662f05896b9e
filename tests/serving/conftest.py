"""Fixtures of the serving tests: a scripted model, its app, and real server processes."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest
from serving_process import RunningServer
from starlette.testclient import TestClient
from tiny_server import scripted_model

from forthwith.model import Model
from forthwith.serving.app import create_app


@pytest.fixture(scope="session")
def model() -> Model:
    return scripted_model()


@pytest.fixture(scope="session")
def client(model: Model) -> Generator[TestClient]:
    with TestClient(create_app(model), raise_server_exceptions=False) as session:
        yield session


@pytest.fixture
def start_server() -> Generator[Callable[..., RunningServer]]:
    """Starts server processes with options of `tiny_server`; all are gone after the test."""
    servers: list[RunningServer] = []

    def start(**options: Any) -> RunningServer:
        servers.append(RunningServer(options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="module")
def server() -> Generator[RunningServer]:
    """One real server process for all tests of a module."""
    running = RunningServer({})
    yield running
    running.close()
