"""HTTP connections that nobody can hold for nothing: headers come in time and size, and connections are counted."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from forthwith.serving.settings import RequestLimits

__all__ = ["BoundedProtocol", "allow_open_files", "bounded_protocol"]

_MOST_HEADER_BYTES = 64 << 10
_SPARE_FILES = 64


class BoundedProtocol(HttpToolsProtocol):
    """The protocol of uvicorn, with a deadline and a size for request headers, and a bound on open connections."""

    request_limits = RequestLimits()
    _deadline: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _in_headers = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection in, or refuse it when there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.request_limits.connections:
            self._refuse("429 Too Many Requests", "too many connections are open; try again", "retry-after: 1\r\n")
        else:
            self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read bytes; those of headers are counted, and the first ones of a kept connection start its deadline anew."""
        if self._in_headers:
            if self._deadline is None:
                self._expect_headers()
            self._header_bytes += len(data)
        super().data_received(data)
        if self._in_headers and self._header_bytes > _MOST_HEADER_BYTES and not self.transport.is_closing():
            self._refuse("431 Request Header Fields Too Large", "the request's headers are too large; send less")

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse("400 Bad Request", msg)

    def on_headers_complete(self) -> None:
        """Start on a request; from here on the app watches the time."""
        self._cancel_deadline()
        self._in_headers = False
        self._header_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End a request's body; what comes next is another request's headers."""
        self._in_headers = True
        super().on_message_complete()

    def _expect_headers(self) -> None:
        self._cancel_deadline()
        self._deadline = self.loop.call_later(self.request_limits.headers_s, self._too_late)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        self._deadline = None
        if self._header_bytes == 0:
            self.transport.close()
        elif not self.transport.is_closing():
            self._refuse("408 Request Timeout", "the request's headers did not arrive in time; send it again")

    def _refuse(self, status: str, message: str, extra: str = "") -> None:
        body = f'{{"detail":"{message}"}}'
        head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(f"{head}connection: close\r\n{extra}\r\n{body}".encode("ascii"))
        self.transport.close()


def bounded_protocol(limits: RequestLimits) -> type[BoundedProtocol]:
    """The protocol with these limits."""
    return type("LimitedProtocol", (BoundedProtocol,), {"request_limits": limits})


def allow_open_files(connections: int) -> int:
    """Raise this process's bound on open files as far as the system allows; gives how many connections fit under it."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, connections + _SPARE_FILES)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return min(connections, max(soft, wanted) - _SPARE_FILES)
