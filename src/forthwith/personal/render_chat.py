"""Texts from any OpenAI-compatible chat endpoint, held to the contract that listed strings appear verbatim.

One call a text, and one repair round when the check fails. Time-outs, 429 and 5xx are tried again with growing waits;
everything else stops the run. A cost ceiling is reserved against before each call, so that it cannot be overrun by
calls in flight. Every answer is cached: a run that was stopped goes on for free.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, cast

import httpx
import tenacity

from forthwith.errors import ConfigError, EngineError, OverloadedError
from forthwith.personal.render_cache import CachedAnswer, RenderCache
from forthwith.personal.render_request import (
    RenderRequest,
    TextProblem,
    check_text,
    prompt_sha256,
    repair_text,
    system_text,
    user_text,
)

__all__ = ["ChatSettings", "ChatWriter", "CostCeilingError", "TextCheck", "WrittenText"]

TextCheck = Callable[[str], list[TextProblem]]
"""What else is wrong with a text."""

_CHARS_PER_TOKEN = 2  # a low guess on purpose: reservations err on the expensive side


class CostCeilingError(EngineError):
    """The next call could cost more than is left; `spent` and `ceiling` are in the currency of the prices."""

    def __init__(self, spent: float, ceiling: float) -> None:
        super().__init__(
            f"the cost ceiling of {ceiling:.2f} could be passed by the next call ({spent:.2f} spent); "
            "raise it and run again, finished texts are kept"
        )
        self.spent = spent
        self.ceiling = ceiling


@dataclass(frozen=True)
class ChatSettings:
    """How to reach the endpoint and what it may cost.

    Attributes:
        base_url: up to and without `/chat/completions`.
        model: the name the endpoint knows.
        api_key: sent as a bearer token; None sends none.
        max_tokens: most output tokens of one answer.
        price_in, price_out: currency units for a million input and output tokens.
        ceiling: most currency units that may be spent, cached answers not counted; None for no ceiling.
        attempts: calls for one answer before giving up on a busy endpoint.
        first_wait_s, max_wait_s: waits double from the one to the other, times a random factor of 0.5 to 1.5.
        body: further members of the request body (temperature, seed, …).
    """

    base_url: str
    model: str
    api_key: str | None = None
    max_tokens: int = 6_000
    timeout_s: float = 180.0
    attempts: int = 5
    first_wait_s: float = 2.0
    max_wait_s: float = 60.0
    price_in: float = 0.0
    price_out: float = 0.0
    ceiling: float | None = None
    body: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        """Refuse settings that cannot work.

        Raises:
            ConfigError: names the setting.
        """
        if not self.base_url.startswith(("http://", "https://")):
            raise ConfigError(f"base_url is {self.base_url!r}; give the address up to /v1", "base_url")
        if self.ceiling is not None and not (self.price_in > 0 or self.price_out > 0):
            raise ConfigError("a cost ceiling needs prices; set price_in and price_out", "ceiling")
        if self.attempts < 1 or self.max_tokens < 1:
            raise ConfigError("attempts and max_tokens must be at least 1", "attempts")


@dataclass(frozen=True)
class WrittenText:
    """What became of one request.

    `problems` is empty for a kept text; `rounds` is 1, or 2 after a repair; tokens count what the endpoint charged now.
    """

    id: str
    text: str
    status: Literal["kept", "dropped"]
    problems: tuple[TextProblem, ...]
    rounds: int
    input_tokens: int
    output_tokens: int
    model: str
    style_id: str
    prompt_sha256: str


class _Spending:
    """What was spent and what calls in flight may still cost."""

    def __init__(self, settings: ChatSettings) -> None:
        self._settings = settings
        self._changed = threading.Condition()
        self._reserved = 0.0
        self._calls = 0
        self.spent = 0.0

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self._settings.price_in + output_tokens * self._settings.price_out) / 1e6

    def reserve(self, amount: float) -> None:
        """Set `amount` aside; waits for calls in flight where only their reservations stand in the way."""
        ceiling = self._settings.ceiling
        with self._changed:
            while ceiling is not None and self.spent + self._reserved + amount > ceiling:
                if self._reserved <= 0:
                    raise CostCeilingError(self.spent, ceiling)
                self._changed.wait()
            self._reserved += amount
            self._calls += 1

    def settle(self, reserved: float, actual: float) -> None:
        with self._changed:
            self._calls -= 1
            self._reserved = self._reserved - reserved if self._calls else 0.0  # no rounding error is left behind
            self.spent += actual
            self._changed.notify_all()


class ChatWriter:
    """Writes texts through one endpoint. Use as a context manager; thread-safe."""

    def __init__(
        self,
        settings: ChatSettings,
        cache: RenderCache,
        *,
        client: httpx.Client | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.settings = settings
        self._cache = cache
        self._client = client or httpx.Client(timeout=settings.timeout_s)
        self._sleep = sleep
        self._spending = _Spending(settings)

    def __enter__(self) -> ChatWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def spent(self) -> float:
        """Currency units spent by this writer."""
        return self._spending.spent

    def write(self, request: RenderRequest, further: TextCheck | None = None) -> WrittenText:
        """The text for one request, after at most one repair round.

        Raises:
            EngineError: the endpoint refuses, answers nonsense, or stays busy through all attempts.
            CostCeilingError: the next call could pass the ceiling.
        """
        messages = [
            {"role": "system", "content": system_text(request.style)},
            {"role": "user", "content": user_text(request)},
        ]
        first, paid_first = self._answer(messages)
        problems = _problems(request, first, further)
        if not problems:
            return self._written(request, first.text, [], 1, (paid_first,))
        messages += [
            {"role": "assistant", "content": first.text},
            {"role": "user", "content": repair_text(problems)},
        ]
        second, paid_second = self._answer(messages)
        return self._written(request, second.text, _problems(request, second, further), 2, (paid_first, paid_second))

    def write_all(
        self,
        requests: Iterable[RenderRequest],
        *,
        concurrency: int = 4,
        further: Callable[[RenderRequest], TextCheck] | None = None,
    ) -> Iterator[WrittenText]:
        """The texts of many requests in their order, with `concurrency` calls in flight.

        Raises:
            EngineError, CostCeilingError: as `write`; answers that came are in the cache.
        """
        pending = iter(requests)
        with ThreadPoolExecutor(concurrency) as pool:

            def submit(request: RenderRequest) -> Future[WrittenText]:
                return pool.submit(self.write, request, further(request) if further else None)

            window = [submit(request) for request in islice(pending, 2 * concurrency)]
            try:
                while window:
                    yield window.pop(0).result()
                    window += [submit(request) for request in islice(pending, 1)]
            finally:
                for future in window:
                    future.cancel()

    def _written(
        self,
        request: RenderRequest,
        text: str,
        problems: list[TextProblem],
        rounds: int,
        paid: tuple[tuple[int, int], ...],
    ) -> WrittenText:
        return WrittenText(
            id=request.id,
            text=text,
            status="dropped" if problems else "kept",
            problems=tuple(problems),
            rounds=rounds,
            input_tokens=sum(tokens for tokens, _ in paid),
            output_tokens=sum(tokens for _, tokens in paid),
            model=self.settings.model,
            style_id=request.style.style_id,
            prompt_sha256=prompt_sha256(request),
        )

    def _answer(self, messages: list[dict[str, str]]) -> tuple[CachedAnswer, tuple[int, int]]:
        """The answer, and the tokens paid for it now (none when it was cached)."""
        body = {
            **self.settings.body,
            "model": self.settings.model,
            "messages": messages,
            "max_tokens": self.settings.max_tokens,
        }
        key = hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
        if (known := self._cache.get(key)) is not None:
            return known, (0, 0)
        prompt_chars = sum(len(message["content"]) for message in messages)
        reserved = self._spending.cost(prompt_chars // _CHARS_PER_TOKEN + 1, self.settings.max_tokens)
        self._spending.reserve(reserved)
        actual = 0.0
        try:
            answer = self._call_until_answered(body)
            actual = self._spending.cost(answer.input_tokens, answer.output_tokens)
        finally:
            self._spending.settle(reserved, actual)
        self._cache.put(key, answer)
        return answer, (answer.input_tokens, answer.output_tokens)

    def _call_until_answered(self, body: dict[str, Any]) -> CachedAnswer:
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.settings.attempts),
            wait=self._wait,
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, EngineError) and error.retryable),
            sleep=self._sleep,
            reraise=True,
        )
        return retrying(self._call, body)

    def _wait(self, state: tenacity.RetryCallState) -> float:
        doubled = tenacity.wait_exponential(multiplier=self.settings.first_wait_s, max=self.settings.max_wait_s)(state)
        waited = doubled * (0.5 + tenacity.wait_random(0, 1)(state))
        error = state.outcome.exception() if state.outcome else None
        return max(waited, error.retry_after_s) if isinstance(error, OverloadedError) else waited

    def _call(self, body: dict[str, Any]) -> CachedAnswer:
        url = self.settings.base_url.rstrip("/") + "/chat/completions"
        headers = {"Authorization": f"Bearer {self.settings.api_key}"} if self.settings.api_key else {}
        try:
            response = self._client.post(url, json=body, headers=headers)
        except httpx.TransportError as error:
            raise EngineError(f"{url} did not answer: {type(error).__name__}: {error}", retryable=True) from error
        if response.status_code == 429:
            raise OverloadedError(f"{url} is busy (429)", _retry_after(response))
        if response.status_code != 200:
            raise EngineError(
                f"{url} answered {response.status_code}: {response.text[:200]!r}", retryable=response.status_code >= 500
            )
        return _parse(url, response, body)


def _problems(request: RenderRequest, answer: CachedAnswer, further: TextCheck | None) -> list[TextProblem]:
    cut = [TextProblem("cut_off", answer.text[-40:])] if answer.finish_reason == "length" else []
    return check_text(request, answer.text, further) + cut


def _retry_after(response: httpx.Response) -> float:
    text = response.headers.get("Retry-After", "")
    return min(float(text), 300.0) if text.replace(".", "", 1).isdigit() else 0.0


def _parse(url: str, response: httpx.Response, body: dict[str, Any]) -> CachedAnswer:
    """The answer in a 200 response; whatever does not look like one is an error, never an empty text.

    Tokens that the endpoint does not report, or reports impossibly, are estimated on the expensive side.
    """
    try:
        payload = cast("dict[str, Any]", response.json())
        choice = payload["choices"][0]
        content = choice["message"]["content"]
        if not isinstance(content, str):
            raise TypeError(f"content is {type(content).__name__}, not text")  # noqa: TRY301
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise EngineError(
            f"{url} answered 200 without a chat completion ({error!r}): {response.text[:200]!r}; "
            "check base_url and model"
        ) from error
    usage = payload.get("usage")
    usage = cast("dict[str, Any]", usage) if isinstance(usage, dict) else {}
    prompt = "".join(message["content"] for message in body["messages"])
    return CachedAnswer(
        text=content,
        input_tokens=_tokens(usage.get("prompt_tokens"), prompt),
        output_tokens=_tokens(usage.get("completion_tokens"), content),
        finish_reason=str(choice.get("finish_reason") or "unknown"),
    )


def _tokens(reported: object, text: str) -> int:
    if isinstance(reported, int) and not isinstance(reported, bool) and reported >= max(1, len(text) // 50):
        return reported
    return len(text) // _CHARS_PER_TOKEN + 1
