"""Answers of a paid endpoint, kept in a JSONL file by the hash of what was asked, so that nothing is paid for twice.

A line cut off by a kill is dropped at the next start; every other line stays. One process writes a cache at a time.
"""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

from forthwith.errors import DataError

__all__ = ["CachedAnswer", "RenderCache"]


class CachedAnswer(NamedTuple):
    """One answer with what it cost."""

    text: str
    input_tokens: int
    output_tokens: int
    finish_reason: str


class RenderCache:
    """Answers by key. Thread-safe; an answer is on disk before `put` returns."""

    def __init__(self, path: str | Path) -> None:
        """Open or create the cache.

        Raises:
            DataError: a line other than the last is broken (path and line), or the file cannot be read.
        """
        self.path = Path(path)
        self._lock = threading.Lock()
        self._answers: dict[str, CachedAnswer] = {}
        if self.path.exists():
            self._load()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str) -> CachedAnswer | None:
        """The answer to a question asked before, or None."""
        return self._answers.get(key)

    def put(self, key: str, answer: CachedAnswer) -> None:
        """Remember an answer.

        Raises:
            DataError: the disk is full or the file cannot be written.
        """
        line = json.dumps({"key": key, **answer._asdict()}, ensure_ascii=False) + "\n"
        with self._lock:
            try:
                self._append(line.encode())
            except OSError as error:
                hint = "make room and run again" if error.errno == errno.ENOSPC else "check its permissions"
                raise DataError(f"cannot be written: {error}; {hint}, earlier answers stay valid", self.path) from error
            self._answers[key] = answer

    def _append(self, line: bytes) -> None:
        """Write one line whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as out:
            before = out.tell()
            try:
                out.write(line)
                out.flush()
                os.fsync(out.fileno())
            except OSError:
                os.ftruncate(out.fileno(), before)
                raise

    def _load(self) -> None:
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise DataError(f"cannot be read: {error}", self.path) from error
        whole, _, cut = content.rpartition(b"\n")
        if cut:
            with self.path.open("r+b") as file:
                file.truncate(len(content) - len(cut))
        for number, line in enumerate(whole.split(b"\n"), start=1):
            if line.strip():
                self._take(number, line)

    def _take(self, number: int, line: bytes) -> None:
        try:
            row: dict[str, Any] = json.loads(line)
            self._answers[str(row["key"])] = CachedAnswer(
                str(row["text"]), int(row["input_tokens"]), int(row["output_tokens"]), str(row["finish_reason"])
            )
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"is not a cached answer ({error!r}); delete the line", self.path, number) from error
