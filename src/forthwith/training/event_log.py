"""What happens in a run, a JSON line each; numbers also to TensorBoard and to Trackio where they are installed."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import logging
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["EventLog", "read_events"]

_FILE = "metrics.jsonl"
_PROJECT = "forthwith"
_log = logging.getLogger("forthwith.training")


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
        self._tracker: Any = None

    def __enter__(self) -> Self:
        """Open the log."""
        if self._is_writing:
            self._file = self._path.open("a", encoding="utf-8")
            self._board = _board(self._path.parent)
            self._tracker = _tracker(self._path.parent)
        return self

    def write(self, event: dict[str, Any]) -> None:
        """Append an event."""
        if self._file is None:
            return
        self._file.write(json.dumps(event) + "\n")
        self._file.flush()
        numbers = {
            f"{event['event']}/{name}": value
            for name, value in event.items()
            if isinstance(value, int | float) and not isinstance(value, bool) and name != "step"
        }
        if "step" not in event or not numbers:
            return
        if self._board is not None:
            for name, value in numbers.items():
                self._board.add_scalar(name, value, event["step"])
        if self._tracker is not None:
            self._tracker.log(numbers, step=event["step"])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the log."""
        if self._file is not None:
            self._file.close()
        if self._board is not None:
            self._board.close()
        if self._tracker is not None:
            with contextlib.redirect_stdout(io.StringIO()):
                self._tracker.finish()


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


def _tracker(folder: Path) -> Any:
    """Trackio with a run named after the folder, on this machine alone; None where it is not installed or does not start."""
    if importlib.util.find_spec("trackio") is None:
        return None
    try:
        trackio: Any = importlib.import_module("trackio")
        with contextlib.redirect_stdout(io.StringIO()):  # what it prints would end up in the command's own output
            trackio.init(
                project=_PROJECT, name=folder.resolve().name, resume="allow", embed=False, auto_log_gpu=False, auto_log_cpu=False,
            )  # fmt: skip
    except Exception as error:  # a log beside the log is no reason to lose a run
        _log.warning("Trackio does not start (%s: %s); going on without it", type(error).__name__, error)
        return None
    return trackio
