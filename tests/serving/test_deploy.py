from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"


def unit() -> dict[str, str]:
    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(DEPLOY / "forthwith.service")
    return dict(parser["Service"])


def test_the_unit_runs_without_rights_on_a_read_only_system() -> None:
    service = unit()
    wanted = {
        "DynamicUser": "yes",
        "ProtectSystem": "strict",
        "NoNewPrivileges": "yes",
        "CapabilityBoundingSet": "",
        "KillSignal": "SIGTERM",
        "Restart": "always",
    }
    assert wanted.items() <= service.items()
    assert int(service["TimeoutStopSec"]) > 65  # longer than the server takes to answer what it has


@pytest.mark.parametrize("file", ["forthwith.service", "Dockerfile"])
def test_commands_in_deploy_files_name_options_that_exist(file: str) -> None:
    entry = "from forthwith.cli.main import run; run()"
    ran = subprocess.run(
        [sys.executable, "-c", entry, "serve", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"},
    )
    used = re.findall(r'(?:forthwith serve|"serve",)[^\n]*', (DEPLOY / file).read_text())
    assert used
    for option in re.findall(r"--[a-z-]+", " ".join(used)):
        assert option in ran.stdout


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_understands_the_unit() -> None:
    ran = subprocess.run(
        ["systemd-analyze", "verify", str(DEPLOY / "forthwith.service")], capture_output=True, text=True
    )
    assert "Unknown" not in ran.stderr


def test_the_image_runs_as_an_ordinary_user_and_is_checked() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    last_stage = text.split("\nFROM ")[-1]
    assert "\nUSER 10001\n" in last_stage
    assert "HEALTHCHECK" in last_stage
    assert "/healthz" in last_stage
    assert last_stage.index("USER") < last_stage.index("ENTRYPOINT")
