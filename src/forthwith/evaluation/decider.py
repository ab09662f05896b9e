"""What evaluation needs of a decision model: our own, or a remote one behind the same face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from forthwith.calibration import Binding
from forthwith.decision import Decision
from forthwith.schema import Request

__all__ = ["Decider", "Prepared", "is_remote"]


class Prepared(Protocol):
    """A request ready to be decided."""

    @property
    def tokens(self) -> int:
        """Tokens that deciding it runs through the model."""
        ...


P = TypeVar("P", bound=Prepared)


class Decider(Protocol[P]):
    """Prepares requests one by one and decides them in batches."""

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    @property
    def bundle_id(self) -> str:
        """Short hash of everything that an answer depends on."""
        ...

    @property
    def binding(self) -> Binding:
        """What log-scores depend on."""
        ...

    def prepare(self, request: Request, families: Mapping[str, str] | None = None) -> P:
        """A request turned to tokens.

        Raises:
            RequestError: it cannot be answered as it stands (`ContextTooLongError`: it is too long).
        """
        ...

    def decide_prepared(self, prepared: Sequence[P]) -> list[Decision]:
        """One decision a prepared request, in order.

        Raises:
            EngineError: the model or server failed; `retryable` says whether trying again can help.
        """
        ...


def is_remote(binding: Binding) -> bool:
    """Whether the weights are named by an address instead of a hash."""
    return binding.weights_sha256.startswith("remote:")
