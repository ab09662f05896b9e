from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from forthwith.cli.main import app
from forthwith.errors import ConfigError
from forthwith.serving.server import ModelChoice, ServerPlan
from forthwith.testing import tiny_causal_model, tiny_tokenizer


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[ServerPlan]:
    """The plans that the command would serve, instead of serving them."""
    served: list[ServerPlan] = []
    monkeypatch.setattr(
        "forthwith.serving.server.serve_here", lambda plan, listener: (served.append(plan), listener.close())
    )

    class Supervisor:
        def __init__(self, plans: list[ServerPlan], listener: Any, level: str) -> None:
            served.extend(plans)
            listener.close()

        def run(self) -> None:
            return

    monkeypatch.setattr("forthwith.serving.supervisor.Supervisor", Supervisor)
    return served


def serve(*arguments: str) -> Any:
    result = CliRunner().invoke(app, ["serve", "--port", "0", *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def choice(plan: ServerPlan) -> ModelChoice:
    return plan.load.__self__  # type: ignore[attr-defined]


def test_it_listens_on_loopback_and_says_nothing_of_keys(plans: list[ServerPlan]) -> None:
    result = serve()
    assert "http://127.0.0.1:" in result.stderr
    assert "warning" not in result.stderr
    assert plans[0].settings.keys == ()


def test_the_key_of_a_far_engine_comes_from_the_variable_that_is_named(
    plans: list[ServerPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_KEY", "far-secret")
    monkeypatch.delenv("NO_KEY", raising=False)
    result = serve("--engine-url", "http://127.0.0.1:1", "--engine-key-env", "FAR_KEY")
    assert choice(plans[0]).engine_key_env == "FAR_KEY"
    assert "far-secret" not in result.stderr + result.stdout + repr(plans[0])
    with pytest.raises(ConfigError, match="NO_KEY is not set"):
        serve("--engine-url", "http://127.0.0.1:1", "--engine-key-env", "NO_KEY")


def test_it_warns_when_strangers_can_reach_a_server_without_keys(plans: list[ServerPlan], tmp_path: Path) -> None:
    assert "no API keys are set" in " ".join(serve("--host", "0.0.0.0").stderr.split())
    keys = tmp_path / "keys.toml"
    CliRunner().invoke(app, ["new-key", "alice", "--keys", str(keys)])
    assert "warning" not in serve("--host", "0.0.0.0", "--keys", str(keys)).stderr
    assert plans[1].settings.keys[0].name == "alice"


def test_options_reach_the_settings(plans: list[ServerPlan]) -> None:
    serve("--max-wait", "60", "--batch-tokens", "99", "--max-tokens", "500", "--alias", "mine", "--no-playground")
    settings = plans[0].settings
    assert (settings.batch.wait_s, settings.batch.tokens, settings.limits.tokens) == (60, 99, 500)
    assert settings.aliases == ("jev-latest", "jev-preview", "mine")
    assert not settings.playground


def test_impossible_settings_are_refused_by_name(plans: list[ServerPlan]) -> None:
    with pytest.raises(ConfigError, match="wait_s must be above 0"):
        serve("--max-wait", "0")
    assert plans == []


def test_an_unknown_log_level_is_refused_with_those_there_are(plans: list[ServerPlan]) -> None:
    with pytest.raises(ConfigError, match="'loud'; use debug, info, warning, error") as caught:
        serve("--log-level", "loud")
    assert caught.value.field == "log_level"
    assert not plans


def test_one_process_a_device_or_worker(plans: list[ServerPlan]) -> None:
    serve("--devices", "cuda:0, cuda:1", "--model", "m")
    assert [(choice(plan).device, choice(plan).name) for plan in plans] == [("cuda:0", "m"), ("cuda:1", "m")]
    plans.clear()
    serve("--workers", "3")
    assert len(plans) == 3
    assert all((choice(plan).threads or 0) >= 1 for plan in plans)


def test_a_new_key_is_printed_once_and_kept_as_a_hash(tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    key = CliRunner().invoke(app, ["new-key", "alice", "--keys", str(keys)]).stdout.strip()
    assert re.fullmatch(r"fw_[\w-]{43}", key)
    assert key not in keys.read_text()
    assert tomllib.loads(keys.read_text())["keys"][0]["name"] == "alice"


@pytest.mark.slow
def test_the_command_serves_a_model_folder_until_it_is_told_to_stop(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    tiny_causal_model(layers=2).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    entry = "from forthwith.cli.main import run; run()"
    command = [sys.executable, "-c", entry, "serve", "--port", "0", "--model", str(folder), "--readout", "label"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    ) as process:
        assert process.stderr is not None
        lines = (json.loads(line) for line in process.stderr if line.startswith("{"))
        port = next(line["port"] for line in lines if line["message"] == "serving")
        body = {"state": "x", "questions": {"q": {"type": "noul", "instructions": "Is it?"}}}
        retrying = httpx.HTTPTransport(retries=5)
        with httpx.Client(transport=retrying) as client:
            assert client.post(f"http://127.0.0.1:{port}/v1/systemone", json=body).json()["model"] == "model"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
