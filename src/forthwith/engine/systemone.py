"""A remote System One API as a decision model: requests over HTTP, answers back as probabilities and log-scores.

Shows the same face as a local model (`prepare`, `decide_prepared`), so that evaluation, comparison and hand-off take
either. What a server rounds away is said in `lost_mass`, never hidden.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from forthwith.calibration import Binding, softmax
from forthwith.decision import Answer, Decision, Usage, confidence
from forthwith.engine.server_calls import CallSettings, ServerCalls, ServerRefusalError
from forthwith.engine.systemone_wire import WireAnswer, read_reply, request_body
from forthwith.errors import EngineError, RequestError
from forthwith.schema import Record, Request, option_keys, parse_request

__all__ = ["RemoteRequest", "SystemOneEngine", "Totals"]

_REFUSED_REQUEST = frozenset({400, 413, 422})
_BYTES_PER_TOKEN = 4
_ROUTES = ("/systemone", "/decisions")


@dataclass(frozen=True)
class RemoteRequest:
    """A checked request and its body, ready to be sent."""

    request: Request
    families: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def tokens(self) -> int:
        """About how many tokens it is: a token for every four bytes. The server's own count comes with the answer."""
        return len(json.dumps(self.body, ensure_ascii=False).encode()) // _BYTES_PER_TOKEN + 1


@dataclass(frozen=True)
class Totals:
    """What a remote model was asked and what it cost so far; `cost` in the server's currency, where it tells."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


class SystemOneEngine:
    """A decision model behind `POST /v1/systemone`.

    Args:
        url: the server's address (a path prefix is kept), or the full address of its route.
        model: the model's name there.
        api_key: sent as a bearer token.
        settings: patience, concurrency, compression; `url` and `api_key` in it give way to the ones above.
        calls: a connection to use instead.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str = "jev-latest",
        api_key: str | None = None,
        settings: CallSettings | None = None,
        calls: ServerCalls | None = None,
    ) -> None:
        base, self._route = _split(url)
        self.url = base
        self.name = model
        self._calls = calls or ServerCalls(replace(settings or CallSettings(base), url=base, api_key=api_key))
        self._lock = threading.Lock()
        self._totals = Totals()
        self._answered_by: str | None = None

    @property
    def binding(self) -> Binding:
        """What log-scores depend on: the address and the name; what stands behind them cannot be hashed."""
        return Binding(
            weights_sha256=f"remote:{self.url}#{self.name}",
            adapter_sha256=None,
            template_sha256="remote",
            readout="remote",
            precision="remote",
        )

    @property
    def bundle_id(self) -> str:
        """Twelve hexadecimal digits of the address and the name."""
        return hashlib.sha256(self.binding.weights_sha256.encode()).hexdigest()[:12]

    @property
    def totals(self) -> Totals:
        """Requests answered so far, their tokens and cost."""
        return self._totals

    def close(self) -> None:
        """Close the connections."""
        self._calls.close()

    def models(self) -> list[str]:
        """Names that the server lists.

        Raises:
            EngineError: it cannot be reached or does not list any.
        """
        listed: Any = self._calls.get("/v1/models").get("models")
        if not isinstance(listed, list):
            raise EngineError(f"{self.url}/v1/models lists no models")
        rows = cast("list[Any]", listed)
        return [str(cast("dict[str, Any]", row).get("name")) for row in rows if isinstance(row, dict)]

    def prepare(
        self, request: Request | Record | Mapping[str, Any], families: Mapping[str, str] | None = None
    ) -> RemoteRequest:
        """A checked request, ready to be sent.

        Raises:
            RequestError: names the field at fault.
        """
        if isinstance(request, Record):
            families = {qid: request.family(qid) for qid in request.questions} if families is None else families
            request = request.request
        checked = parse_request(request)
        return RemoteRequest(checked, families or {}, request_body(checked, self.name))

    def decide(
        self, state: Any, questions: Mapping[str, Any] | None = None, *, families: Mapping[str, str] | None = None
    ) -> Decision:
        """The answers to typed questions about one state; arguments as `Model.decide`.

        Raises:
            RequestError: the request is wrong, or the server refuses it.
            EngineError: the server failed.
        """
        request = state if questions is None else {"state": state, "questions": dict(questions)}
        return self.decide_prepared([self.prepare(request, families)])[0]

    def decide_prepared(self, prepared: Sequence[RemoteRequest]) -> list[Decision]:
        """One decision a request, in order, several requests at a time.

        Raises:
            RequestError: the server refuses a request.
            OverloadedError: it stayed busy.
            EngineError: it failed, broke the contract, or another model than before answered.
        """
        return self._calls.map(self._decide, prepared)

    def decide_each(self, prepared: Sequence[RemoteRequest]) -> list[Decision | RequestError]:
        """As `decide_prepared`, with the server's refusal in place of the answer to a request that it refuses.

        Raises:
            OverloadedError, EngineError: as `decide_prepared`.
        """
        return self._calls.map(self._decide_or_refusal, prepared)

    def _decide_or_refusal(self, prepared: RemoteRequest) -> Decision | RequestError:
        try:
            return self._decide(prepared)
        except RequestError as refusal:
            return refusal

    def _decide(self, prepared: RemoteRequest) -> Decision:
        started = time.perf_counter()
        try:
            payload = self._calls.post(self._route, prepared.body)
        except ServerRefusalError as error:
            if error.status in _REFUSED_REQUEST:
                raise RequestError(f"{self.url} refuses the request: {error.reason}") from error
            raise
        reply = read_reply(payload, prepared.request)
        latency_ms = (time.perf_counter() - started) * 1000
        self._count(reply.model, reply.input_tokens, reply.output_tokens, reply.cost)
        return Decision(
            answers={qid: _answer(answer, prepared, qid) for qid, answer in reply.answers.items()},
            model=reply.model,
            calibrated=reply.is_calibrated,
            usage=Usage(reply.input_tokens, reply.cached_tokens, len(reply.answers), latency_ms),
            bundle_id=reply.bundle_id or self.bundle_id,
            extra={"cost": reply.cost} if reply.cost else {},
        )

    def _count(self, model: str, input_tokens: int, output_tokens: int, cost: float) -> None:
        with self._lock:
            if self._answered_by not in (None, model):
                raise EngineError(
                    f"{self.url} answered as {self._answered_by!r} before and as {model!r} now; answers of two "
                    "models must not be mixed: ask for a pinned model name"
                )
            self._answered_by = model
            told = self._totals
            self._totals = Totals(
                told.requests + 1,
                told.input_tokens + input_tokens,
                told.output_tokens + output_tokens,
                told.cost + cost,
            )


def _answer(answer: WireAnswer, prepared: RemoteRequest, qid: str) -> Answer:
    question = prepared.request.questions[qid]
    probabilities = softmax(answer.log_scores)
    return Answer(
        type=question.type,
        keys=option_keys(question),
        probabilities=probabilities,
        log_scores=answer.log_scores,
        confidence=confidence(question.type, probabilities),
        verdict=answer.verdict,
        lost_mass=answer.lost_mass,
        none_score=answer.none_score,
        family=prepared.families.get(qid),
    )


def _split(url: str) -> tuple[str, str]:
    """Base address and route: the route is the address's own where it names one."""
    trimmed = url.rstrip("/")
    for route in _ROUTES:
        if trimmed.endswith(route):
            head, _, version = trimmed.removesuffix(route).rpartition("/")
            return head, f"/{version}{route}"
    return trimmed.removesuffix("/v1"), "/v1/systemone"
