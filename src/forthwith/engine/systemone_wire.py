"""The System One body as a client writes it, and its answer as a client must read it: checked, and matched by key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from forthwith.errors import EngineError
from forthwith.schema import Choice, Noul, Request, Score, option_keys

__all__ = ["Reply", "WireAnswer", "read_reply", "request_body"]

_SHOWN_DECIMALS = range(2, 7)
_UNROUNDED_FLOOR = 1e-9
_SUM_TOLERANCE = 0.05


@dataclass(frozen=True)
class WireAnswer:
    """The answer to one question.

    Attributes:
        log_scores: shape (K,), nats: logs of the probabilities, zeros raised to half of what rounds to zero.
        lost_mass: upper bound of the probability of options that were told as zero, or that the server could not read.
        none_score: log-odds that even the best option is right, where the server tells (`x_none_score`).
        verdict: automate or ask, where the server tells (`x_verdict`).
    """

    log_scores: NDArray[np.float64]
    lost_mass: float
    none_score: float | None = None
    verdict: Literal["automate", "ask"] | None = None


@dataclass(frozen=True)
class Reply:
    """One whole answer."""

    model: str
    answers: dict[str, WireAnswer]
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: float
    bundle_id: str
    is_calibrated: bool


def request_body(request: Request, model: str) -> dict[str, Any]:
    """The JSON members of a request: null descriptions of options kept, absent instructions left out."""
    questions = {qid: _question(question) for qid, question in request.questions.items()}
    return {"model": model, "state": request.state, "questions": questions}


def _question(question: Noul | Choice | Score) -> dict[str, Any]:
    body: dict[str, Any] = {"type": question.type}
    if question.instructions is not None:
        body["instructions"] = question.instructions
    if not isinstance(question, Noul):
        body["criteria"] = question.criteria
    elif question.criteria is not None:
        body["criteria"] = question.criteria.model_dump(exclude_none=True)
    return body


def read_reply(payload: Mapping[str, Any], request: Request) -> Reply:
    """A server's answer, held against what was asked.

    Raises:
        EngineError: an answer is missing, of another type, about other options, or not a distribution.
    """
    told = _object(payload.get("answers"), "answers")
    shown = {qid: _probabilities(qid, told, question) for qid, question in request.questions.items()}
    half_unit = _half_unit([value for values in shown.values() for value in values])
    usage = _object(payload.get("usage", {}), "usage")
    model = payload.get("model")
    if not isinstance(model, str):
        raise EngineError(f"the server does not say which model answered: model is {model!r}")
    return Reply(
        model=model,
        answers={qid: _scored(values, half_unit, _object(told[qid], qid)) for qid, values in shown.items()},
        input_tokens=_count(usage, "input_tokens"),
        output_tokens=_count(usage, "output_tokens"),
        cached_tokens=_count(usage, "x_cached_tokens"),
        cost=_cost(usage),
        bundle_id=str(payload.get("x_bundle") or ""),
        is_calibrated=payload.get("x_calibrated") is True,
    )


def _probabilities(qid: str, told: dict[str, Any], question: Noul | Choice | Score) -> list[float]:
    if qid not in told:
        raise EngineError(f"the server did not answer the question {qid!r}; it answered {sorted(told)!r}")
    answer = _object(told[qid], f"answers.{qid}")
    if answer.get("type") != question.type:
        raise EngineError(f"the server answered {qid!r} as a {answer.get('type')!r}; it is a {question.type}")
    if isinstance(question, Noul):
        yes = _probability(answer.get("noul"), f"answers.{qid}.noul")
        return [1.0 - yes, yes]
    values = _object(answer.get("probabilities"), f"answers.{qid}.probabilities")
    keys = option_keys(question)
    if set(values) != set(keys):
        odd = sorted(set(values) ^ set(keys))
        raise EngineError(
            f"answers.{qid}.probabilities: {odd[0]!r} is not on both sides of the wire; options are {keys!r}"
        )
    found = [_probability(values[key], f"answers.{qid}.probabilities.{key}") for key in keys]
    if abs(sum(found) - 1.0) > max(_SUM_TOLERANCE, 0.005 * len(found)):
        raise EngineError(f"answers.{qid}.probabilities sum to {sum(found):.4f}, not 1")
    return found


def _scored(shown: list[float], half_unit: float, answer: dict[str, Any]) -> WireAnswer:
    values = np.array(shown)
    zeros = values < half_unit if half_unit else values <= 0.0
    floor = half_unit / 2 if half_unit else _UNROUNDED_FLOOR
    lost = float(zeros.sum()) * (half_unit or _UNROUNDED_FLOOR)
    verdict = answer.get("x_verdict")
    return WireAnswer(
        log_scores=np.log(np.where(zeros, floor, values)),
        lost_mass=min(lost + (_extra(answer, "x_lost_mass") or 0.0), 1.0),
        none_score=_extra(answer, "x_none_score"),
        verdict=verdict if verdict in ("automate", "ask") else None,
    )


def _extra(answer: dict[str, Any], name: str) -> float | None:
    value = answer.get(name)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _half_unit(values: list[float]) -> float:
    """Half a unit of the last decimal that a server shows, where all numbers end within six decimals; else 0: not rounded."""
    for decimals in _SHOWN_DECIMALS:
        if all(abs(value - round(value, decimals)) < 1e-9 for value in values):
            return 0.5 * 10.0**-decimals
    return 0.0


def _object(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise EngineError(f"the server's answer breaks the contract: {place} is {value!r:.60}, not an object")
    return cast("dict[str, Any]", value)


def _probability(value: object, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise EngineError(
            f"the server's answer breaks the contract: {place} is {value!r:.60}, not a number from 0 to 1"
        )
    return float(value)


def _count(usage: dict[str, Any], name: str) -> int:
    value = usage.get(name, 0)
    return int(value) if isinstance(value, int | float) and math.isfinite(value) and value >= 0 else 0


def _cost(usage: dict[str, Any]) -> float:
    value = usage.get("cost", 0.0)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0
