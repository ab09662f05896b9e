"""Many requests to a model, in batches, in order: the one loop for checks that ask more than a data file holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from forthwith.deciding import Decider
from forthwith.decision import Decision
from forthwith.errors import RequestError
from forthwith.evaluation.patience import Patience
from forthwith.schema import Request

__all__ = ["Asking", "ask_all"]

Tag = TypeVar("Tag")


class Asking(NamedTuple, Generic[Tag]):
    """A request with the caller's own tag, and the family of each question."""

    tag: Tag
    request: Request
    families: Mapping[str, str]


def ask_all(
    model: Decider,
    askings: Iterable[Asking[Tag]],
    *,
    batch_tokens: int = 16_384,
    batch_requests: int = 64,
    patience: Patience | None = None,
) -> Iterator[tuple[Tag, Decision | RequestError]]:
    """One decision a request, in order; a request that the model cannot read gives its error instead.

    Args:
        model: the model to ask.
        askings: streamed; only one batch is held.
        batch_tokens: most tokens decided together; a longer request goes alone.
        batch_requests: most requests decided together.
        patience: how long to try again what may succeed later.

    Raises:
        EngineError: the model failed.
    """
    patience = patience or Patience()
    batch: list[tuple[Tag, Any | RequestError]] = []
    tokens = 0
    for asking in askings:
        prepared, size = _prepare(model, asking)
        if batch and (tokens + size > batch_tokens or len(batch) >= batch_requests):
            yield from _decide(model, batch, patience)
            batch, tokens = [], 0
        batch.append((asking.tag, prepared))
        tokens += size
    if batch:
        yield from _decide(model, batch, patience)


def _prepare(model: Decider, asking: Asking[Any]) -> tuple[Any | RequestError, int]:
    try:
        prepared = model.prepare(asking.request, asking.families)
    except RequestError as error:
        return error, 0
    return prepared, int(prepared.tokens)


def _decide(
    model: Decider, batch: list[tuple[Tag, Any | RequestError]], patience: Patience
) -> list[tuple[Tag, Decision | RequestError]]:
    ready = [prepared for _, prepared in batch if not isinstance(prepared, RequestError)]
    decisions = iter(patience.call(lambda: model.decide_prepared(ready)) if ready else [])
    return [(tag, prepared if isinstance(prepared, RequestError) else next(decisions)) for tag, prepared in batch]
