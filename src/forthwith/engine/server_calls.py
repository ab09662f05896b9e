"""JSON calls to a model server over HTTP: retried as the server advises, many at a time, every failure a clear error.

Knows nothing of what is asked.
"""

from __future__ import annotations

import email.utils
import gzip
import ipaddress
import json
import math
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

from forthwith.errors import ConfigError, EngineError, OverloadedError

__all__ = ["CallSettings", "ServerCalls", "ServerRefusalError", "advised_wait_s", "error_message"]

_T = TypeVar("_T")
_R = TypeVar("_R")

_RETRIED = frozenset({408, 429, *range(500, 600)})
_BUSY = frozenset({429, 503, 529})
_COMPRESSED_FROM_BYTES = 1024


@dataclass(frozen=True)
class CallSettings:
    """Where a server is and how patiently it is asked.

    Attributes:
        url: the server's address; a path prefix is kept.
        api_key: sent as a bearer token when given; never shown.
        timeout_s: longest wait for one answer.
        attempts: tries of one call, the first included.
        longest_wait_s: an advised wait above this ends the tries at once.
        concurrency: calls in flight at most.
        compression: content coding of request bodies from 1 KiB; None sends them plain.
        headers: sent with every call.
    """

    url: str
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0
    attempts: int = 4
    longest_wait_s: float = 30.0
    concurrency: int = 8
    compression: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ConfigError(f"a server's address starts with http:// or https://, found {self.url!r}", "url")
        if self.attempts < 1 or self.concurrency < 1:
            raise ConfigError("attempts and concurrency must be at least 1", "attempts")
        if self.compression not in (None, "gzip", "zstd"):
            raise ConfigError(f"compression must be gzip, zstd or None, found {self.compression!r}", "compression")


class ServerRefusalError(EngineError):
    """The server refused a call for good; `status` is its HTTP status, `reason` its own words."""

    def __init__(self, url: str, status: int, reason: str) -> None:
        hint = {401: "; check the API key", 403: "; check the API key", 404: "; check the address and the model name"}
        super().__init__(f"{url} answered {status}: {reason}{hint.get(status, '')}")
        self.status = status
        self.reason = reason


class _AnsweredBusyError(OverloadedError):
    def __init__(self, message: str, advised_s: float | None) -> None:
        super().__init__(message, retry_after_s=1.0 if advised_s is None else advised_s)
        self.advised_s = advised_s


