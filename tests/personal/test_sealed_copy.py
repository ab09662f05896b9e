"""A sealed copy opens with its key alone, and only unaltered."""

from __future__ import annotations

from pathlib import Path

import pytest

from forthwith.errors import ArtifactError, ConfigError, DataError
from forthwith.personal.pseudonyms import ReleaseKey
from forthwith.personal.sealed_copy import open_sealed, seal_file

KEY = ReleaseKey.fresh()


def test_it_opens_with_its_key_to_the_same_bytes(tmp_path: Path):
    plain = tmp_path / "hidden.jsonl"
    plain.write_bytes(b'{"id": "pd/hidden/1/0"}\n' * 1000)
    sealed = seal_file(plain, tmp_path / "hidden.sealed", KEY)
    assert b"hidden/1/0" not in sealed.read_bytes()
    assert open_sealed(sealed, tmp_path / "again.jsonl", KEY).read_bytes() == plain.read_bytes()


@pytest.mark.parametrize("damage", ["cut", "altered", "key"])
def test_a_cut_or_altered_copy_or_another_key_is_refused_and_nothing_is_written(tmp_path: Path, damage: str):
    (tmp_path / "a").write_bytes(b"x" * 500)
    sealed = seal_file(tmp_path / "a", tmp_path / "b", KEY)
    content = sealed.read_bytes()
    key = ReleaseKey.fresh() if damage == "key" else KEY
    if damage == "cut":
        sealed.write_bytes(content[:-40])
    elif damage == "altered":
        sealed.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    with pytest.raises(ArtifactError, match="does not open"):
        open_sealed(sealed, tmp_path / "c", key)
    assert not (tmp_path / "c").exists()


def test_short_keys_and_missing_files_are_named(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(ConfigError, match="64 hexadecimal digits"):
        seal_file(tmp_path / "a", tmp_path / "b", ReleaseKey.from_hex("0f" * 16))
    with pytest.raises(DataError, match="cannot be read"):
        seal_file(tmp_path / "none", tmp_path / "b", KEY)
