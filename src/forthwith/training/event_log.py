"""What happens in a run, a JSON line each; numbers also to TensorBoard where it is installed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["EventLog", "read_events"]

_FILE = "metrics.jsonl"


class EventLog:
    """The log of a run's folder.

    Args:
        folder: the run's folder.
        is_writing: False in all processes but the first.
    """

    def __init__(self, folder: Path, *, is_writing: bool = True) -> None:
        self._path = folder / _FILE
        self._is_writing = is_writing
        self._file: Any = None
        self._board: Any = None

    def __enter__(self) -> Self:
        """Open the log."""
        if self._is_writing:
            self._file = self._path.open("a", encoding="utf-8")
            self._board = _board(self._path.parent)
        return self

    def write(self, event: dict[str, Any]) -> None:
        """Append an event."""
        if self._file is None:
            return
        self._file.write(json.dumps(event) + "\n")
        self._file.flush()
        if self._board is not None and "step" in event:
            for name, value in event.items():
                if isinstance(value, int | float) and not isinstance(value, bool) and name != "step":
                    self._board.add_scalar(f"{event['event']}/{name}", value, event["step"])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the log."""
        if self._file is not None:
            self._file.close()
        if self._board is not None:
            self._board.close()


def read_events(folder: Path) -> list[dict[str, Any]]:
    """The events of a run, in order; of a step logged twice (before and after a resume) the later ones."""
    path = folder / _FILE
    if not path.is_file():
        return []
    events: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue  # cut off when the run was killed
        step = event.get("step")
        if event["event"] == "step":
            events = [one for one in events if one.get("step") is None or one["step"] < step or one["event"] == "start"]
        events.append(event)
    return events


def _board(folder: Path) -> Any:
    if importlib.util.find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard.writer import SummaryWriter

    return SummaryWriter(str(folder / "tensorboard"))
