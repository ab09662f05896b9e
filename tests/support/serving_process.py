"""Server processes under test: started, asked, signalled, ended."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx

__all__ = ["QUESTIONS", "RunningServer", "body_of"]

QUESTIONS = {
    "lost": {"type": "noul", "instructions": "Is the parcel probably lost?"},
    "queue": {
        "type": "choice",
        "instructions": "Who should take this?",
        "criteria": {"carrier": "Ask the carrier", "refund": {"covers": ["money back"]}, "other": None},
    },
    "heat": {"type": "score", "instructions": "How upset?", "criteria": ["calm", "irritated", {"label": "furious"}]},
}


def body_of(state: Any, **extra: Any) -> dict[str, Any]:
    return {"model": "jev-latest", "state": state, "questions": QUESTIONS, **extra}


class RunningServer:
    """One server process. It has opened its port when the constructor returns (with workers: bound it)."""

    def __init__(self, options: dict[str, Any]) -> None:
        script = Path(__file__).parent / "tiny_server.py"
        self.process = subprocess.Popen(
            [sys.executable, str(script), json.dumps(options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.log: list[str] = []
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        line = self.process.stdout.readline()
        assert line, "\n".join(self.log)
        self.port = int(line)
        self.url = f"http://127.0.0.1:{self.port}"

    def decide(self, state: Any = "A parcel.", **options: Any) -> httpx.Response:
        return httpx.post(f"{self.url}/v1/systemone", json=body_of(state), timeout=30, **options)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def memory_bytes(self) -> int:
        text = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return int(text.split("VmRSS:")[1].split()[0]) * 1024

    def lines(self) -> list[dict[str, Any]]:
        """The logged lines so far."""
        return [json.loads(line) for line in list(self.log) if line.startswith("{")]

    def close(self) -> None:
        if self.process.poll() is None:
            self.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        self.log.extend(iter(self.process.stderr.readline, ""))
