from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from serving_process import RunningServer

pytestmark = pytest.mark.slow


def up(server: RunningServer, seconds: float = 60) -> bool:
    pause = threading.Event()
    for _ in range(int(seconds / 0.1)):
        try:
            if httpx.get(f"{server.url}/readyz", timeout=2).status_code == 200:
                return True
        except httpx.TransportError:
            pause.wait(0.1)
    return False


def workers(server: RunningServer) -> set[int]:
    """The process ids of the workers that serve now."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    serving = {line["pid"] for line in server.lines() if line["message"] == "serving"}
    return serving & {int(child) for child in children}


def until_serving(server: RunningServer, holds: Callable[[set[int]], bool], seconds: float = 60) -> set[int]:
    pause = threading.Event()
    for _ in range(int(seconds / 0.1)):
        if holds(workers(server)):
            return workers(server)
        pause.wait(0.1)
    raise AssertionError("\n".join(server.log[-20:]))


def test_a_killed_worker_is_replaced_a_reload_replaces_all_and_nobody_is_turned_away(
    start_server: Callable[..., RunningServer],
) -> None:
    server = start_server(workers=2)
    assert up(server)
    first = until_serving(server, lambda pids: len(pids) == 2)
    victim = min(first)
    os.kill(victim, signal.SIGKILL)
    statuses = [
        server.decide(number).status_code for number in map(str, range(20))
    ]  # new connections: the other answers
    assert set(statuses) == {200}
    second = until_serving(server, lambda pids: len(pids) == 2 and victim not in pids)
    assert first - {victim} < second
    died = next(line for line in server.lines() if line["message"] == "a worker died")
    assert died["exit"] == -9
    counted = httpx.get(f"{server.url}/metrics").text  # of all processes, the dead one too
    total = next(line for line in counted.splitlines() if 'requests_total{route="systemone",status="200"}' in line)
    assert float(total.split()[1]) == 20

    server.process.send_signal(signal.SIGHUP)
    until_serving(server, lambda pids: len(pids) == 2 and not pids & second)
    assert server.decide().status_code == 200

    server.terminate()
    assert server.process.wait(30) == 0


def test_workers_leave_when_their_supervisor_is_killed(start_server: Callable[..., RunningServer]) -> None:
    server = start_server(workers=2)
    assert up(server)
    pids = until_serving(server, lambda pids: len(pids) == 2)
    server.process.kill()
    server.process.wait()
    pause = threading.Event()
    for _ in range(200):
        if not [pid for pid in pids if Path(f"/proc/{pid}").exists()]:
            break
        pause.wait(0.1)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
