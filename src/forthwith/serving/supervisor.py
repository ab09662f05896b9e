"""Several serving processes behind one port: started, watched, restarted when they die, replaced in turn on SIGHUP."""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event
from pathlib import Path

from prometheus_client.multiprocess import mark_process_dead  # pyright: ignore[reportUnknownVariableType]

from forthwith.serving.metrics import MULTIPROCESS_VARIABLE
from forthwith.serving.request_log import configure_logging
from forthwith.serving.server import ServerPlan, serve_here

__all__ = ["Supervisor"]

_log = logging.getLogger("forthwith.serving")
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_STEADY_S = 60.0


@dataclass
class _Worker:
    plan: ServerPlan
    process: SpawnProcess | None = None
    ready: Event | None = None
    started: float = 0.0
    pause_s: float = _FIRST_PAUSE_S
    due: float = 0.0


@dataclass
class _Signals:
    stop: bool = False
    reload: bool = False
    woken: threading.Event = field(default_factory=threading.Event)


class Supervisor:
    """Keeps one process a plan alive on one listening socket.

    Args:
        plans: what each process serves; usually the same model on different devices.
        listener: bound, shared by all, so that a dying process loses nobody who still waits to be accepted.
        log_level: of the supervisor itself.
    """

    def __init__(self, plans: Sequence[ServerPlan], listener: socket.socket, log_level: str = "info") -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="forthwith-"))
        shared = str(self._folder / "rates")
        self._workers = [_Worker(replace(p, settings=replace(p.settings, rate_file=shared))) for p in plans]
        self._listener = listener
        self._signals = _Signals()
        configure_logging(log_level)

    def run(self) -> None:
        """Supervise until SIGTERM or SIGINT; then every process answers what it has, and this returns."""
        os.environ[MULTIPROCESS_VARIABLE] = str(self._folder)
        for number, act in {signal.SIGTERM: self._stop, signal.SIGINT: self._stop, signal.SIGHUP: self._reload}.items():
            signal.signal(number, act)
        try:
            while not self._signals.stop:
                self._tend()
                self._signals.woken.wait(timeout=0.2)
                self._signals.woken.clear()
            self._end_all()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _tend(self) -> None:
        if self._signals.reload:
            self._signals.reload = False
            self._replace_all()
        now = time.monotonic()
        for number, worker in enumerate(self._workers):
            if worker.process is not None and worker.process.exitcode is not None:
                self._note_death(number, worker, now)
            if worker.process is None and now >= worker.due:
                self._start(worker)

    def _note_death(self, number: int, worker: _Worker, now: float) -> None:
        dead = worker.process
        steady = now - worker.started > _STEADY_S
        worker.pause_s = _FIRST_PAUSE_S if steady else min(_LONGEST_PAUSE_S, worker.pause_s * 2)
        worker.due = now + worker.pause_s
        worker.process = None
        fields = {"worker": number, "exit": dead.exitcode if dead else None, "restart_in_s": worker.pause_s}
        _log.error("a worker died", extra={"fields": fields})
        if dead is not None and dead.pid is not None:
            _forget_metrics(dead.pid)

    def _start(self, worker: _Worker) -> None:
        context = multiprocessing.get_context("spawn")
        worker.ready = context.Event()
        worker.process = context.Process(
            target=_serve_below, args=(worker.plan, self._listener, worker.ready), name="forthwith-worker"
        )
        worker.process.start()
        worker.started = time.monotonic()

    def _replace_all(self) -> None:
        """One by one: an old process leaves when the new one is ready, and stays when that fails."""
        _log.info("reloading")
        for worker in self._workers:
            old = worker.process
            self._start(worker)
            new = worker.process
            while new is not None and new.exitcode is None and worker.ready and not worker.ready.wait(0.2):
                continue
            if new is not None and new.exitcode is not None:
                _log.error(
                    "the reloaded worker did not come up; the old one stays", extra={"fields": {"exit": new.exitcode}}
                )
                worker.process = old
            elif old is not None:
                _end(old, worker.plan)

    def _end_all(self) -> None:
        processes = [worker.process for worker in self._workers if worker.process is not None]
        for process in processes:
            process.terminate()
        for worker in self._workers:
            if worker.process is not None:
                _end(worker.process, worker.plan)

    def _stop(self, *_: object) -> None:
        self._signals.stop = True
        self._signals.woken.set()

    def _reload(self, *_: object) -> None:
        self._signals.reload = True
        self._signals.woken.set()


def _serve_below(plan: ServerPlan, listener: socket.socket, ready: Event) -> None:
    """Serve in a worker process; it leaves when its supervisor is gone."""
    threading.Thread(target=_follow_parent, daemon=True).start()
    serve_here(plan, listener, ready.set)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _end(process: SpawnProcess, plan: ServerPlan) -> None:
    """SIGTERM, the time that draining takes, then SIGKILL."""
    process.terminate()
    process.join(plan.drain_s + plan.answer_s + 5)
    if process.exitcode is None:
        process.kill()
        process.join()
    if process.pid is not None:
        _forget_metrics(process.pid)


def _forget_metrics(pid: int) -> None:
    mark_process_dead(pid)
