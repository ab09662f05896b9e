"""The official clients and the field's own suites against a real server process.

They are installed apart from this project: `FORTHWITH_CLIENTS_PYTHON` names a Python that has typesafe-sdk[zstd], jevcompat,
jevbench, schemathesis, openai and openrouter (default: the one that runs the tests), `FORTHWITH_CLIENTS_NODE` a folder whose node_modules
hold @typesafe-ai/sdk (default: the current one).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from serving_process import RunningServer

from forthwith.serving.keys import new_key

pytestmark = pytest.mark.clients

SCRIPTS = Path(__file__).parents[1] / "support" / "clients"
PYTHON = Path(os.environ.get("FORTHWITH_CLIENTS_PYTHON", sys.executable))
NODE = Path(os.environ.get("FORTHWITH_CLIENTS_NODE", ".")).resolve()


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    loopback = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", "NO_COLOR": "1"}
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=200,
        env=os.environ | loopback | environment,
        check=False,
    )


def tool(name: str) -> str:
    return str(PYTHON.parent / name)


@pytest.mark.parametrize("script", ["python_client.py", "openai_client.py", "openrouter_client.py"])
def test_the_official_python_clients_decide(server: RunningServer, tmp_path: Path, script: str) -> None:
    ran = run([str(PYTHON), str(SCRIPTS / script), server.url], tmp_path)
    assert "all is well" in ran.stdout, ran.stdout + ran.stderr


def test_the_official_javascript_client_decides(server: RunningServer, tmp_path: Path) -> None:
    shutil.copy(SCRIPTS / "check.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(NODE / "node_modules")
    ran = run(["node", "check.mjs", server.url], tmp_path)
    assert "all is well" in ran.stdout, ran.stdout + ran.stderr


def test_a_rate_limited_client_waits_as_it_is_told(start_server: Callable[..., RunningServer], tmp_path: Path) -> None:
    key, lines = new_key("alice")
    server = start_server(keys=[{"name": "alice", "sha256": lines.split('"')[3], "requests_per_minute": 60}])
    script = (
        "import sys; from typesafe_sdk import TypeSafeClient, Noul\n"
        "with TypeSafeClient(api_key=sys.argv[2], base_url=sys.argv[1]) as client:\n"
        "    for _ in range(62): client.system_one(state='x', questions={'q': Noul(instructions='y')})\n"
        "print('all is well')"
    )
    ran = run([str(PYTHON), "-c", script, server.url, key], tmp_path)
    assert "all is well" in ran.stdout, ran.stdout + ran.stderr
    assert 429 in [line.get("status") for line in server.lines()]


def test_the_conformance_suite_passes_every_must_and_should(server: RunningServer, tmp_path: Path) -> None:
    ran = run([tool("jevcompat"), "test", server.url], tmp_path)
    assert "MUST 32/32, SHOULD 13/13" in ran.stdout.splitlines()[-1], ran.stdout
    assert ran.returncode == 0


def test_the_conformance_suite_passes_with_a_key(start_server: Callable[..., RunningServer], tmp_path: Path) -> None:
    key, lines = new_key("suite")
    server = start_server(keys=[{"name": "suite", "sha256": lines.split('"')[3]}])
    ran = run([tool("jevcompat"), "test", server.url, "--key", key], tmp_path)
    assert "MUST 32/32, SHOULD 15/15" in ran.stdout.splitlines()[-1], ran.stdout
    assert ran.returncode == 0


def test_the_coherence_bench_runs(server: RunningServer, tmp_path: Path) -> None:
    asked = ["--url", f"{server.url}/v1/systemone", "--model", "jev-latest"]
    check = run([tool("jevbench"), "check", *asked], tmp_path, JEVBENCH_API_KEY="none")
    assert check.returncode == 0, check.stdout + check.stderr
    ran = run(
        [tool("jevbench"), "eval", *asked, "--suite", "examples", "--out", "ex.json"], tmp_path, JEVBENCH_API_KEY="none"
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads((tmp_path / "ex.json").read_text())


@pytest.mark.parametrize(
    "selection",
    [
        ["--exclude-path", "/v1/decisions"],
        # that values must be unique is more than JSON Schema can say of a list of objects
        ["--include-path", "/v1/decisions", "--exclude-checks", "positive_data_acceptance"],
    ],
)
def test_the_api_document_holds_for_generated_requests(
    server: RunningServer, tmp_path: Path, selection: list[str]
) -> None:
    addresses = [f"{server.url}/openapi.json", "--url", server.url]
    options = ["--mode", "all", "--max-examples", "40", "--seed", "1", "--phases", "examples,coverage,fuzzing"]
    ran = run([tool("schemathesis"), "run", *addresses, *options, *selection], tmp_path)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert not [line for line in server.lines() if line.get("status") == 500]
