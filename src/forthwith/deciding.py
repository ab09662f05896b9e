"""Streams of requests through anything that decides: batched by token budget, in order, one bad request never stops the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from forthwith.calibration import Binding
from forthwith.coherence import LinkedRequest, coherent_answers, link_request
from forthwith.decision import Decision, confidence
from forthwith.errors import ForthwithError, RequestError
from forthwith.schema import BadLine, Record, Request, parse_request

__all__ = ["CoherentDecider", "Decided", "Decider", "DecidesEach", "Failed", "Prepared", "decide_each", "decide_stream"]

BATCH_TOKENS = 16_384
BATCH_REQUESTS = 64


class Prepared(Protocol):
    """A request ready to be decided."""

    @property
    def tokens(self) -> int:
        """Tokens that deciding it runs through the model when nothing is cached."""
        ...


class Decider(Protocol):
    """What decides: a local `Model`, or a remote decision API behind the same face."""

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

    def prepare(self, request: Request | Record | Mapping[str, Any], families: Mapping[str, str] | None = None) -> Any:
        """A checked request, ready for a batch; raises `RequestError`."""
        ...

    def decide_prepared(self, prepared: Sequence[Any]) -> list[Decision]:
        """One decision a prepared request, in order; raises `EngineError`."""
        ...


@runtime_checkable
class DecidesEach(Protocol):
    """What can refuse one request of a batch and answer the others: a server, which sees each request by itself."""

    def decide_each(self, prepared: Sequence[Any]) -> list[Decision | RequestError]:
        """One decision a prepared request, in order, or the error of the request that is refused; raises `EngineError`."""
        ...


@dataclass(frozen=True)
class Decided:
    """A record and the decision on it."""

    record: Record
    decision: Decision


@dataclass(frozen=True)
class Failed:
    """A line or record that could not be decided, and why."""

    error: ForthwithError
    record: Record | None = None
    line: int | None = None


def decide_stream(
    decider: Decider, records: Iterable[Record | BadLine], *, keep_going: bool = False, batch_tokens: int = BATCH_TOKENS
) -> Iterator[Decided | Failed]:
    """One outcome a record, in order, read lazily; those before a bad one are given before its error is raised.

    Raises:
        DataError: at the first bad line, unless `keep_going`.
        RequestError: at the first record that cannot be answered, unless `keep_going`; the record is named.
    """
    pending: list[tuple[Record, Any] | Failed] = []
    tokens = 0
    for item in records:
        entry = _prepare(decider, item)
        cost = 0 if isinstance(entry, Failed) else entry[1].tokens
        if pending and (tokens + cost > batch_tokens or len(pending) == BATCH_REQUESTS):
            yield from _decide_batch(decider, pending, keep_going=keep_going)
            pending, tokens = [], 0
        pending.append(entry)
        tokens += cost
        if isinstance(entry, Failed) and not keep_going:
            break
    yield from _decide_batch(decider, pending, keep_going=keep_going)


def _prepare(decider: Decider, item: Record | BadLine) -> tuple[Record, Any] | Failed:
    if isinstance(item, BadLine):
        return Failed(item.error, line=item.line)
    try:
        return item, decider.prepare(item)
    except RequestError as error:
        return Failed(_named(error, item.id), record=item)


def _decide_batch(
    decider: Decider, pending: Sequence[tuple[Record, Any] | Failed], *, keep_going: bool
) -> Iterator[Decided | Failed]:
    prepared = [entry[1] for entry in pending if not isinstance(entry, Failed)]
    outcomes = iter(decide_each(decider, prepared))
    for entry in pending:
        result = entry if isinstance(entry, Failed) else _outcome(entry[0], next(outcomes))
        if isinstance(result, Failed) and not keep_going:
            raise result.error
        yield result


def _outcome(record: Record, outcome: Decision | RequestError) -> Decided | Failed:
    if isinstance(outcome, RequestError):
        return Failed(_named(outcome, record.id), record=record)
    return Decided(record, outcome)


def decide_each(decider: Decider, prepared: Sequence[Any]) -> list[Decision | RequestError]:
    """One decision a prepared request, or the reason why that one request is refused; a refusal is never another's.

    Raises:
        EngineError: the model or server failed.
    """
    if not prepared:
        return []
    if isinstance(decider, DecidesEach):
        return decider.decide_each(prepared)
    try:
        return [*decider.decide_prepared(prepared)]
    except RequestError as error:
        if len(prepared) == 1:
            return [error]
    return [outcome for item in prepared for outcome in decide_each(decider, [item])]


def _named(error: RequestError, record_id: str) -> RequestError:
    return RequestError(f"record {record_id}: {error}", error.problems)


@dataclass(frozen=True)
class _LinkedPrepared:
    """A request with the siblings of its questions, prepared by the decider within."""

    linked: LinkedRequest
    within: Any

    @property
    def tokens(self) -> int:
        """Tokens of the request, siblings included."""
        return int(self.within.tokens)


@dataclass(frozen=True)
class CoherentDecider:
    """A decider whose answers are those of another, moved to the nearest coherent ones.

    Every question is asked together with its siblings (a choice and its options, a yes/no question and its negation, a score and its
    thresholds), and the caller gets the projection. Thresholds and calibrations were fitted without it: nothing is automated.

    Attributes:
        decider: who answers.
        weight: of the primary question in the projection; 1 treats it as its siblings, more trusts it more.
    """

    decider: Decider
    weight: float = 1.0

    @property
    def name(self) -> str:
        """Name of the model within."""
        return self.decider.name

    @property
    def bundle_id(self) -> str:
        """The bundle id within, marked with the weight."""
        return f"{self.decider.bundle_id}+coherent({self.weight:g})"

    @property
    def binding(self) -> Binding:
        """The binding within."""
        return self.decider.binding

    def prepare(
        self, request: Request | Record | Mapping[str, Any], families: Mapping[str, str] | None = None
    ) -> _LinkedPrepared:
        """A request and its siblings, ready for a batch; raises `RequestError`."""
        if isinstance(request, Record):
            families = request.known_families() if families is None else families
            request = request.request
        linked = link_request(parse_request(request))
        return _LinkedPrepared(linked, self.decider.prepare(linked.request, families))

    def decide_prepared(self, prepared: Sequence[_LinkedPrepared]) -> list[Decision]:
        """One coherent decision a prepared request, in order; raises `EngineError`."""
        decisions = self.decider.decide_prepared([item.within for item in prepared])
        return [self._projected(item.linked, decision) for item, decision in zip(prepared, decisions, strict=True)]

    def _projected(self, linked: LinkedRequest, decision: Decision) -> Decision:
        probabilities = {qid: answer.probabilities for qid, answer in decision.answers.items()}
        coherent = coherent_answers(linked, probabilities, weight=self.weight)
        answers = {
            qid: replace(
                decision[qid],
                probabilities=distribution,
                confidence=confidence(decision[qid].type, distribution),
                verdict=None if decision[qid].verdict is None else "ask",
            )
            for qid, distribution in coherent.items()
        }
        return replace(decision, answers=answers, calibrated=False, bundle_id=self.bundle_id)
