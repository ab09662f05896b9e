from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.errors import OverloadedError
from forthwith.serving.scheduler import BatchLimits, Pace, Ticket, WaitingLine


def ticket(name: str, tokens: int, root: int | None = None, root_tokens: int = 0) -> Ticket:
    return Ticket(name, tokens, {} if root is None else {root: root_tokens})


def line_at(tokens_per_second: float | None = None, **limits: float) -> WaitingLine:
    pace = Pace()
    if tokens_per_second is not None:
        pace.measured(int(tokens_per_second), 1.0)
    return WaitingLine(BatchLimits(**limits), pace)  # type: ignore[arg-type]


def names(batch: list[Ticket]) -> list[str]:
    return [item.work for item in batch]


def test_batches_fill_the_token_budget_in_order_of_arrival() -> None:
    line = line_at(tokens=100)
    for number, size in enumerate([40, 50, 30, 60]):
        line.join(ticket(str(number), size), now=float(number))
    assert names(line.next_batch()) == ["0", "1"]
    assert names(line.next_batch()) == ["2", "3"]
    assert line.next_batch() == []
    assert line.tokens == 0


def test_a_state_shared_by_requests_of_a_batch_is_paid_once() -> None:
    line = line_at(tokens=130)
    for number in range(3):
        line.join(ticket(str(number), 10, root=7, root_tokens=100), now=float(number))
    assert names(line.next_batch()) == ["0", "1", "2"]


def test_a_request_over_the_budget_runs_alone() -> None:
    line = line_at(tokens=100)
    line.join(ticket("long", 1000), now=0.0)
    line.join(ticket("short", 10), now=1.0)
    assert names(line.next_batch()) == ["long"]
    assert names(line.next_batch()) == ["short"]


def test_short_requests_overtake_a_long_one_that_would_hold_them_up() -> None:
    line = line_at(tokens_per_second=100)
    line.join(ticket("long", 400), now=0.0)  # 4 s of work: its turn counts from second 4
    line.join(ticket("short", 10), now=1.0)
    assert names(line.next_batch()) == ["short"]


def test_a_long_request_is_not_overtaken_for_ever() -> None:
    line = line_at(tokens_per_second=100, wait_s=10.0)
    line.join(ticket("long", 900), now=0.0)  # its handicap is at most half of wait_s
    line.join(ticket("late", 10), now=6.0)
    assert names(line.next_batch()) == ["long"]


def test_slow_machines_get_small_batches() -> None:
    line = line_at(tokens_per_second=400, tokens=16_384, seconds=0.25)
    for number in range(4):
        line.join(ticket(str(number), 50), now=float(number))
    assert names(line.next_batch()) == ["0", "1"]  # 400 tokens a second for a quarter of a second


def test_a_full_line_refuses_with_advice() -> None:
    line = line_at(waiting=2)
    line.join(ticket("a", 1), now=0.0)
    line.join(ticket("b", 1), now=0.0)
    with pytest.raises(OverloadedError, match="2 requests are waiting") as caught:
        line.join(ticket("c", 1), now=0.0)
    assert caught.value.retry_after_s >= 0.5


def test_who_would_wait_too_long_is_refused_at_once() -> None:
    line = line_at(tokens_per_second=100, wait_s=10.0)
    line.join(ticket("a", 2000), now=0.0)  # taken although it takes 20 s: nobody is ahead of it
    with pytest.raises(OverloadedError, match="about 20 s"):
        line.join(ticket("b", 2000), now=0.0)
    line.join(ticket("short", 10), now=0.0)  # it would be served first


def test_leaving_frees_the_place() -> None:
    line = line_at(waiting=1)
    first = ticket("first", 5)
    line.join(first, now=0.0)
    assert line.leave(first)
    assert not line.leave(first)
    line.join(ticket("second", 5), now=1.0)
    assert names(line.next_batch()) == ["second"]


def test_pace_follows_recent_batches() -> None:
    pace = Pace(decay=0.5)
    assert pace.tokens_per_second is None
    pace.measured(100, 1.0)
    pace.measured(300, 1.0)
    assert pace.tokens_per_second == pytest.approx(350 / 1.5)
    assert pace.seconds(700) == pytest.approx(3.0)


@given(
    sizes=st.lists(st.integers(1, 300), max_size=40),
    roots=st.lists(st.integers(0, 3), min_size=40, max_size=40),
    budget=st.integers(1, 500),
    pace=st.none() | st.floats(50, 5000),
)
def test_everybody_is_served_once_within_the_budget(
    sizes: list[int], roots: list[int], budget: int, pace: float | None
) -> None:
    line = line_at(pace, tokens=budget, wait_s=1e9)
    for number, size in enumerate(sizes):
        line.join(ticket(str(number), size, root=roots[number], root_tokens=50), now=number * 0.01)
    served: list[str] = []
    while batch := line.next_batch():
        cost = sum(item.branch_tokens for item in batch) + 50 * len({root for item in batch for root in item.roots})
        assert len(batch) == 1 or cost <= budget
        served += names(batch)
    assert sorted(served, key=int) == [str(number) for number in range(len(sizes))]
    assert line.tokens == 0
