"""Stand-ins keep the shape of a name and depend on the key."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.errors import ConfigError, DataError
from forthwith.personal.privacy_names import FIRST_NAMES
from forthwith.personal.pseudonyms import GIVEN_NAMES, SURNAMES, ReleaseKey, pseudonym

KEY = ReleaseKey.from_hex("0123456789abcdef" * 2)


def test_the_same_person_is_the_same_stand_in_in_every_shape():
    given, surname = pseudonym("Kevin Marsh", KEY).split()
    assert given in GIVEN_NAMES
    assert surname in SURNAMES
    assert pseudonym("KEVIN MARSH", KEY) == f"{given.upper()} {surname.upper()}"
    assert pseudonym("Marsh, Kevin", KEY) == f"{surname}, {given}"
    assert pseudonym("Mr. Marsh", KEY) == f"Mr. {surname}"
    assert pseudonym("Dr Kevin Marsh", KEY) == f"Dr {given} {surname}"
    with_initial = pseudonym("Kevin Q. Marsh", KEY)
    assert (with_initial.split()[0], with_initial.split()[2]) == (given, surname)


def test_chinese_names_keep_their_length_and_script():
    assert len(pseudonym("张伟", KEY)) == 2
    assert pseudonym("张伟", KEY)[0] == pseudonym("张", KEY)
    assert pseudonym("张伟", KEY) != "张伟"


def test_another_key_gives_other_names_and_ids():
    other = ReleaseKey.fresh()
    assert pseudonym("Kevin Marsh", KEY) != pseudonym("Kevin Marsh", other)
    assert KEY.user_id("u") != other.user_id("u")
    assert (len(KEY.user_id("u")), KEY.user_id("u")) == (16, KEY.user_id("u"))


def test_there_are_many_pairs_and_no_stand_in_is_a_frequent_given_name():
    assert len(set(GIVEN_NAMES)) == len(GIVEN_NAMES)
    assert len(set(SURNAMES)) == len(SURNAMES)
    assert len(GIVEN_NAMES) * len(SURNAMES) > 200_000
    assert not {name.lower() for name in GIVEN_NAMES} & FIRST_NAMES


@given(st.from_regex(r"[A-Z][a-z]{1,9} [A-Z][a-z]{1,9}", fullmatch=True))
def test_no_name_stands_in_for_itself(name: str):
    given, surname = name.split()
    new_given, new_surname = pseudonym(name, KEY).split()
    assert new_surname.lower() != surname.lower()
    assert given == surname or new_given.lower() != given.lower()


def test_key_files_are_made_once_private_and_checked(tmp_path: Path):
    path = tmp_path / "keys" / "release.key"
    first = ReleaseKey.load(path)
    assert ReleaseKey.load(path) == first
    assert path.stat().st_mode & 0o077 == 0
    assert first.secret.hex() not in repr(first)
    path.write_text("short")
    with pytest.raises(ConfigError, match="hexadecimal"):
        ReleaseKey.load(path)
    with pytest.raises(DataError):
        ReleaseKey.load(tmp_path)
