from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from forthwith.errors import ConfigError
from forthwith.serving.failures import HttpError
from forthwith.serving.keys import ApiKey, KeyRing, add_key, read_keys


def test_a_made_key_lets_its_holder_in_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    alice, bob = add_key(file, "alice"), add_key(file, "bob")
    ring = KeyRing(read_keys(file))
    assert ring.holder(f"Bearer {alice}") == ApiKey("alice", hashlib.sha256(alice.encode()).hexdigest())
    holder = ring.holder(f"bearer  {bob} ")
    assert holder is not None
    assert holder.name == "bob"
    assert alice not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic abc", "Bearer wrong", "Bearer \udcff"])
def test_others_stay_out(header: str | None) -> None:
    with pytest.raises(HttpError) as caught:
        KeyRing([ApiKey("alice", "0" * 64)]).holder(header)
    assert caught.value.failure.status == 401
    assert caught.value.failure.kind == "authentication_error"


def test_without_keys_any_header_is_accepted() -> None:
    assert KeyRing(()).holder("Bearer anything") is None
    assert KeyRing(()).holder(None) is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "holds no"),
        ("[[keys]", "cannot be read"),
        ('[[keys]]\nsha256 = "00"', "key 1 has no name"),
        ('[[keys]]\nname = "a"\nsha256 = "00"', "64 hexadecimal digits"),
        (f'[[keys]]\nname = "a"\nsha256 = "{"0" * 64}"\nrate = 3', "unknown member 'rate'"),
        (f'[[keys]]\nname = "a"\nsha256 = "{"0" * 64}"\nrequests_per_minute = 0', "above 0, found 0"),
        (f'[[keys]]\nname = "a"\nsha256 = "{"0" * 64}"\n' * 2, "appears twice"),
    ],
)
def test_a_wrong_keys_file_says_what_is_wrong(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=complaint):
        read_keys(file)


def test_a_name_is_given_once(tmp_path: Path) -> None:
    add_key(tmp_path / "keys.toml", "alice")
    with pytest.raises(ConfigError, match="already"):
        add_key(tmp_path / "keys.toml", "alice")
    with pytest.raises(ConfigError, match="no quotes"):
        add_key(tmp_path / "keys.toml", 'a"b')
