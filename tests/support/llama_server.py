"""A llama.cpp server process on loopback, from the `xllamacpp` wheel: the reference for the default model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

_SERVE = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_parallel = 4096, 2
params.hostnames, params.port = ["127.0.0.1"], 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[2])
params.warmup = False
params.verbosity = 0
server = xllamacpp.Server(params)
print("listening " + server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def llama_server(gguf: Path, threads: int = 1) -> Iterator[str]:
    """Serve a GGUF file on a free loopback port; gives the server's address, ends the process afterwards."""
    command = [sys.executable, "-c", _SERVE, str(gguf), str(threads)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            lines = (line for line in process.stdout if line.startswith("listening "))
            yield next(lines).split(" ", 1)[1].strip()
        finally:
            process.kill()


def llama_tokenize(url: str, text: str) -> list[int]:
    """The ids that a llama.cpp server gives for a text, control tokens read as such."""
    answer = httpx.post(f"{url}/tokenize", json={"content": text, "add_special": False}, trust_env=False)
    return answer.raise_for_status().json()["tokens"]
