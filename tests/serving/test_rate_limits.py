from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.serving.failures import HttpError
from forthwith.serving.keys import ApiKey
from forthwith.serving.rate_limits import RateLimits

KEY = ApiKey("alice", "0" * 64, requests_per_minute=3, tokens_per_minute=600)
FREE = ApiKey("bob", "1" * 64)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_minutes_worth_passes_then_the_rest_waits() -> None:
    clock = Clock()
    rates = RateLimits([FREE, KEY], clock=clock)
    for _ in range(3):
        rates.take_request(KEY)
    with pytest.raises(HttpError) as caught:
        rates.take_request(KEY)
    assert caught.value.failure.status == 429
    assert caught.value.failure.retry_after_s == pytest.approx(20.0)  # one request refills in 20 s
    clock.now += 20
    rates.take_request(KEY)
    for _ in range(100):
        rates.take_request(FREE)
        rates.take_request(None)


def test_a_request_larger_than_a_minute_passes_when_the_bucket_is_full_and_is_paid_afterwards() -> None:
    clock = Clock()
    rates = RateLimits([KEY], clock=clock)
    rates.take_tokens(KEY, 1200)
    clock.now += 60
    with pytest.raises(HttpError):
        rates.take_tokens(KEY, 1)
    clock.now += 61
    rates.take_tokens(KEY, 1)


def test_a_clock_that_went_back_gives_nothing_away() -> None:
    clock = Clock()
    rates = RateLimits([KEY], clock=clock)
    for _ in range(3):
        rates.take_request(KEY)
    clock.now -= 1000
    with pytest.raises(HttpError):
        rates.take_request(KEY)


@given(steps=st.lists(st.tuples(st.floats(0, 30), st.integers(1, 900)), max_size=30))
def test_no_more_than_the_rate_gets_through(steps: list[tuple[float, int]]) -> None:
    clock, passed = Clock(), 0
    rates = RateLimits([KEY], clock=clock)
    for pause, tokens in steps:
        clock.now += pause
        try:
            rates.take_tokens(KEY, tokens)
            passed += tokens
        except HttpError:
            pass
    assert passed <= 600 + (clock.now - 100) * 10 + 900  # a full bucket, the refill, and one larger request


def _take_all(file: str, results: multiprocessing.Queue[int]) -> None:
    rates = RateLimits([ApiKey("alice", "0" * 64, requests_per_minute=100)], file, clock=lambda: 5.0)
    passed = 0
    for _ in range(100):
        try:
            rates.take_request(ApiKey("alice", "0" * 64, requests_per_minute=100))
            passed += 1
        except HttpError:
            pass
    results.put(passed)


def test_processes_share_the_counts_through_a_file(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    results: multiprocessing.Queue[int] = context.Queue()
    processes = [context.Process(target=_take_all, args=(str(tmp_path / "rates"), results)) for _ in range(3)]
    for process in processes:
        process.start()
    passed = [results.get(timeout=10) for _ in processes]
    for process in processes:
        process.join()
    assert sum(passed) == 100
