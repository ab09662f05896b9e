"""How much each key may use: token buckets, exact within a process and, through a shared file, across processes.

A bucket holds a minute's worth and refills steadily. Time is the system's monotonic clock: all processes share
it, and no change of the date moves it.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable, Generator, Sequence

from forthwith.serving.failures import Failure, HttpError
from forthwith.serving.keys import ApiKey

__all__ = ["RateLimits"]

_SLOT = struct.Struct("dd")  # what was used and not yet refilled, and when that was reckoned


class RateLimits:
    """Counts requests and tokens by key.

    Args:
        keys: all keys, in the same order in every process.
        shared_file: a file for the counts that several processes use; None counts in this process.
        clock: seconds that never go back.
    """

    def __init__(
        self, keys: Sequence[ApiKey], shared_file: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._index = {key.sha256: number for number, key in enumerate(keys)}
        self._clock = clock
        self._lock = threading.Lock()
        size = max(1, 2 * len(keys)) * _SLOT.size
        self._file = None if shared_file is None else os.open(shared_file, os.O_RDWR | os.O_CREAT, 0o600)
        if self._file is None:
            self._slots: bytearray | mmap.mmap = bytearray(size)
        else:
            os.ftruncate(self._file, size)
            self._slots = mmap.mmap(self._file, size)

    def take_request(self, key: ApiKey | None) -> None:
        """Count one request.

        Raises:
            HttpError: 429 with retry advice, the key's minute is used up.
        """
        if key is not None and key.requests_per_minute is not None:
            self._take(2 * self._index[key.sha256], 1, key.requests_per_minute, "requests")

    def take_tokens(self, key: ApiKey | None, tokens: int) -> None:
        """Count tokens; a request larger than a whole minute's worth passes when the bucket is full.

        Raises:
            HttpError: 429 with retry advice, the key's minute is used up.
        """
        if key is not None and key.tokens_per_minute is not None:
            self._take(2 * self._index[key.sha256] + 1, tokens, key.tokens_per_minute, "tokens")

    def _take(self, slot: int, amount: int, per_minute: int, what: str) -> None:
        with self._exclusive():
            now = self._clock()
            used, then = _SLOT.unpack_from(self._slots, slot * _SLOT.size)
            used = max(0.0, used - max(0.0, now - then) * per_minute / 60)
            over = used + min(amount, per_minute) - per_minute
            if over <= 1e-9:
                _SLOT.pack_into(self._slots, slot * _SLOT.size, used + amount, now)
                return
        wait_s = over * 60 / per_minute
        message = f"the key may use {per_minute} {what} a minute; try again in {wait_s:.1f} s"
        raise HttpError(Failure(429, "rate_limited", message, retry_after_s=wait_s))

    @contextlib.contextmanager
    def _exclusive(self) -> Generator[None]:
        with self._lock:
            if self._file is None:
                yield
                return
            fcntl.flock(self._file, fcntl.LOCK_EX)  # the system releases it if a process dies holding it
            try:
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)
