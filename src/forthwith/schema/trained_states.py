"""Which states a model was trained on, small enough to travel with it: eight bytes of each state's hash, and nothing else of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from forthwith.errors import ArtifactError
from forthwith.schema.hashes import state_sha256
from forthwith.schema.records import Record

__all__ = ["TRAINED_STATES_NAME", "TrainedStates"]

TRAINED_STATES_NAME = "trained_states.bin"
_OPENING = b"FWSTATE1"
_BYTES = 8


@dataclass(frozen=True)
class TrainedStates:
    """States by the first 8 bytes of their `state_sha256`; two of a billion states share them with a chance of 3 in 100.

    Attributes:
        prefixes: 8 bytes each.
    """

    prefixes: frozenset[bytes] = frozenset()

    @staticmethod
    def of(records: Iterable[Record]) -> TrainedStates:
        """Those of records."""
        return TrainedStates(frozenset(_prefix(state_sha256(record.state)) for record in records))

    @staticmethod
    def read(path: str | Path) -> TrainedStates:
        """Those of a file.

        Raises:
            ArtifactError: the file cannot be read, or is another kind of file.
        """
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise ArtifactError(f"{path}: the states trained on cannot be read: {error}") from error
        if not data.startswith(_OPENING) or len(data) % _BYTES:
            raise ArtifactError(
                f"{path} is no list of states trained on, or it was cut off; take it again from its run"
            )
        return TrainedStates(frozenset(data[at : at + _BYTES] for at in range(len(_OPENING), len(data), _BYTES)))

    def to_bytes(self) -> bytes:
        """The file: 8 bytes that say what it is, then the prefixes in order."""
        return _OPENING + b"".join(sorted(self.prefixes))

    def __contains__(self, sha256: object) -> bool:
        """Whether a state of this `state_sha256` was trained on."""
        return isinstance(sha256, str) and _prefix(sha256) in self.prefixes

    def __len__(self) -> int:
        """Number of states."""
        return len(self.prefixes)

    def __or__(self, other: TrainedStates) -> TrainedStates:
        """States of either."""
        return TrainedStates(self.prefixes | other.prefixes)


def _prefix(sha256: str) -> bytes:
    return bytes.fromhex(sha256[: 2 * _BYTES])
