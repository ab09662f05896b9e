"""The one thread that runs the model: takes batches from the line and hands every request its own answer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forthwith.decision import Decision
from forthwith.errors import EngineError, OverloadedError
from forthwith.model import Model, PreparedRequest
from forthwith.serving.scheduler import BatchLimits, Pace, Ticket, WaitingLine

__all__ = ["BatchReport", "ModelWorker", "Turn"]

_log = logging.getLogger("forthwith.serving")


@dataclass(frozen=True)
class BatchReport:
    """One batch, for metrics."""

    requests: int
    tokens: int
    cached_tokens: int
    seconds: float


@dataclass(frozen=True)
class Turn:
    """A decision, with how long it waited for the model and how long the model took, in seconds."""

    decision: Decision
    waited_s: float
    ran_s: float


@dataclass(frozen=True)
class _Work:
    prepared: PreparedRequest
    future: asyncio.Future[Turn]
    loop: asyncio.AbstractEventLoop


def _ignore(_report: BatchReport) -> None:
    return


def _no_check() -> None:
    return


class ModelWorker:
    """Runs a model in one thread of its own. `decide` is called from an event loop; many may be.

    Args:
        model: answers batches.
        limits: of the line and of one batch.
        check_model: called around every batch; raises when the model is no longer what was loaded.
        observe: told about every batch, in the model's thread.
    """

    def __init__(
        self,
        model: Model,
        limits: BatchLimits,
        *,
        check_model: Callable[[], None] = _no_check,
        observe: Callable[[BatchReport], None] = _ignore,
    ) -> None:
        self.model = model
        self.limits = limits
        self.line = WaitingLine(limits, Pace())
        self._check_model = check_model
        self._observe = observe
        self._changed = threading.Condition()
        self._closing = False
        self._company = 1
        self._running: tuple[float, int] | None = None  # since when, how many tokens
        self._thread = threading.Thread(target=self._run, name="forthwith-model", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """Answer everybody in line, then stop; returns when done."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def running_s(self) -> float:
        """How long the present batch has been running; 0 between batches."""
        running = self._running
        return 0.0 if running is None else time.monotonic() - running[0]

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    async def decide(self, prepared: PreparedRequest) -> Turn:
        """The answer to one request. Cancelling the call frees its place in the line.

        Raises:
            OverloadedError: no room, or no turn came in time.
            EngineError: the model failed on this request.
        """
        loop = asyncio.get_running_loop()
        ticket = _ticket(prepared, _Work(prepared, loop.create_future(), loop))
        with self._changed:
            if self._closing:
                raise OverloadedError("the server is shutting down; try again")
            self.line.join(ticket, time.monotonic(), self._remaining_s())
            self._changed.notify_all()
        timeout = loop.call_later(self.limits.wait_s, self._give_up, ticket)
        try:
            return await ticket.work.future
        finally:
            timeout.cancel()
            with self._changed:
                self.line.leave(ticket)

    def _give_up(self, ticket: Ticket) -> None:
        with self._changed:
            was_waiting = self.line.leave(ticket)
        if was_waiting and not ticket.work.future.done():
            message = f"no turn came within {self.limits.wait_s:g} s; try again"
            ticket.work.future.set_exception(OverloadedError(message, self.limits.wait_s / 2))

    def _remaining_s(self) -> float:
        running = self._running
        if running is None:
            return 0.0
        return max(0.0, self.line.pace.seconds(running[1]) - (time.monotonic() - running[0]))

    def _run(self) -> None:
        while batch := self._next_batch():
            self._answer(batch)

    def _next_batch(self) -> list[Ticket]:
        """Wait for somebody, then (after a batch of several) a moment for company; empty when closing and done."""
        batch: list[Ticket] = []
        with self._changed:
            self._running = None
            while not batch:
                self._changed.wait_for(lambda: len(self.line) > 0 or self._closing)
                if self._company > 1 and not self._closing and self.limits.gather_s > 0:
                    self._changed.wait_for(
                        lambda: len(self.line) >= self._company or self._closing, timeout=self.limits.gather_s
                    )
                batch = self.line.next_batch()  # empty when whoever woke us has left again
                if not batch and self._closing:
                    break
                self._company = max(1, len(batch))
            self._running = (time.monotonic(), sum(ticket.tokens for ticket in batch))
        return batch

    def _answer(self, batch: Sequence[Ticket]) -> None:
        started = time.monotonic()
        outcomes = self._outcomes([ticket.work.prepared for ticket in batch])
        seconds = time.monotonic() - started
        decisions = [outcome for outcome in outcomes if isinstance(outcome, Decision)]
        cached = sum(decision.usage.cached_tokens for decision in decisions)
        tokens = _batch_tokens(batch)
        if decisions:
            self.line.pace.measured(max(1, tokens - cached), seconds)
        self._observe(BatchReport(len(batch), tokens, cached, seconds))
        for ticket, outcome in zip(batch, outcomes, strict=True):
            result = Turn(outcome, started - ticket.arrived, seconds) if isinstance(outcome, Decision) else outcome
            with contextlib.suppress(RuntimeError):  # its event loop has gone, and nobody waits there any more
                ticket.work.loop.call_soon_threadsafe(_settle, ticket.work.future, result)

    def _outcomes(self, prepared: Sequence[PreparedRequest]) -> list[Decision | Exception]:
        """One decision or error a request; when a batch fails, each of its requests is tried alone."""
        try:
            self._check_model()
            decisions = self.model.decide_prepared(prepared)
            self._check_model()
            return list(decisions)
        except Exception as error:  # the thread outlives whatever a model does
            if len(prepared) == 1:
                return [error]
            _log.warning("a batch of %d failed (%s); trying each alone", len(prepared), type(error).__name__)
        return [outcome for item in prepared for outcome in self._outcomes([item])]


def _ticket(prepared: PreparedRequest, work: _Work) -> Ticket:
    roots: dict[int, int] = {}
    repeated = 0
    for tree in prepared.plan.trees:
        root = tree.segments[0].ids
        repeated += len(root) if hash(root) in roots else 0
        roots[hash(root)] = len(root)
    return Ticket(work, prepared.tokens - repeated - sum(roots.values()), roots)


def _batch_tokens(batch: Sequence[Ticket]) -> int:
    roots: dict[int, int] = {}
    for ticket in batch:
        roots.update(ticket.roots)
    return sum(ticket.branch_tokens for ticket in batch) + sum(roots.values())


def _settle(future: asyncio.Future[Turn], result: Turn | Exception) -> None:
    if future.done():  # its client has left
        return
    if isinstance(result, Turn):
        future.set_result(result)
    else:
        future.set_exception(result if str(result) else EngineError(type(result).__name__))
