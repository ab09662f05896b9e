from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest
from serving_process import body_of
from starlette.testclient import TestClient
from tiny_server import FAULT

from forthwith.errors import EngineError, RequestError
from forthwith.model import Model
from forthwith.serving.app import create_app
from forthwith.serving.request_log import configure_logging, failure_lines, new_request_id


@pytest.fixture
def log() -> Any:
    """The JSON lines that are logged while a test runs."""
    loggers = [logging.getLogger(name) for name in ("forthwith", "uvicorn", "uvicorn.error", "uvicorn.access")]
    before = [(logger.handlers, logger.level, logger.propagate, logger.disabled) for logger in loggers]
    stream = io.StringIO()
    configure_logging("debug", stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    for logger, (handlers, level, propagate, disabled) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate, logger.disabled = handlers, propagate, disabled
        logger.setLevel(level)


def test_one_line_a_request_with_its_id_and_cost_and_never_its_content(model: Model, log: Any) -> None:
    secrets = ("SECRET-STATE", "SECRET-QUESTION", "SECRET-KEY")
    body = body_of("SECRET-STATE") | {"questions": {"q": {"type": "noul", "instructions": "SECRET-QUESTION"}}}
    headers = {"authorization": "Bearer SECRET-KEY"}
    with TestClient(create_app(model), raise_server_exceptions=False) as client:
        good = client.post("/v1/systemone", json=body, headers=headers)
        client.post("/v1/systemone", json=body | {"state": 5, "model": "SECRET-STATE"}, headers=headers)
        client.post("/v1/systemone", json=body | {"state": f"SECRET-STATE\n{FAULT}"}, headers=headers)
        client.post("/v1/systemone?SECRET-KEY", content=b"SECRET-STATE", headers=headers)
    lines = [line for line in log() if line["message"] == "request"]
    assert [line["status"] for line in lines] == [200, 422, 500, 422]
    assert lines[0]["request_id"] == good.headers["x-typesafe-request-id"]
    assert lines[0]["tokens"] > 100
    assert lines[2]["error"] == "EngineError"
    assert lines[2]["message"] == "request"
    assert not [secret for secret in secrets if secret in json.dumps(log())]


def test_errors_that_may_quote_a_caller_are_logged_without_their_words() -> None:
    def fail(error: Exception) -> None:
        raise error

    def raised(error: Exception) -> dict[str, Any]:
        with pytest.raises(type(error)) as caught:
            fail(error)
        return failure_lines(caught.value)

    assert raised(EngineError("out of memory"))["detail"] == "out of memory"
    assert "detail" not in raised(RequestError("state: 'secret'"))
    assert "detail" not in raised(ValueError("secret"))
    assert "test_request_log.py" in raised(ValueError("secret"))["at"][-1]


def test_request_ids_differ() -> None:
    assert len({new_request_id() for _ in range(100)}) == 100
