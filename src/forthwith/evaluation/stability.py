"""Does the answer survive what should not matter: option order, wording, the words for yes and no, other questions?

Each question is asked as it stands and then in other ways; probabilities are compared as they are served, key by key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict
from scipy.stats import binomtest  # pyright: ignore[reportUnknownVariableType]

from forthwith.deciding import Decider
from forthwith.decision import Answer, Decision
from forthwith.errors import DataError, RequestError
from forthwith.evaluation.asking import Asking, ask_all
from forthwith.evaluation.patience import Patience
from forthwith.evaluation.rewordings import Variant, label_words, option_orders, paraphrases
from forthwith.schema import Noul, Question, Record, Request

__all__ = ["ProbeResult", "StabilityOptions", "StabilityReport", "measure_stability"]

FloatArray = NDArray[np.float64]

_UNRELATED = Noul(instructions="Does the text above mention a colour?")
_UNRELATED_ID = "unrelated question"
_PROBES = ("option order", "wording", "label words", "isolation")


@dataclass(frozen=True)
class StabilityOptions:
    """What to vary.

    Attributes:
        orders: option orders besides the given one: the reversal, then shuffles.
        seed: of the shuffles.
        near_tie: a flip counts as one of a near tie when the two likeliest options lay this close.
        together: ask all variants of a record in one request, which reads the state once. Right for models whose
            questions do not see one another; the isolation probe always asks apart.
        batch_tokens: most tokens decided together.
        patience: how long to try again what may succeed later.
    """

    orders: int = 2
    seed: int = 20260930
    near_tie: float = 0.05
    together: bool = True
    batch_tokens: int = 16_384
    patience: Patience = field(default_factory=Patience)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProbeResult(_Frozen):
    """One variation over all questions that allow it.

    Attributes:
        questions: how many were compared.
        flips: questions whose likeliest option changed; `near_tie_flips` of them were nearly tied to begin with.
        flip_rate, flip_low, flip_high: share of flips with its 95 % Wilson interval.
        mean_tvd, max_tvd: total variation distance between the two answers, in [0, 1].
        accuracy, accuracy_varied: share right as asked and as varied, over questions with one right answer.
        mean_yes, mean_yes_varied: mean P(yes), for yes/no questions only.
    """

    probe: str
    variant: str
    questions: int
    flips: int
    near_tie_flips: int
    flip_rate: float
    flip_low: float
    flip_high: float
    mean_tvd: float
    max_tvd: float
    accuracy: float | None = None
    accuracy_varied: float | None = None
    mean_yes: float | None = None
    mean_yes_varied: float | None = None


class StabilityReport(_Frozen):
    """All variations of one model over one set of records; `skipped` requests were too long or refused."""

    model: str
    records: int
    questions: int
    skipped: int
    probes: list[ProbeResult]


@dataclass(frozen=True)
class _Pair:
    before: FloatArray
    after: FloatArray
    gold: int | None
    yes: bool


def measure_stability(
    records: Iterable[Record], model: Decider, *, options: StabilityOptions | None = None
) -> StabilityReport:
    """Ask every question in other ways and compare.

    Args:
        records: with or without targets; streamed.
        model: the model to ask.
        options: what to vary.

    Raises:
        DataError: there are no records.
        EngineError: the model failed.
    """
    options = options or StabilityOptions()
    pairs: defaultdict[tuple[str, str], list[_Pair]] = defaultdict(list)
    counts = {"records": 0, "questions": 0, "skipped": 0}
    base: Decision | None = None
    asked = ask_all(model, _askings(records, options), batch_tokens=options.batch_tokens, patience=options.patience)
    for tag, decision in asked:
        if isinstance(decision, RequestError):
            counts["skipped"] += 1
            base = None if tag.kind == "base" else base
        elif tag.kind == "base":
            base = decision
            counts["records"] += 1
            counts["questions"] += len(decision.answers)
        elif base is not None:
            _collect(pairs, tag, base, decision)
    if not counts["records"] and not counts["skipped"]:
        raise DataError("there are no records to ask about")
    ordered = sorted(pairs, key=lambda key: _PROBES.index(key[0]))
    probes = [_result(*key, pairs[key], options.near_tie) for key in ordered]
    return StabilityReport(model=model.name, probes=probes, **counts)


@dataclass(frozen=True)
class _Tag:
    record: Record
    kind: str
    variants: dict[str, tuple[str, Variant | None]] = field(default_factory=dict[str, "tuple[str, Variant | None]"])


def _askings(records: Iterable[Record], options: StabilityOptions) -> Iterator[Asking[_Tag]]:
    for record in records:
        families = {qid: record.family(qid) for qid in record.questions}
        yield Asking(_Tag(record, "base"), record.request, families)
        variants: dict[str, tuple[str, Variant | None]] = {}
        for qid, question in record.questions.items():
            for variant in _variants(question, options):
                variants[f"{qid}/{variant.probe}/{variant.name}"] = (qid, variant)
        groups = [variants] if options.together else [{name: found} for name, found in variants.items()]
        for group in groups:
            questions = {name: variant.question for name, (_, variant) in group.items() if variant is not None}
            if questions:
                kin = {name: families[qid] for name, (qid, _) in group.items()}
                yield Asking(_Tag(record, "variants", group), _request(record, questions), kin)
        yield from _isolation(record, families)


def _isolation(record: Record, families: dict[str, str]) -> Iterator[Asking[_Tag]]:
    same: dict[str, tuple[str, Variant | None]] = {qid: (qid, None) for qid in record.questions}
    if len(record.questions) > 1:
        for qid, question in record.questions.items():
            yield Asking(_Tag(record, "alone", {qid: (qid, None)}), _request(record, {qid: question}), families)
        backwards = dict(reversed(record.questions.items()))
        yield Asking(_Tag(record, "questions reversed", same), _request(record, backwards), families)
    crowd: dict[str, Question] = {_UNRELATED_ID: _UNRELATED, **record.questions}
    yield Asking(_Tag(record, "one more question", same), _request(record, crowd), families)


def _variants(question: Question, options: StabilityOptions) -> list[Variant]:
    orders = option_orders(question, orders=options.orders, seed=options.seed)
    return [*orders, *paraphrases(question), *label_words(question)]


def _request(record: Record, questions: dict[str, Question]) -> Request:
    return Request(state=record.state, questions=questions)


def _collect(pairs: defaultdict[tuple[str, str], list[_Pair]], tag: _Tag, base: Decision, decision: Decision) -> None:
    for name, (qid, variant) in tag.variants.items():
        before, after = base.answers[qid], decision.answers[name]
        key = ("isolation", tag.kind) if variant is None else (variant.probe, variant.name)
        target = tag.record.targets.get(qid)
        gold = None if target is None or target.is_ambiguous() else before.keys.index(target.best_key())
        pairs[key].append(_Pair(before.probabilities, _aligned(before, after, variant), gold, before.type == "noul"))


def _aligned(before: Answer, after: Answer, variant: Variant | None) -> FloatArray:
    """The variant's probabilities in the order of the original's keys."""
    if variant is None:
        return after.probabilities
    by_key = {variant.original_key[key]: p for key, p in zip(after.keys, after.probabilities, strict=True)}
    return np.array([by_key[key] for key in before.keys])


def _result(probe: str, variant: str, pairs: list[_Pair], near_tie: float) -> ProbeResult:
    flipped = [int(np.argmax(pair.before)) != int(np.argmax(pair.after)) for pair in pairs]
    margins = [float(np.subtract(*np.sort(pair.before)[-1:-3:-1])) for pair in pairs]
    distances = [0.5 * float(np.abs(pair.before - pair.after).sum()) for pair in pairs]
    scored = [(pair, pair.gold) for pair in pairs if pair.gold is not None]
    yes = [pair for pair in pairs if pair.yes]
    low, high = _wilson(sum(flipped), len(pairs))
    return ProbeResult(
        probe=probe,
        variant=variant,
        questions=len(pairs),
        flips=sum(flipped),
        near_tie_flips=sum(flip and margin <= near_tie for flip, margin in zip(flipped, margins, strict=True)),
        flip_rate=sum(flipped) / len(pairs),
        flip_low=low,
        flip_high=high,
        mean_tvd=float(np.mean(distances)),
        max_tvd=max(distances),
        accuracy=float(np.mean([np.argmax(pair.before) == gold for pair, gold in scored])) if scored else None,
        accuracy_varied=float(np.mean([np.argmax(pair.after) == gold for pair, gold in scored])) if scored else None,
        mean_yes=float(np.mean([pair.before[1] for pair in yes])) if yes else None,
        mean_yes_varied=float(np.mean([pair.after[1] for pair in yes])) if yes else None,
    )


def _wilson(successes: int, trials: int) -> tuple[float, float]:
    interval = binomtest(successes, trials).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
