from __future__ import annotations

import json
import resource
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import httpx
import pytest
from serving_process import RunningServer, body_of

BODY = json.dumps(body_of("x")).encode()
HEAD = b"POST /v1/systemone HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: %d\r\n" % len(BODY)


def until_closed(connection: socket.socket) -> bytes:
    parts: list[bytes] = []
    while part := connection.recv(65_536):
        parts.append(part)
    return b"".join(parts)


@pytest.fixture(scope="module")
def strict() -> RunningServer:
    running = RunningServer({"limits": {"headers_s": 0.4, "body_s": 0.4, "keep_alive_s": 1, "connections": 40}})
    yield running  # type: ignore[misc]
    running.close()


def test_headers_that_trickle_in_are_given_up(strict: RunningServer) -> None:
    with strict.connect() as slow:
        started = time.monotonic()
        slow.sendall(HEAD[:20])
        timer = threading.Timer(0.2, lambda: slow.sendall(HEAD[20:30]))  # a byte now and then buys no time
        timer.start()
        answer = until_closed(slow)
        timer.join()
        assert time.monotonic() - started < 5
    assert b"408 Request Timeout" in answer
    assert strict.decide().status_code == 200


def test_a_body_that_trickles_in_is_given_up(strict: RunningServer) -> None:
    with strict.connect() as slow:
        slow.sendall(HEAD + b"\r\n" + BODY[:10])
        assert b"408 Request Timeout" in until_closed(slow)


def test_a_silent_connection_is_closed_without_a_word(strict: RunningServer) -> None:
    with strict.connect() as silent:
        assert until_closed(silent) == b""


def test_an_idle_kept_connection_is_closed_after_its_time(strict: RunningServer) -> None:
    with strict.connect() as kept:
        kept.sendall(HEAD + b"\r\n" + BODY)
        assert b"200 OK" in until_closed(kept)


def test_many_slow_clients_hold_nobody_up(strict: RunningServer) -> None:
    with ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(strict.connect()).sendall(HEAD[:30])
        assert strict.decide().status_code == 200


def test_headers_without_end_are_refused(strict: RunningServer) -> None:
    with strict.connect() as greedy:
        greedy.sendall(HEAD)
        with pytest.raises(OSError), ExitStack():  # noqa: PT012
            while True:
                greedy.sendall(b"x-filler: " + b"y" * 8000 + b"\r\n")
                if b"431" in _peek(greedy):
                    raise ConnectionResetError


def test_what_is_not_http_is_refused_as_json(strict: RunningServer) -> None:
    with strict.connect() as odd:
        odd.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        answer = until_closed(odd)
    assert b"400 Bad Request" in answer
    assert b"application/json" in answer


def test_too_many_connections_are_turned_away(strict: RunningServer) -> None:
    with ExitStack() as stack:
        connections = [stack.enter_context(strict.connect()) for _ in range(60)]
        assert sum(b"429 Too Many Requests" in until_closed(one) for one in connections) >= 15
    assert strict.decide().status_code == 200


def test_requests_sent_at_once_are_answered_in_order(server: RunningServer) -> None:
    with server.connect() as eager:
        eager.sendall(
            (HEAD + b"\r\n" + BODY) * 3 + HEAD.replace(b"host", b"connection: close\r\nhost") + b"\r\n" + BODY
        )
        assert until_closed(eager).count(b"HTTP/1.1 200 OK") == 4


def test_answers_on_a_kept_connection_come_without_delay(server: RunningServer) -> None:
    """Without TCP_NODELAY every answer after the first waits about 40 ms for an acknowledgement."""
    with httpx.Client(base_url=server.url) as client:
        client.post("/v1/systemone", content=BODY)
        times: list[float] = []
        for _ in range(15):
            started = time.monotonic()
            client.post("/v1/systemone", content=BODY)
            times.append(time.monotonic() - started)
    assert sorted(times)[3] < 0.03


@pytest.mark.slow
def test_ten_thousand_idle_connections_leave_the_server_answering(start_server: Callable[..., RunningServer]) -> None:
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, allowed))
    wanted = min(10_000, allowed - 500)
    server = start_server(limits={"headers_s": 120})
    server.decide()
    before = server.memory_bytes()
    with ExitStack() as stack:
        for _ in range(wanted):
            stack.enter_context(server.connect())
        started = time.monotonic()
        assert server.decide().status_code == 200
        assert time.monotonic() - started < 5
        grown = server.memory_bytes() - before
    print(f"{wanted} idle connections: {grown / wanted / 1024:.1f} KiB each")  # noqa: T201
    assert grown < wanted * 40_000


def _peek(connection: socket.socket) -> bytes:
    connection.setblocking(False)
    try:
        return connection.recv(1000, socket.MSG_PEEK)
    except BlockingIOError:
        return b""
    finally:
        connection.setblocking(True)
