"""A decision model whose answers are a hash of what it is asked, for tests of what surrounds a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from forthwith.calibration import Binding, softmax
from forthwith.decision import Answer, Decision, Usage, confidence
from forthwith.errors import ContextTooLongError
from forthwith.schema import Choice, Noul, Request, Score, option_keys

LOCAL = Binding(
    weights_sha256="w" * 64, adapter_sha256=None, template_sha256="t" * 64, readout="label", precision="float32"
)
REMOTE = LOCAL.model_copy(update={"weights_sha256": "remote:http://127.0.0.1:1#scripted"})


@dataclass(frozen=True)
class PreparedRequest:
    request: Request
    families: Mapping[str, str]
    tokens: int


Scores = Callable[[Request, str], Sequence[float]]


def hashed_scores(request: Request, qid: str) -> list[float]:
    """Log-scores that depend on the state, the question and the option, not on order or other questions."""
    question = request.questions[qid]
    criteria = question.criteria if isinstance(question, Choice) else {}
    asked = [request.state, question.type, question.instructions]
    scores: list[float] = []
    for key in option_keys(question):
        text = json.dumps([asked, key, (criteria or {}).get(key) if isinstance(criteria, dict) else None])
        scores.append(int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32 * 4 - 4)
    return scores


@dataclass
class ScriptedDecider:
    scores: Scores = hashed_scores
    binding: Binding = LOCAL
    name: str = "scripted"
    bundle_id: str = "b0"
    max_tokens: int = 1000
    before_batch: Callable[[int], None] = lambda number: None
    asked: list[tuple[str, str]] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)

    def prepare(self, request: Request, families: Mapping[str, str] | None = None) -> PreparedRequest:
        tokens = len(str(request.state).split())
        if tokens > self.max_tokens:
            raise ContextTooLongError(tokens, self.max_tokens)
        return PreparedRequest(request, dict(families or {}), tokens)

    def decide_prepared(self, prepared: Sequence[PreparedRequest]) -> list[Decision]:
        self.batches.append(len(prepared))
        self.before_batch(len(self.batches))
        return [self._decide(item) for item in prepared]

    def _decide(self, item: PreparedRequest) -> Decision:
        answers: dict[str, Answer] = {}
        for qid, question in item.request.questions.items():
            assert isinstance(question, Noul | Choice | Score)
            self.asked.append((str(item.request.state), qid))
            log_scores = np.array(self.scores(item.request, qid), dtype=np.float64)
            p = softmax(log_scores)
            answers[qid] = Answer(
                question.type,
                option_keys(question),
                p,
                log_scores,
                confidence(question.type, p),
                family=item.families.get(qid),
            )
        usage = Usage(input_tokens=item.tokens, cached_tokens=1, latency_ms=2.0)
        return Decision(answers, self.name, calibrated=False, usage=usage, bundle_id=self.bundle_id)
