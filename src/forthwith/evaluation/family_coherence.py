"""How well a model's answers to linked questions agree, and what making them agree does to accuracy."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from forthwith.coherence import (
    INCOHERENT_ABOVE,
    Family,
    build_family,
    family_vector,
    project,
    sure_loss,
    unit_bet_loss,
)
from forthwith.deciding import Decider
from forthwith.errors import DataError, RequestError
from forthwith.evaluation.asking import Asking, ask_all
from forthwith.evaluation.patience import Patience
from forthwith.schema import Record, Request, option_keys

__all__ = ["WEIGHTS", "CoherenceReport", "CoherenceSlice", "FamilyAnswers", "ask_families", "fit_weight", "summarise"]

FloatArray = NDArray[np.float64]

WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, math.inf)
"""Weights of the primary that are tried; infinity leaves it as it is."""

_PRIMARY = "primary"
_FLOOR = 1e-12


@dataclass(frozen=True)
class FamilyAnswers:
    """One family's answers: its vector, where it comes from, and the index of the right option where there is one."""

    family: Family
    vector: FloatArray
    task: str
    cluster: str
    gold: int | None


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CoherenceSlice(_Frozen):
    """Families of one kind.

    Attributes:
        families, questions: how many families, and how many questions they hold together.
        sure_loss: mean d².
        unit_bet_loss: mean D1, the money lost for certain to bets of a unit an answer.
        share_incoherent: families with d² above 0.01.
        accuracy, nll: of the primary as answered, over families with a right answer; None without any.
        accuracy_projected, nll_projected: after moving to the nearest coherent answers with the weight fitted on the
            other half of the clusters.
        weight: the weight fitted on all of them, which a later run may use; None without right answers, or when it is
            infinite, so that the primary is better left alone.
        acquiescence: for yes/no questions the mean of P(yes) + P(yes to the negation) - 1; above 0 the model says yes
            to both, below 0 no to both.
    """

    name: str
    families: int
    questions: int
    sure_loss: float
    unit_bet_loss: float
    share_incoherent: float
    accuracy: float | None = None
    accuracy_projected: float | None = None
    nll: float | None = None
    nll_projected: float | None = None
    weight: float | None = None
    acquiescence: float | None = None


class CoherenceReport(_Frozen):
    """Coherence by task and by question type; `macro_sure_loss` is the mean of the tasks' means."""

    model: str
    skipped: int
    macro_sure_loss: float
    by_task: list[CoherenceSlice]
    by_type: list[CoherenceSlice]


def ask_families(
    records: Iterable[Record],
    model: Decider,
    *,
    seed: str = "20260930",
    batch_tokens: int = 16_384,
    together: bool = True,
    patience: Patience | None = None,
) -> Iterator[FamilyAnswers | RequestError]:
    """Build and ask the family of every question, streamed.

    Args:
        records: with or without targets.
        model: the model to ask.
        seed: of the options and levels that are asked about where there are many.
        batch_tokens: most tokens decided together.
        together: ask a family in one request, which reads the state once; right where questions do not see one another.
        patience: how long to try again what may succeed later.
    """
    askings = _askings(records, seed=seed, together=together)
    parts: dict[str, FloatArray] = {}
    for tag, decision in ask_all(model, askings, batch_tokens=batch_tokens, patience=patience):
        if tag.first:
            parts = {}
        if isinstance(decision, RequestError):
            yield decision
            continue
        parts.update({member: answer.probabilities for member, answer in decision.answers.items()})
        if len(parts) == len(tag.family.siblings) + 1:
            vector = family_vector(tag.family, parts[_PRIMARY], parts)
            yield FamilyAnswers(tag.family, vector, tag.task, tag.record.cluster_id, tag.gold)


def summarise(answers: Sequence[FamilyAnswers], *, model: str, skipped: int = 0) -> CoherenceReport:
    """The coherence of answered families.

    Raises:
        DataError: there are none.
    """
    if not answers:
        raise DataError("there are no families of linked questions; every request was refused or there are no records")
    tasks = [_slice(name, found) for name, found in _grouped(answers, by_type=False)]
    types = [_slice(name, found) for name, found in _grouped(answers, by_type=True)]
    macro = float(np.mean([task.sure_loss for task in tasks]))
    return CoherenceReport(model=model, skipped=skipped, macro_sure_loss=macro, by_task=tasks, by_type=types)


