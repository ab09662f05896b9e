"""The chat writer against a real server on loopback that lies, drops anchors, times out and is busy."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from forthwith.errors import ConfigError, DataError, EngineError, OverloadedError
from forthwith.personal.render_cache import CachedAnswer, RenderCache
from forthwith.personal.render_chat import ChatSettings, ChatWriter, CostCeilingError
from forthwith.personal.render_request import RenderRequest, TextProblem, WriterStyle

STYLE = WriterStyle("log", "plain", "chat log")
GOOD = "Request A: spend at most $50.\n\nOn 2021-03-09 it was said."
Reply = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


def _request(number: int = 0) -> RenderRequest:
    return RenderRequest(f"pd/x/{number}", STYLE, {"now": f"2021-03-{number:02d}"}, ("Request A", "$50"), ("$75",))


def _completion(text: str | None, usage: object = None, finish: str = "stop") -> dict[str, Any]:
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 400, "completion_tokens": 100} if usage is None else usage,
    }


def says(text: str | None, usage: object = None, finish: str = "stop") -> Reply:
    return sends(200, json.dumps(_completion(text, usage, finish)).encode())


def sends(status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> Reply:
    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return reply


class ChatServer(ThreadingHTTPServer):
    """Answers with `script` in order, then with `default`; keeps the request bodies."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[Reply] = []
        self.default: Reply = says(GOOD)
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: ChatServer = self.server  # type: ignore[assignment]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/chat/completions"
        server.bodies.append(body)
        server.keys.append(self.headers.get("Authorization"))
        (server.script.pop(0) if server.script else server.default)(self, body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.released.set()
        running.shutdown()
        thread.join()


def _writer(server: ChatServer, folder: Path, waits: list[float] | None = None, **settings: Any) -> ChatWriter:
    made = ChatSettings(server.url, "m", **{"timeout_s": 5.0, **settings})
    return ChatWriter(made, RenderCache(folder / "cache.jsonl"), sleep=(waits if waits is not None else []).append)


def test_a_good_text_is_kept_and_the_writer_sees_no_forbidden_string(server: ChatServer, tmp_path: Path):
    with _writer(server, tmp_path, api_key="k1", body={"temperature": 0.7}) as writer:
        written = writer.write(_request())
    assert (written.status, written.text, written.rounds, written.problems) == ("kept", GOOD, 1, ())
    (body,) = server.bodies
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("m", 6000, 0.7)
    assert server.keys == ["Bearer k1"]
    assert "$50" in body["messages"][1]["content"]
    assert "$75" not in json.dumps(body)


def test_a_dropped_anchor_is_repaired_in_one_round(server: ChatServer, tmp_path: Path):
    server.script = [says("Request A: spend at most fifty dollars."), says(GOOD)]
    with _writer(server, tmp_path) as writer:
        written = writer.write(_request())
    assert (written.status, written.rounds, written.output_tokens) == ("kept", 2, 200)
    roles = [message["role"] for message in server.bodies[1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert '- "$50"' in server.bodies[1]["messages"][3]["content"]


def test_a_text_that_stays_wrong_is_dropped_with_its_reasons(server: ChatServer, tmp_path: Path):
    server.default = says("Request A: at most $75.")
    with _writer(server, tmp_path) as writer:
        written = writer.write(_request())
    assert written.status == "dropped"
    assert [problem.kind for problem in written.problems] == ["missing_required_anchor", "forbidden_anchor_present"]
    assert len(server.bodies) == 2
    assert "$75" not in server.bodies[1]["messages"][3]["content"]


def test_an_invention_found_by_a_further_check_is_named_in_the_repair(server: ChatServer, tmp_path: Path):
    server.script = [says(GOOD + " Bob agreed.")]
    with _writer(server, tmp_path) as writer:
        written = writer.write(
            _request(), lambda text: [TextProblem("not_in_snapshot", "Bob")] if "Bob" in text else []
        )
    assert (written.status, written.rounds) == ("kept", 2)
    assert '- "Bob"' in server.bodies[1]["messages"][3]["content"]


def test_a_text_cut_off_at_the_token_limit_is_not_kept(server: ChatServer, tmp_path: Path):
    server.default = says(GOOD, finish="length")
    with _writer(server, tmp_path) as writer:
        written = writer.write(_request())
    assert (written.status, written.problems[0].kind) == ("dropped", "cut_off")


@pytest.mark.parametrize(
    "reply",
    [
        sends(200, b"<html>It works!</html>"),
        sends(200, b'{"choices": []}'),
        sends(200, b'{"error": "quota"}'),
        sends(200, b"[1]"),
        says(None),
    ],
)
def test_a_lying_200_is_an_error_and_never_an_empty_text(server: ChatServer, tmp_path: Path, reply: Reply):
    server.default = reply
    with _writer(server, tmp_path) as writer, pytest.raises(EngineError, match="without a chat completion"):
        writer.write(_request())
    assert len(server.bodies) == 1
    assert not (tmp_path / "cache.jsonl").exists()


def test_an_empty_text_is_dropped_after_the_repair_round(server: ChatServer, tmp_path: Path):
    server.default = says("  \n")
    with _writer(server, tmp_path) as writer:
        assert writer.write(_request()).problems[0].kind == "empty_render"


def test_busy_and_failing_answers_are_tried_again_with_growing_waits(server: ChatServer, tmp_path: Path):
    server.script = [sends(429), sends(503), sends(500)]
    waits: list[float] = []
    with _writer(server, tmp_path, waits) as writer:
        assert writer.write(_request()).status == "kept"
    assert len(waits) == 3
    assert all(low <= wait <= high for wait, (low, high) in zip(waits, [(1, 3), (2, 6), (4, 12)], strict=True))


def test_retry_after_is_obeyed(server: ChatServer, tmp_path: Path):
    server.script = [sends(429, headers={"Retry-After": "17"})]
    waits: list[float] = []
    with _writer(server, tmp_path, waits) as writer:
        writer.write(_request())
    assert waits == [17.0]


def test_an_endpoint_that_stays_busy_ends_the_run_after_all_attempts(server: ChatServer, tmp_path: Path):
    server.default = sends(429)
    with _writer(server, tmp_path, attempts=3) as writer, pytest.raises(OverloadedError):
        writer.write(_request())
    assert len(server.bodies) == 3


def test_a_refusal_is_not_tried_again(server: ChatServer, tmp_path: Path):
    server.default = sends(401, b"bad key")
    with _writer(server, tmp_path) as writer, pytest.raises(EngineError, match="answered 401: 'bad key'"):
        writer.write(_request())
    assert len(server.bodies) == 1


def test_a_time_out_is_tried_again(server: ChatServer, tmp_path: Path):
    server.script = [lambda handler, _: (handler.server.released.wait(5), None)[1]]  # type: ignore[attr-defined]
    waits: list[float] = []
    with _writer(server, tmp_path, waits, timeout_s=0.2) as writer:
        assert writer.write(_request()).status == "kept"
    assert len(waits) == 1


def test_nobody_listening_is_an_engine_error(tmp_path: Path):
    settings = ChatSettings("http://127.0.0.1:9/v1", "m", attempts=2)
    with (
        ChatWriter(settings, RenderCache(tmp_path / "c.jsonl"), sleep=lambda _: None) as writer,
        pytest.raises(EngineError, match="did not answer") as caught,
    ):
        writer.write(_request())
    assert caught.value.retryable


def test_the_cost_ceiling_holds_even_against_calls_in_flight(server: ChatServer, tmp_path: Path):
    # 100 output tokens at 10 for 1,000 tokens cost 1 a text; a reservation is 1,000 tokens, that is 10.
    prices = {"price_out": 10_000.0, "max_tokens": 1_000, "ceiling": 25.0}
    with _writer(server, tmp_path, **prices) as writer, pytest.raises(CostCeilingError) as caught:
        list(writer.write_all([_request(number) for number in range(40)], concurrency=4))
    assert writer.spent <= 25
    assert caught.value.ceiling == 25
    assert (len(server.bodies), writer.spent) == (16, 16.0)  # a seventeenth could have cost 10
    again = _writer(server, tmp_path, **{**prices, "ceiling": 100.0})
    with again:
        assert all(written.status == "kept" for written in again.write_all([_request(n) for n in range(40)]))
    assert len(server.bodies) == 40  # what was paid before is not asked again


def test_usage_that_cannot_be_true_is_replaced_by_a_high_guess(server: ChatServer, tmp_path: Path):
    for number, usage in enumerate(
        ({"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": "many", "completion_tokens": True}, "none")
    ):
        server.default = says(GOOD, usage=usage)
        with _writer(server, tmp_path) as writer:
            written = writer.write(_request(number))
        assert written.output_tokens == len(GOOD) // 2 + 1
        assert written.input_tokens > 100


def test_a_second_run_is_answered_from_the_cache_even_after_a_cut_line(server: ChatServer, tmp_path: Path):
    with _writer(server, tmp_path) as writer:
        list(writer.write_all([_request(number) for number in range(6)], concurrency=3))
    cache = tmp_path / "cache.jsonl"
    whole = cache.read_bytes()
    cache.write_bytes(whole[:-20])  # killed in the middle of the last line
    with _writer(server, tmp_path) as writer:
        texts = [written.text for written in writer.write_all([_request(number) for number in range(6)])]
    assert texts == [GOOD] * 6
    assert len(server.bodies) == 7
    assert len(cache.read_bytes()) == len(whole)


def test_another_model_or_style_is_another_question(server: ChatServer, tmp_path: Path):
    with _writer(server, tmp_path) as writer:
        first = writer.write(_request())
        other = writer.write(RenderRequest("pd/x/0", WriterStyle("diary", "warm", "diary"), {}, ("Request A",)))
    assert first.prompt_sha256 != other.prompt_sha256
    assert len(server.bodies) == 2


def test_texts_come_in_the_order_of_the_requests(server: ChatServer, tmp_path: Path):
    server.default = lambda handler, body: says(GOOD + body["messages"][1]["content"][21:31])(handler, body)
    with _writer(server, tmp_path) as writer:
        written = list(writer.write_all([_request(number) for number in range(12)], concurrency=5))
    assert [text.id for text in written] == [f"pd/x/{number}" for number in range(12)]


def test_a_broken_cache_line_and_a_full_disk_are_named(tmp_path: Path):
    path = tmp_path / "cache.jsonl"
    path.write_text(
        '{"key": "a", "text": "x", "input_tokens": 1, "output_tokens": 1, "finish_reason": "stop"}\nrubbish\n'
    )
    with pytest.raises(DataError) as caught:
        RenderCache(path)
    assert caught.value.line == 2
    full = RenderCache(tmp_path / "full.jsonl")
    (tmp_path / "full.jsonl").symlink_to("/dev/full")
    with pytest.raises(DataError, match="make room"):
        full.put("k", CachedAnswer("x", 1, 1, "stop"))
    assert full.get("k") is None


@pytest.mark.parametrize(
    ("settings", "field"),
    [({"base_url": "localhost:8000"}, "base_url"), ({"ceiling": 5.0}, "ceiling"), ({"attempts": 0}, "attempts")],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], field: str):
    with pytest.raises(ConfigError) as caught:
        ChatSettings(**{"base_url": "http://x/v1", "model": "m", **settings})
    assert caught.value.field == field


def test_the_client_may_be_given(server: ChatServer, tmp_path: Path):
    client = httpx.Client(timeout=5, headers={"X-Team": "t"})
    with ChatWriter(ChatSettings(server.url, "m"), RenderCache(tmp_path / "c"), client=client) as writer:
        assert writer.write(_request()).status == "kept"
