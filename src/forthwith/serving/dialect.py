"""What a wire dialect is: how it reads a body, shows a decision and tells of a failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from forthwith.decision import Decision
from forthwith.schema import Request
from forthwith.serving.failures import Failure

__all__ = ["Asked", "Dialect"]


@dataclass(frozen=True)
class Asked:
    """A request as a dialect read it, and how that dialect shows the decision.

    Attributes:
        request: what was asked.
        render: the body of the answer.
        families: question id to the family whose calibration and threshold apply, where the body names one.
    """

    request: Request
    render: Callable[[Decision], dict[str, Any]]
    families: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Dialect:
    """One wire format.

    Attributes:
        name: for metrics and traces.
        read: a decoded JSON body to what was asked; raises RequestError.
        render_failure: the body of an error.
    """

    name: str
    read: Callable[[object], Asked]
    render_failure: Callable[[Failure], dict[str, Any]]
