"""Trying again: what a remote model may answer later, and how long to wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from forthwith.errors import EngineError, OverloadedError

__all__ = ["Patience"]

T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """Waits between attempts at a call that failed but may succeed later.

    Attributes:
        waits_s: seconds before the second, third, … attempt; a server that names a longer wait gets it.
        longest_wait_s: no wait is longer, whatever the server says.
        sleep: how to wait.
    """

    waits_s: tuple[float, ...] = (5.0, 15.0, 30.0, 60.0, 120.0)
    longest_wait_s: float = 300.0
    sleep: Callable[[float], None] = time.sleep

    def call(self, action: Callable[[], T]) -> T:
        """The action's result, from the first attempt that succeeds.

        Raises:
            EngineError: the last attempt's, when all fail or it says that trying again cannot help.
        """
        attempts = Retrying(
            stop=stop_after_attempt(len(self.waits_s) + 1),
            wait=self._wait,
            retry=retry_if_exception(lambda error: isinstance(error, EngineError) and error.retryable),
            sleep=self.sleep,
            reraise=True,
        )
        return attempts(action)

    def _wait(self, state: RetryCallState) -> float:
        planned = self.waits_s[min(state.attempt_number, len(self.waits_s)) - 1] if self.waits_s else 0.0
        error = state.outcome.exception() if state.outcome is not None else None
        asked = error.retry_after_s if isinstance(error, OverloadedError) else 0.0
        return min(max(planned, asked), self.longest_wait_s)
