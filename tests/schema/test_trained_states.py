"""States trained on are known again, from a file that says nothing else of them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.errors import ArtifactError
from forthwith.schema import parse_record, state_sha256
from forthwith.schema.trained_states import TrainedStates


def states(*texts: str) -> TrainedStates:
    record = {"questions": {"q": {"type": "noul", "instructions": "Late?"}}}
    return TrainedStates.of(parse_record({"id": text or "x", "state": text, **record}) for text in texts)


@given(st.lists(st.text(min_size=1, max_size=8), max_size=6), st.text(min_size=1, max_size=8))
def test_a_state_is_known_exactly_if_it_was_trained_on(trained: list[str], asked: str) -> None:
    found = states(*trained)
    assert (state_sha256(asked) in found) == (asked in trained)
    assert len(found) == len(set(trained))


def test_a_file_holds_eight_bytes_a_state_in_order(tmp_path: Path) -> None:
    found = states("b", "a", "a")
    data = found.to_bytes()
    assert len(data) == 8 + 2 * 8
    assert data[8:16] < data[16:]
    (tmp_path / "s.bin").write_bytes(data)
    assert TrainedStates.read(tmp_path / "s.bin") == found
    assert found | states("c") == states("c", "b", "a")


@pytest.mark.parametrize("data", [b"", b"something else", b"FWSTATE1half"])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "s.bin").write_bytes(data)
    with pytest.raises(ArtifactError, match="no list of states"):
        TrainedStates.read(tmp_path / "s.bin")
    with pytest.raises(ArtifactError, match="cannot be read"):
        TrainedStates.read(tmp_path / "none.bin")