def fit_weight(answers: Sequence[FamilyAnswers]) -> float:
    """The weight of the primary, of `WEIGHTS`, whose projections have the least mean NLL; ties go to the larger.

    Raises:
        DataError: no family has a right answer.
    """
    scored = [answer for answer in answers if answer.gold is not None]
    if not scored:
        raise DataError("the weight of the primary is fitted on right answers, and there are none")
    losses = [float(np.mean([_nll(answer, weight) for answer in scored])) for weight in WEIGHTS]
    best = min(losses)
    return max(weight for weight, loss in zip(WEIGHTS, losses, strict=True) if loss <= best + 1e-12)


@dataclass(frozen=True)
class _Tag:
    record: Record
    task: str
    family: Family
    gold: int | None
    first: bool


def _askings(records: Iterable[Record], *, seed: str, together: bool) -> Iterator[Asking[_Tag]]:
    for record in records:
        for qid, question in record.questions.items():
            family = build_family(question, seed=f"{seed}/{record.id}/{qid}")
            members = {_PRIMARY: question, **family.siblings}
            target = record.targets.get(qid)
            known = target is not None and not target.is_ambiguous()
            gold = option_keys(question).index(target.best_key()) if target is not None and known else None
            groups = [members] if together else [{name: member} for name, member in members.items()]
            for number, group in enumerate(groups):
                tag = _Tag(record, record.family(qid), family, gold, first=number == 0)
                families = {_PRIMARY: record.family(qid)}
                yield Asking(tag, Request(state=record.state, questions=group), families)


def _grouped(answers: Sequence[FamilyAnswers], *, by_type: bool) -> list[tuple[str, list[FamilyAnswers]]]:
    groups: defaultdict[str, list[FamilyAnswers]] = defaultdict(list)
    for answer in answers:
        groups[answer.family.type if by_type else answer.task].append(answer)
    return sorted(groups.items())


def _slice(name: str, answers: list[FamilyAnswers]) -> CoherenceSlice:
    losses = np.array([sure_loss(answer.family, answer.vector) for answer in answers])
    bets = [unit_bet_loss(answer.family, answer.vector) for answer in answers]
    scored = [answer for answer in answers if answer.gold is not None]
    outcome: dict[str, float | None] = {}
    if scored:
        weight = fit_weight(scored)
        held_out = _cross_fitted(scored)
        outcome = {
            "accuracy": float(np.mean([_is_right(answer, math.inf) for answer in scored])),
            "accuracy_projected": float(np.mean([_is_right(answer, other) for answer, other in held_out])),
            "nll": float(np.mean([_nll(answer, math.inf) for answer in scored])),
            "nll_projected": float(np.mean([_nll(answer, other) for answer, other in held_out])),
            "weight": None if math.isinf(weight) else weight,
        }
    nouls = [answer.vector for answer in answers if answer.family.type == "noul"]
    return CoherenceSlice(
        name=name,
        families=len(answers),
        questions=sum(1 + len(answer.family.siblings) for answer in answers),
        sure_loss=float(losses.mean()),
        unit_bet_loss=float(np.mean(bets)),
        share_incoherent=float(np.mean(losses > INCOHERENT_ABOVE)),
        acquiescence=float(np.mean([x[0] + x[1] - 1 for x in nouls])) if nouls else None,
        **outcome,
    )


def _cross_fitted(scored: list[FamilyAnswers]) -> list[tuple[FamilyAnswers, float]]:
    """Each family with the weight fitted on the clusters of the other half; infinite where there is no other half."""
    clusters = sorted({answer.cluster for answer in scored})
    half = {cluster: index % 2 for index, cluster in enumerate(clusters)}
    sides = [[answer for answer in scored if half[answer.cluster] == side] for side in (0, 1)]
    weights = [fit_weight(side) if side else math.inf for side in sides]
    return [(answer, weights[1 - side]) for side, members in enumerate(sides) for answer in members]


def _projected(answer: FamilyAnswers, weight: float) -> FloatArray:
    return project(answer.family, answer.vector, weight=weight).primary


def _is_right(answer: FamilyAnswers, weight: float) -> bool:
    return int(np.argmax(_projected(answer, weight))) == answer.gold


def _nll(answer: FamilyAnswers, weight: float) -> float:
    return -math.log(max(float(_projected(answer, weight)[answer.gold or 0]), _FLOOR))
