"""A real HTTP server on loopback whose answers a test scripts, and the calls it received."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Call:
    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


@dataclass
class Answer:
    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def raw(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Loopback:
    url: str
    calls: list[Call] = field(default_factory=list)

    def to(self, path: str) -> list[Call]:
        return [call for call in self.calls if call.path == path]


@contextmanager
def serve(respond: Callable[[Call], Answer]) -> Iterator[Loopback]:
    calls: list[Call] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            call = Call(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, raw)
            calls.append(call)
            answer = respond(call)
            self.send_response(answer.status)
            for name, value in {**answer.headers, "Content-Length": str(len(answer.raw))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.raw)

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Loopback(f"http://127.0.0.1:{server.server_port}", calls)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
