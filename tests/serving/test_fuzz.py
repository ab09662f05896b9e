"""A corpus of bodies that are wrong in every way we could think of: none crashes the server, none gets a 5xx, memory stays."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import zstandard
from serving_process import QUESTIONS, RunningServer, body_of

ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1.5, 10**400, -(10**30), "", " ", "\x00", "\u202e", "é", "é", "👩‍👩‍👧‍👦", [], {}, [[]], [None], [1, "a"],
    {"": None}, {"a": {"b": {}}}, "x" * 5000, list(range(400)), {str(number): number for number in range(400)}, "__proto__",
]  # fmt: skip
ODD_TEXTS = [
    b"", b"null", b"[]", b"{}", b"1", b'"x"', b"{", b"}", b"[", b"nul", b"\xff\xfe", b"\xef\xbb\xbf{}", b"{'a':1}", b'{"a":1,}', b"\x00",
    b'{"state":"\\ud800","questions":{}}', b'{"state":NaN}', b'{"state":Infinity}', b'{"state":1e999}', b'{"a":1,"a":2}',
    b'{"state":"\xc3\x28"}', b'{"state":"a\nb"}', b"[" * 100_000, b'{"a":' * 50_000, b"[" * 500 + b"]" * 500, b"9" * 100_000,
    b'{"state":' + b"[" * 2000 + b"]" * 2000 + b"}", b"-", b"1e", b'"\\u12', b"\xed\xa0\x80", '{"state":"x"}'.encode("utf-16"),
]  # fmt: skip
VALID = json.dumps(body_of({"subject": "Parcel", "lines": [1, {"a": None}]})).encode()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield from places(member, (*path, key))


def changed(path: tuple[Any, ...], value: Any) -> bytes:
    body = json.loads(VALID)
    if not path:
        return json.dumps(value).encode()
    target = body
    for key in path[:-1]:
        target = target[key]
    if value is ...:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return json.dumps(body).encode()


def mutated(random_numbers: random.Random) -> bytes:
    data = bytearray(VALID)
    for _ in range(random_numbers.randint(1, 6)):
        at = random_numbers.randrange(len(data))
        match random_numbers.randrange(4):
            case 0:
                data[at] = random_numbers.randrange(256)
            case 1:
                del data[at : at + random_numbers.randint(1, 20)]
            case 2:
                data[at:at] = bytes(random_numbers.randrange(256) for _ in range(random_numbers.randint(1, 8)))
            case _:
                data[at:at] = random_numbers.choice(
                    [b"{", b"}", b"[", b'"', b",", b":", b"\\u", b"null", b"1e999", b"\\ud83d"]
                )
        data = data or bytearray(b" ")
    return bytes(data)


def questions_of_wrong_sizes() -> Iterator[bytes]:
    for count in (0, 1, 2, 255, 256, 1000, 20_000):
        options = {f"option {number}": None for number in range(count)}
        yield json.dumps(body_of("x") | {"questions": {"q": {"type": "choice", "criteria": options}}}).encode()
        levels = [f"level {number}" for number in range(count)]
        yield json.dumps(body_of("x") | {"questions": {"q": {"type": "score", "criteria": levels}}}).encode()
        yield json.dumps(
            body_of("x") | {"questions": {str(number): {"type": "noul"} for number in range(count)}}
        ).encode()


def corpus() -> Iterator[tuple[bytes, dict[str, str]]]:
    """Body and headers, more than 5,000 of them, the same every time."""
    random_numbers = random.Random(7)
    plain = {"content-type": "application/json"}
    for text in [*ODD_TEXTS, *questions_of_wrong_sizes()]:
        yield text, plain
    for path in places(json.loads(VALID)):
        for value in [*ODD_VALUES, ...] if path else ODD_VALUES:
            yield changed(path, value), plain
    compressors: dict[str, Callable[[bytes], bytes]] = {
        "zstd": zstandard.compress, "gzip": gzip.compress, "deflate": zlib.compress,
    }  # fmt: skip
    for encoding, compress in compressors.items():
        headers = plain | {"content-encoding": encoding}
        yield compress(bytes(1 << 26)), headers
        yield compress(compress(bytes(1 << 24))), headers
        yield compress(VALID)[:-5], headers
        yield VALID, headers
        for _ in range(300):
            data = bytearray(compress(VALID))
            data[random_numbers.randrange(len(data))] ^= 1 << random_numbers.randrange(8)
            yield bytes(data), headers
    for encoding in ("br", "zstd, br", "gzip,gzip", ",", "identity;q=0", "\x7f", "x" * 500):
        yield VALID, plain | {"content-encoding": encoding}
    for media_type in ("", "text/plain", "multipart/form-data", "application/x-www-form-urlencoded", ";;;", "\x7f"):
        yield VALID, {"content-type": media_type}
    for _ in range(3400):
        yield mutated(random_numbers), plain


@pytest.mark.slow
def test_no_malformed_body_gets_a_server_error_or_grows_the_server(start_server: Callable[..., RunningServer]) -> None:
    server = start_server(plan={"log_level": "error"})
    statuses: dict[int, int] = {}
    with httpx.Client(base_url=server.url, timeout=30) as client:
        for path in ("/v1/systemone", "/v1/decisions", "/api/alpha/decisions"):  # warm, before memory is read
            client.post(path, content=VALID)
        before = server.memory_bytes()
        paths = ["/v1/systemone"] * 3 + ["/v1/decisions", "/api/alpha/decisions"]
        for number, (body, headers) in enumerate(corpus()):
            response = client.post(paths[number % len(paths)], content=body, headers=headers)
            statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
            assert response.status_code < 500, (body[:300], headers, response.text)
            assert response.headers["content-type"] == "application/json"
            response.json()
        assert client.post("/v1/systemone", content=VALID).status_code == 200
    assert sum(statuses.values()) >= 5000, statuses
    assert {200, 400, 413, 415, 422} <= set(statuses)
    assert server.memory_bytes() - before < 200 << 20
    assert not [line for line in server.lines() if line["level"] == "error"]


def test_a_sample_of_the_corpus_gets_no_server_error(client: Any) -> None:
    for body, headers in list(corpus())[::40]:
        response = client.post("/v1/systemone", content=body, headers=headers)
        assert response.status_code < 500, (body[:300], headers, response.text)


def test_the_valid_body_is_valid(client: Any) -> None:
    assert client.post("/v1/systemone", content=VALID).json()["answers"].keys() == QUESTIONS.keys()