class ServerCalls:
    """A pool of connections to one server.

    Args:
        settings: the server.
        sleep: waits between tries; a seam for tests.
        transport: another way to carry calls than the network, such as `httpx.ASGITransport`'s synchronous kin.
    """

    def __init__(
        self,
        settings: CallSettings,
        *,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"Accept": "application/json", "User-Agent": "forthwith", **settings.headers}
        if settings.api_key:
            headers["Authorization"] = f"Bearer {settings.api_key}"
        self.settings = settings
        self._sleep = sleep
        self._client = httpx.Client(
            headers=headers,
            timeout=settings.timeout_s,
            trust_env=not _is_loopback(settings.url),  # a proxy cannot see this machine's own servers
            transport=transport,
            limits=httpx.Limits(max_connections=settings.concurrency, max_keepalive_connections=settings.concurrency),
        )
        weakref.finalize(self, self._client.close)  # connections end with their owner, closed or not

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str) -> dict[str, Any]:
        """The JSON object at a path.

        Raises:
            EngineError: as `post`.
        """
        return self._call("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object that the server answers.

        Raises:
            ServerRefusalError: it refuses the call as it stands.
            OverloadedError: it was busy at every try.
            EngineError: it failed, could not be reached in time (`retryable`), or answered something else than JSON.
        """
        return self._call("POST", path, body)

    def map(self, ask: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
        """`ask` of every item, several at a time, results in order; the first failure ends it."""
        todo = list(items)
        if len(todo) == 1:
            return [ask(todo[0])]
        with ThreadPoolExecutor(self.settings.concurrency) as pool:
            futures = [pool.submit(ask, item) for item in todo]
            try:
                return [future.result() for future in futures]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        tries = Retrying(
            retry=retry_if_exception(self._is_worth_another_try),
            stop=stop_after_attempt(self.settings.attempts),
            wait=_wait_s,
            sleep=self._sleep,
            reraise=True,
        )
        return tries(self._call_once, method, path, body)

    def _is_worth_another_try(self, error: BaseException) -> bool:
        if isinstance(error, _AnsweredBusyError) and (error.advised_s or 0) > self.settings.longest_wait_s:
            return False
        return isinstance(error, EngineError) and error.retryable

    def _call_once(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        url = self.settings.url.rstrip("/") + path
        content, headers = (None, {}) if body is None else _encoded(body, self.settings.compression)
        try:
            response = self._client.request(method, url, content=content, headers=headers)
        except httpx.TimeoutException as error:
            raise EngineError(f"{url} gave no answer within {self.settings.timeout_s:g} s", retryable=True) from error
        except httpx.TransportError as error:
            raise EngineError(f"{url} cannot be reached: {error}; is the server running?", retryable=True) from error
        except httpx.HTTPError as error:
            raise EngineError(f"{url} gave an answer that cannot be read: {error}") from error
        return _checked(url, response)


def _is_loopback(url: str) -> bool:
    host = httpx.URL(url).host
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _encoded(body: Mapping[str, Any], compression: str | None) -> tuple[bytes, dict[str, str]]:
    plain = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    headers = {"Content-Type": "application/json"}
    if compression is None or len(plain) < _COMPRESSED_FROM_BYTES:
        return plain, headers
    if compression == "gzip":
        return gzip.compress(plain, mtime=0), {**headers, "Content-Encoding": "gzip"}
    import zstandard

    return zstandard.compress(plain), {**headers, "Content-Encoding": "zstd"}


def _checked(url: str, response: httpx.Response) -> dict[str, Any]:
    status = response.status_code
    if status in _RETRIED:
        message = f"{url} answered {status}: {error_message(response)}"
        if status in _BUSY:
            raise _AnsweredBusyError(message, advised_wait_s(response.headers))
        raise EngineError(message, retryable=True)
    if not response.is_success:
        raise ServerRefusalError(url, status, error_message(response))
    try:
        value: Any = response.json()
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise EngineError(f"{url} answered {status} with something that is not JSON: {response.text[:80]!r}") from error
    if not isinstance(value, dict):
        raise EngineError(f"{url} answered {status} with a JSON {type(value).__name__} instead of an object")
    return cast("dict[str, Any]", value)


def _wait_s(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _AnsweredBusyError) and error.advised_s is not None:
        return error.advised_s
    return (wait_exponential(multiplier=0.5, max=5.0) + wait_random(0, 0.25))(state)


def advised_wait_s(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Seconds a server asks to wait: `retry-after-ms`, else `retry-after` in seconds or as a date; None without."""
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            wait = float(headers[name]) * scale
        except (KeyError, ValueError):
            continue
        if math.isfinite(wait):
            return max(0.0, wait)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(headers["retry-after"]).timestamp() - now())
    except (KeyError, ValueError):
        return None


def error_message(response: httpx.Response) -> str:
    """A server's words about an error: `error`, `message` or `detail`, whatever their form; else the body's start."""
    try:
        body: Any = response.json()
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict):
        for name in ("error", "message", "detail"):
            if said := _said(cast("dict[str, Any]", body).get(name)):
                return said
    return response.text[:200].strip() or "no message"


def _said(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return _said(fields.get("message")) or _said(fields.get("error_type"))
    if isinstance(value, list):
        items = [cast("dict[str, Any]", item) for item in cast("list[Any]", value) if isinstance(item, dict)]
        places = [".".join(str(part) for part in item.get("loc", ()) if part != "body") for item in items]
        said = zip(places, (str(item.get("msg", "")) for item in items), strict=True)
        return "; ".join(f"{place}: {text}" if place else text for place, text in said)
    return ""
