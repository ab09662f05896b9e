"""Reading request bodies: bounded in bytes and time, decompressed within the same bound, never trusted."""

from __future__ import annotations

import asyncio
import contextlib
import io
import zlib
from collections.abc import Awaitable, Callable, Generator, Mapping, MutableMapping
from typing import Any

import zstandard

from forthwith.errors import OverloadedError
from forthwith.serving.failures import Failure, HttpError
from forthwith.serving.settings import RequestLimits

__all__ = ["BodyBudget", "ClientLeftError", "decompress", "read_body"]

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_MOST_ENCODINGS = 2
_ZSTD_WINDOW = 1 << 23  # what RFC 8878 asks every decoder to support
_GZIP_WINDOW = 31
_ZLIB_WINDOW = 15
_RAW_WINDOW = -15


class ClientLeftError(Exception):
    """The client closed its connection before it had an answer."""


class BodyBudget:
    """Counts the bytes of all bodies that are held at once, up to a bound."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self.held = 0

    @contextlib.contextmanager
    def reservation(self) -> Generator[Callable[[int], None]]:
        """A function that reserves bytes; they are given back at the end.

        Raises:
            OverloadedError: from that function, when all bodies together would be too large.
        """
        mine = 0

        def reserve(size: int) -> None:
            nonlocal mine
            if self.held + size > self._most:
                raise OverloadedError("the server holds too many request bodies now; try again")
            mine += size
            self.held += size

        try:
            yield reserve
        finally:
            self.held -= mine


async def read_body(
    headers: Mapping[str, str], receive: Receive, limits: RequestLimits, reserve: Callable[[int], None]
) -> bytes:
    """The whole body, decompressed.

    Raises:
        HttpError: 413 too large, 415 wrong kind or encoding, 400 broken encoding, 408 too slow.
        OverloadedError: no room for it now.
        ClientLeftError: the connection was closed first.
    """
    _check_media_type(headers.get("content-type"))
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > limits.body_bytes:
        raise _too_large(limits.body_bytes)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(limits.body_s):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientLeftError
                part = message.get("body", b"")
                size += len(part)
                if size > limits.body_bytes:
                    raise _too_large(limits.body_bytes)
                reserve(len(part))
                parts.append(part)
                if not message.get("more_body", False):
                    break
    except TimeoutError as error:
        message = f"the body did not arrive within {limits.body_s:g} s; send it again"
        raise HttpError(Failure(408, "timeout", message, headers={"connection": "close"})) from error
    body = b"".join(parts)
    encoding = headers.get("content-encoding", "")
    if encoding.strip():
        body = decompress(body, encoding, limits.body_bytes)
        reserve(len(body))
    return body


def decompress(body: bytes, encoding: str, most_bytes: int) -> bytes:
    """The body that a `Content-Encoding` header describes; never makes more than `most_bytes` and one.

    Raises:
        HttpError: 415 not zstd, gzip or deflate; 400 a broken stream; 413 a large result.
    """
    names = [name.strip().lower() for name in encoding.split(",")]
    if len(names) > _MOST_ENCODINGS:
        raise _unsupported(encoding)
    for name in reversed(names):
        if name == "zstd":
            body = _zstd(body, most_bytes)
        elif name in ("gzip", "x-gzip"):
            body = _inflate(body, _GZIP_WINDOW, most_bytes)
        elif name == "deflate":
            is_zlib = len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0
            body = _inflate(body, _ZLIB_WINDOW if is_zlib else _RAW_WINDOW, most_bytes)
        elif name != "identity":
            raise _unsupported(encoding)
        if len(body) > most_bytes:
            raise _too_large(most_bytes)
    return body


def _zstd(body: bytes, most_bytes: int) -> bytes:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    frames = io.BytesIO(body)
    parts: list[bytes] = []
    size = 0
    try:
        with decompressor.stream_reader(frames, read_across_frames=True) as reader:
            while size <= most_bytes and (part := reader.read(min(1 << 16, most_bytes + 1 - size))):
                parts.append(part)
                size += len(part)
    except (zstandard.ZstdError, MemoryError, ValueError) as error:
        raise _broken("zstd") from error
    if size <= most_bytes and not _ends_at_frame(body):
        raise _broken("zstd")
    return b"".join(parts)


def _ends_at_frame(body: bytes) -> bool:
    """Whether the last zstd frame is complete; the stream reader ends quietly where a stream is cut off."""
    rest = body
    while rest:
        frame = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
        frame.decompress(rest)
        if not frame.eof or frame.unused_data == rest:
            return False
        rest = frame.unused_data
    return bool(body)


def _inflate(body: bytes, window: int, most_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    rest = body
    try:
        while True:  # gzip allows members one behind the other
            stream = zlib.decompressobj(window)
            part = stream.decompress(rest, most_bytes + 1 - size)
            parts.append(part)
            size += len(part)
            if size > most_bytes:
                break
            if not stream.eof:
                raise _broken("gzip or deflate")
            rest = stream.unused_data
            if not rest:
                break
    except zlib.error as error:
        raise _broken("gzip or deflate") from error
    return b"".join(parts)


def _check_media_type(content_type: str | None) -> None:
    if content_type is None:
        return
    media_type = content_type.split(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        message = f"the body must be application/json, found {media_type[:80]!r}; images and forms are not read here"
        raise HttpError(Failure(415, "unsupported_media_type", message))


def _too_large(most_bytes: int) -> HttpError:
    message = f"the body is larger than {most_bytes} bytes; send less"
    return HttpError(Failure(413, "body_too_large", message, headers={"connection": "close"}))


def _unsupported(encoding: str) -> HttpError:
    message = f"Content-Encoding {encoding[:80]!r} is not read here; use zstd, gzip, deflate or none"
    return HttpError(Failure(415, "unsupported_encoding", message, headers={"accept-encoding": "zstd, gzip, deflate"}))


def _broken(encoding: str) -> HttpError:
    return HttpError(Failure(400, "broken_encoding", f"the body is no complete {encoding} stream; send it again"))
