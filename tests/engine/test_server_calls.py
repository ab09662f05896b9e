from __future__ import annotations

import gzip
import json

import httpx
import pytest
import zstandard

from forthwith.engine.server_calls import CallSettings, ServerCalls, ServerRefusalError, advised_wait_s, error_message
from forthwith.errors import ConfigError, EngineError, OverloadedError


class Waits(list):
    """Remembers the waits instead of waiting."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def waits():
    return Waits()


def in_turn(*answers):
    left = list(answers)
    return lambda _call: left.pop(0) if len(left) > 1 else left[0]


def test_retry_after_ms_wins_over_retry_after(loopback, answer_with, waits):
    busy = answer_with({"detail": "slow down"}, 429, {"retry-after-ms": "250", "retry-after": "9"})
    with loopback(in_turn(busy, answer_with({"ok": 1}))) as server:
        assert ServerCalls(CallSettings(server.url), sleep=waits).post("/x", {}) == {"ok": 1}
    assert waits == [0.25]


def test_an_overloaded_server_is_asked_again_and_then_reported_with_its_advice(loopback, answer_with, waits):
    with loopback(in_turn(answer_with({"detail": "full"}, 529, {"retry-after": "2"}))) as server:
        with pytest.raises(OverloadedError, match="answered 529: full") as caught:
            ServerCalls(CallSettings(server.url, attempts=3), sleep=waits).post("/x", {})
        assert len(server.calls) == 3
    assert waits == [2.0, 2.0]
    assert (caught.value.retry_after_s, caught.value.retryable) == (2.0, True)


def test_a_longer_advised_wait_than_allowed_ends_the_tries_at_once(loopback, answer_with, waits):
    with loopback(in_turn(answer_with({}, 429, {"retry-after": "3600"}))) as server:
        with pytest.raises(OverloadedError) as caught:
            ServerCalls(CallSettings(server.url, longest_wait_s=30), sleep=waits).post("/x", {})
        assert len(server.calls) == 1
    assert caught.value.retry_after_s == 3600
    assert waits == []


def test_failures_without_advice_wait_longer_each_time(loopback, answer_with, waits):
    with loopback(in_turn(answer_with({"error": "boom"}, 500))) as server, pytest.raises(EngineError) as caught:
        ServerCalls(CallSettings(server.url, attempts=4), sleep=waits).post("/x", {})
    assert caught.value.retryable
    assert "answered 500: boom" in str(caught.value)
    assert [0.5 * 2**n <= wait <= 0.5 * 2**n + 0.25 for n, wait in enumerate(waits)] == [True, True, True]


@pytest.mark.parametrize(
    ("status", "hint"), [(400, "bad"), (401, "check the API key"), (404, "check the address"), (422, "bad")]
)
def test_a_refusal_is_final_and_tells_what_the_server_said(loopback, answer_with, waits, status, hint):
    with loopback(in_turn(answer_with({"error": {"message": "bad thing"}}, status))) as server:
        with pytest.raises(ServerRefusalError, match=hint) as caught:
            ServerCalls(CallSettings(server.url), sleep=waits).post("/x", {})
        assert len(server.calls) == 1
    assert (caught.value.status, caught.value.reason, caught.value.retryable) == (status, "bad thing", False)


@pytest.mark.parametrize("body", [b"<html>gateway</html>", b'{"cut": ', b"\xff\xfe", b"[1, 2]", b""])
def test_an_answer_that_is_no_json_object_is_an_engine_error(loopback, answer_with, body):
    with loopback(in_turn(answer_with(body))) as server, pytest.raises(EngineError, match=r"not JSON|JSON list"):
        ServerCalls(CallSettings(server.url)).post("/x", {})


def test_a_server_that_is_not_there_is_said_to_be_unreachable(loopback, answer_with, waits):
    with loopback(in_turn(answer_with({}))) as server:
        url = server.url
    with pytest.raises(EngineError, match=r"cannot be reached.*is the server running") as caught:
        ServerCalls(CallSettings(url, attempts=2), sleep=waits).get("/v1/models")
    assert caught.value.retryable
    assert len(waits) == 1


def test_a_server_that_takes_too_long_is_given_up(waits):
    def stall(_request):
        raise httpx.ReadTimeout("slow")

    calls = ServerCalls(
        CallSettings("http://a", timeout_s=7, attempts=2), sleep=waits, transport=httpx.MockTransport(stall)
    )
    with pytest.raises(EngineError, match="no answer within 7 s"):
        calls.get("/x")


@pytest.mark.parametrize(("coding", "decode"), [("gzip", gzip.decompress), ("zstd", zstandard.decompress)])
def test_bodies_from_a_kibibyte_are_compressed_when_asked(loopback, answer_with, coding, decode):
    with loopback(in_turn(answer_with({}))) as server:
        calls = ServerCalls(CallSettings(server.url, compression=coding))
        calls.post("/x", {"state": "s" * 2000})
        calls.post("/x", {"state": "short"})
        long, short = server.calls
    assert long.headers["content-encoding"] == coding
    assert json.loads(decode(long.raw)) == {"state": "s" * 2000}
    assert "content-encoding" not in short.headers
    assert short.json == {"state": "short"}


def test_the_key_is_sent_and_never_shown(loopback, answer_with):
    with loopback(in_turn(answer_with({}))) as server:
        settings = CallSettings(server.url, api_key="sesame")
        ServerCalls(settings).get("/x")
        assert server.calls[0].headers["authorization"] == "Bearer sesame"
    assert "sesame" not in repr(settings)


def test_results_of_many_calls_come_in_order(loopback, answer_with):
    with loopback(lambda call: answer_with({"n": call.json["n"]})) as server:
        calls = ServerCalls(CallSettings(server.url, concurrency=4))
        assert calls.map(lambda n: calls.post("/x", {"n": n})["n"], range(20)) == list(range(20))
        assert calls.map(lambda n: n, []) == []


def test_the_first_failure_of_many_calls_ends_them(loopback, answer_with):
    with loopback(lambda call: answer_with({}, 400 if call.json["n"] == 3 else 200)) as server:
        calls = ServerCalls(CallSettings(server.url, concurrency=2))
        with pytest.raises(ServerRefusalError):
            calls.map(lambda n: calls.post("/x", {"n": n}), range(6))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "4"}, 4.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 40.0),
    ],
)
def test_advised_waits(headers, seconds):
    assert advised_wait_s(headers, now=lambda: 60.0) == seconds


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": "e", "message": "m"}, "e"),
        ({"error": {"message": "em"}}, "em"),
        ({"message": "m", "detail": "d"}, "m"),
        ({"detail": "d"}, "d"),
        ({"detail": {"error_type": "max_tokens_exceeded"}}, "max_tokens_exceeded"),
        ({"detail": [{"loc": ["body", "state"], "msg": "Field required"}]}, "state: Field required"),
        ({"other": 1}, '{"other":1}'),
    ],
)
def test_the_servers_own_words_are_found_wherever_it_puts_them(body, said):
    assert error_message(httpx.Response(400, json=body)) == said


@pytest.mark.parametrize(
    "wrong", [{"url": "localhost:8000"}, {"url": "http://a", "attempts": 0}, {"url": "http://a", "compression": "br"}]
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ConfigError):
        CallSettings(**wrong)


def test_a_proxy_is_not_asked_for_a_server_on_this_machine(loopback, answer_with, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with loopback(in_turn(answer_with({"ok": 1}))) as server:
        assert ServerCalls(CallSettings(server.url, attempts=1)).get("/x") == {"ok": 1}
        port = server.url.rsplit(":", 1)[1]
        assert ServerCalls(CallSettings(f"http://localhost:{port}", attempts=1)).get("/x") == {"ok": 1}
    elsewhere = ServerCalls(CallSettings("http://models.invalid", attempts=1))
    with pytest.raises(EngineError, match=r"cannot be reached"):
        elsewhere.get("/x")


def test_an_answer_in_a_broken_coding_is_an_engine_error(loopback, answer_with):
    broken = answer_with(b"not gzip at all", 200, {"Content-Encoding": "gzip"})
    with loopback(in_turn(broken)) as server, pytest.raises(EngineError, match="cannot be read"):
        ServerCalls(CallSettings(server.url)).get("/x")


def test_words_that_are_no_json_are_quoted_from_their_start():
    assert error_message(httpx.Response(502, text="Bad gateway\n")) == "Bad gateway"
    assert error_message(httpx.Response(502)) == "no message"
    assert error_message(httpx.Response(400, json=["x"])) == '["x"]'
