"""Who is answered next, and with whom: a waiting line with a bound, a fair order and batches that fit a token budget.

Pure bookkeeping: no threads, no clock of its own, no model. Times are seconds on any clock that never jumps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forthwith.errors import OverloadedError

__all__ = ["BatchLimits", "Pace", "Ticket", "WaitingLine"]


@dataclass(frozen=True)
class BatchLimits:
    """Bounds of the waiting line and of one batch.

    Attributes:
        tokens: most tokens of one batch; a larger request runs alone.
        seconds: how long a batch should take at the pace measured so far; keeps batches small on slow machines.
        requests: most requests of one batch.
        gather_s: how long the model waits for company after a batch that had company; 0 never waits.
        waiting: most requests that wait.
        wait_s: longest wait for the model; who would wait longer is refused at once, who has is refused then.
    """

    tokens: int = 16_384
    seconds: float = 0.25
    requests: int = 256
    gather_s: float = 0.002
    waiting: int = 1024
    wait_s: float = 10.0


class Pace:
    """Tokens a second that the model has lately managed; recent batches count more."""

    def __init__(self, decay: float = 0.8) -> None:
        self._decay = decay
        self._tokens = 0.0
        self._seconds = 0.0

    @property
    def tokens_per_second(self) -> float | None:
        """The pace, or None before anything was measured."""
        return self._tokens / self._seconds if self._seconds > 0 else None

    def measured(self, tokens: int, seconds: float) -> None:
        """Take one batch into account."""
        self._tokens = self._decay * self._tokens + tokens
        self._seconds = self._decay * self._seconds + max(seconds, 1e-6)

    def seconds(self, tokens: int) -> float:
        """How long so many tokens should take; 0 while nothing is known."""
        pace = self.tokens_per_second
        return 0.0 if pace is None else tokens / pace


@dataclass(eq=False)
class Ticket:
    """One request in line.

    Attributes:
        work: what to run; opaque here.
        branch_tokens: tokens below the states.
        roots: each state's identity and its tokens; equal states in one batch are paid once.
        arrived: when it joined.
        order: its place: arrival, plus the time its own tokens take (at most half of `wait_s`), so that short requests
            overtake long ones for a while and a long one is never overtaken for ever.
    """

    work: Any
    branch_tokens: int
    roots: Mapping[int, int]
    arrived: float = 0.0
    order: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens it takes alone."""
        return self.branch_tokens + sum(self.roots.values())

    def tokens_beside(self, known_roots: Mapping[int, int]) -> int:
        """Tokens it adds to a batch that encodes these states already."""
        return self.branch_tokens + sum(size for root, size in self.roots.items() if root not in known_roots)


class WaitingLine:
    """The tickets that wait, in the order they will be served."""

    def __init__(self, limits: BatchLimits, pace: Pace) -> None:
        self.limits = limits
        self.pace = pace
        self.tokens = 0
        self._tickets: list[Ticket] = []

    def __len__(self) -> int:
        return len(self._tickets)

    def __contains__(self, ticket: Ticket) -> bool:
        return ticket in self._tickets

    def join(self, ticket: Ticket, now: float, running_s: float = 0.0) -> None:
        """Take a ticket in.

        Args:
            ticket: who joins.
            now: the time.
            running_s: what the batch being run still needs, in seconds.

        Raises:
            OverloadedError: the line is full, or the wait would be too long.
        """
        order = now + min(self.pace.seconds(ticket.tokens), self.limits.wait_s / 2)
        ahead = self._tickets[: bisect_right(self._tickets, order, key=lambda other: other.order)]
        wait = self.pace.seconds(sum(other.tokens for other in ahead)) + running_s
        if len(self._tickets) >= self.limits.waiting:
            raise OverloadedError(f"{len(self._tickets)} requests are waiting already; try again", max(0.5, wait / 2))
        if ahead and wait > self.limits.wait_s:
            raise OverloadedError(f"the wait would be about {wait:.0f} s; try again", wait - self.limits.wait_s + 0.5)
        ticket.arrived = now
        ticket.order = order
        self._tickets.insert(len(ahead), ticket)
        self.tokens += ticket.tokens

    def leave(self, ticket: Ticket) -> bool:
        """Take a ticket out of the line; False if it is not in it any more."""
        if ticket not in self._tickets:
            return False
        self._tickets.remove(ticket)
        self.tokens -= ticket.tokens
        return True

    def next_batch(self) -> list[Ticket]:
        """The first in line and everybody behind who still fits; empty when nobody waits."""
        batch: list[Ticket] = []
        roots: dict[int, int] = {}
        budget = self._budget()
        used = 0
        for ticket in self._tickets:
            added = ticket.tokens_beside(roots)
            if batch and used + added > budget:
                continue
            batch.append(ticket)
            roots.update(ticket.roots)
            used += added
            if len(batch) == self.limits.requests or used >= budget:
                break
        taken = set(map(id, batch))
        self._tickets = [ticket for ticket in self._tickets if id(ticket) not in taken]
        self.tokens -= sum(ticket.tokens for ticket in batch)
        return batch

    def _budget(self) -> float:
        pace = self.pace.tokens_per_second
        return self.limits.tokens if pace is None else min(self.limits.tokens, pace * self.limits.seconds)
