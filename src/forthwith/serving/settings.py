"""Everything an operator may set, in frozen values with every default once. Built at the edge and passed explicitly."""

from __future__ import annotations

from dataclasses import dataclass, field

from forthwith.errors import ConfigError
from forthwith.serving.keys import ApiKey
from forthwith.serving.scheduler import BatchLimits

__all__ = ["DEFAULT_ALIASES", "RequestLimits", "ServingSettings"]

DEFAULT_ALIASES = ("jev-latest", "jev-preview")
"""Names that official clients ask for by default; all stand for the served model."""


@dataclass(frozen=True)
class RequestLimits:
    """What one request, and all requests together, may take.

    Attributes:
        body_bytes: largest body, as sent and after decompression.
        tokens: most tokens of one request; each path through it must also fit the model.
        in_flight: most requests between headers and answer.
        buffered_bytes: most bytes of bodies held at once.
        body_s: how long a client may take to send its body.
        headers_s: how long a connection may take to send a request's headers.
        keep_alive_s: how long an idle connection is kept; above the 30 s that clients keep theirs.
        connections: most open connections.
        stuck_s: a batch that runs longer than this makes the health check fail.
    """

    body_bytes: int = 4 << 20
    tokens: int = 64_000
    in_flight: int = 2048
    buffered_bytes: int = 256 << 20
    body_s: float = 30.0
    headers_s: float = 15.0
    keep_alive_s: float = 75.0
    connections: int = 16_384
    stuck_s: float = 600.0


@dataclass(frozen=True)
class ServingSettings:
    """How to serve.

    Attributes:
        keys: who may ask; nobody is asked for a key when empty.
        aliases: names that stand for the model, beside its own.
        cors_origins: web origins that browsers may call from; none by default.
        release_date: what the list of models says, YYYY-MM-DD; None takes the date of the weights' files.
        playground: whether `/` serves the page to try the model on.
        rate_file: file that worker processes share for the counts of rate limits; None within one process.
    """

    limits: RequestLimits = field(default_factory=RequestLimits)
    batch: BatchLimits = field(default_factory=BatchLimits)
    keys: tuple[ApiKey, ...] = ()
    aliases: tuple[str, ...] = DEFAULT_ALIASES
    cors_origins: tuple[str, ...] = ()
    release_date: str | None = None
    playground: bool = True
    rate_file: str | None = None

    def __post_init__(self) -> None:
        numbers = {
            **vars(self.limits),
            **{name: value for name, value in vars(self.batch).items() if name != "gather_s"},
        }
        for name, value in numbers.items():
            if value <= 0:
                raise ConfigError(f"{name} must be above 0, found {value!r}", name)
        if self.batch.gather_s < 0:
            raise ConfigError(f"gather_s must be 0 or more, found {self.batch.gather_s!r}", "gather_s")
