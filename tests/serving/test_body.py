from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Sequence
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from forthwith.errors import OverloadedError
from forthwith.serving.body import BodyBudget, ClientLeftError, decompress, read_body
from forthwith.serving.failures import HttpError
from forthwith.serving.settings import RequestLimits

MEGABYTE = 1 << 20


def compressors() -> dict[str, Any]:
    return {"zstd": zstandard.ZstdCompressor().compress, "gzip": gzip.compress, "deflate": zlib.compress}


def status_of(body: bytes, encoding: str, most: int = MEGABYTE) -> int:
    with pytest.raises(HttpError) as caught:
        decompress(body, encoding, most)
    return caught.value.failure.status


@pytest.mark.parametrize("encoding", ["zstd", "gzip", "deflate"])
@given(data=st.binary(max_size=2000))
def test_compressed_bodies_come_back_as_they_were(encoding: str, data: bytes) -> None:
    assert decompress(compressors()[encoding](data), encoding.upper(), MEGABYTE) == data


def test_raw_deflate_identity_two_encodings_and_several_members_are_read() -> None:
    raw = zlib.compressobj(wbits=-15)
    assert decompress(raw.compress(b"abc") + raw.flush(), "deflate", 10) == b"abc"
    assert decompress(b"abc", "identity", 10) == b"abc"
    assert decompress(zstandard.compress(gzip.compress(b"abc")), "gzip, zstd", 100) == b"abc"
    assert decompress(gzip.compress(b"ab") + gzip.compress(b"c"), "gzip", 10) == b"abc"
    assert decompress(zstandard.compress(b"ab") + zstandard.compress(b"c"), "zstd", 10) == b"abc"


@pytest.mark.parametrize("encoding", ["zstd", "gzip", "deflate"])
@given(data=st.binary(min_size=1, max_size=200), cut=st.integers(1, 6))
def test_streams_that_are_cut_off_are_refused(encoding: str, data: bytes, cut: int) -> None:
    assert status_of(compressors()[encoding](data)[:-cut], encoding) == 400


@pytest.mark.parametrize("encoding", ["zstd", "gzip", "deflate"])
def test_what_is_no_such_stream_is_refused(encoding: str) -> None:
    assert status_of(b'{"state": "plain"}', encoding) == 400
    assert status_of(b"", encoding) == 400
    assert status_of(compressors()[encoding](b"abc") + b"junk", encoding) in (400, 413)


@pytest.mark.parametrize("encoding", ["zstd", "gzip", "deflate"])
def test_a_bomb_is_refused_before_it_unfolds(encoding: str) -> None:
    import tracemalloc

    bomb = compressors()[encoding](bytes(64 * MEGABYTE))
    tracemalloc.start()
    try:
        assert status_of(bomb, encoding) == 413
        assert tracemalloc.get_traced_memory()[1] < 8 * MEGABYTE
    finally:
        tracemalloc.stop()


def test_other_encodings_are_refused_and_the_known_ones_named() -> None:
    with pytest.raises(HttpError) as caught:
        decompress(b"x", "br", 10)
    assert caught.value.failure.status == 415
    assert caught.value.failure.headers["accept-encoding"] == "zstd, gzip, deflate"
    assert status_of(b"x", "gzip, gzip, gzip") == 415


def read(parts: Sequence[bytes | None], headers: dict[str, str] | None = None, **limits: Any) -> bytes:
    """Read a body that arrives in parts; None means that the client leaves."""
    messages = [
        {"type": "http.disconnect"} if part is None else {"type": "http.request", "body": part, "more_body": True}
        for part in parts
    ]
    messages += [{"type": "http.request", "body": b"", "more_body": False}]
    waiting = iter(messages)

    async def receive() -> dict[str, Any]:
        message = next(waiting)
        if message.get("body") == b"wait":
            await asyncio.Event().wait()
        return message

    async def run() -> bytes:
        with BodyBudget(limits.get("buffered_bytes", MEGABYTE)).reservation() as reserve:
            return await read_body(headers or {}, receive, RequestLimits(**limits), reserve)

    return asyncio.run(run())


def test_parts_are_joined() -> None:
    assert read([b"ab", b"", b"c"]) == b"abc"


@pytest.mark.parametrize(
    ("parts", "headers", "limits", "status"),
    [
        ([b"x" * 11], {}, {"body_bytes": 10}, 413),
        ([b"x"], {"content-length": "11"}, {"body_bytes": 10}, 413),
        ([b"x"], {"content-type": "multipart/form-data; boundary=b"}, {}, 415),
        ([b"x"], {"content-type": "text/plain"}, {}, 415),
        ([b"x", b"wait"], {}, {"body_s": 0.01}, 408),
    ],
)
def test_bodies_that_are_not_read(
    parts: list[bytes], headers: dict[str, str], limits: dict[str, Any], status: int
) -> None:
    with pytest.raises(HttpError) as caught:
        read(parts, headers, **limits)
    assert caught.value.failure.status == status


def test_json_with_parameters_is_read() -> None:
    assert read([b"{}"], {"content-type": "application/json; charset=utf-8"}) == b"{}"
    assert read([b"{}"], {"content-type": "application/problem+json"}) == b"{}"


def test_a_client_that_leaves_while_sending_is_noticed() -> None:
    with pytest.raises(ClientLeftError):
        read([b"x", None])


def test_all_bodies_together_are_bounded_and_given_back() -> None:
    budget = BodyBudget(10)
    with budget.reservation() as first:
        first(6)
        with budget.reservation() as second, pytest.raises(OverloadedError):
            second(5)
        assert budget.held == 6
    assert budget.held == 0
