"""A whole request with its siblings, and the way back: one request to ask, one coherent distribution a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forthwith.coherence.families import Family, build_family
from forthwith.coherence.projection import coherent_probabilities
from forthwith.errors import RequestError
from forthwith.schema import Question, Request

__all__ = ["LinkedRequest", "coherent_answers", "link_request"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class LinkedRequest:
    """A request that also asks every sibling of its questions.

    Attributes:
        request: the questions asked, siblings after their primaries; the state is shared.
        families: question id to its family.
        sibling_ids: question id to (sibling's name in its family → id in the request).
    """

    request: Request
    families: dict[str, Family]
    sibling_ids: dict[str, dict[str, str]]


def link_request(request: Request, *, seed: str = "") -> LinkedRequest:
    """A request with the siblings of all its questions.

    Args:
        request: what the caller asks.
        seed: of the options and levels that are asked about where there are many; equal seeds ask the same.

    Raises:
        RequestError: a sibling would get the id of a question that is there already.
    """
    questions: dict[str, Question] = {}
    families: dict[str, Family] = {}
    sibling_ids: dict[str, dict[str, str]] = {}
    for qid, question in request.questions.items():
        family = build_family(question, seed=f"{seed}/{qid}")
        ids = {name: f"{qid}/{name}" for name in family.siblings}
        if taken := [sibling for sibling in ids.values() if sibling in request.questions]:
            raise RequestError(f"questions.{taken[0]}: a sibling of {qid!r} needs this id; rename the question")
        families[qid], sibling_ids[qid] = family, ids
        questions[qid] = question
        questions.update({ids[name]: sibling for name, sibling in family.siblings.items()})
    return LinkedRequest(request.model_copy(update={"questions": questions}), families, sibling_ids)


def coherent_answers(
    linked: LinkedRequest, probabilities: Mapping[str, FloatArray], *, weight: float = 1.0
) -> dict[str, FloatArray]:
    """The coherent distribution of every question that the caller asked.

    Args:
        linked: the request as it was asked.
        probabilities: the distribution of each of its questions, siblings included.
        weight: of the primary, as in `project`.

    Raises:
        ShapeError: an answer is missing or no distribution.
    """
    coherent: dict[str, FloatArray] = {}
    for qid, family in linked.families.items():
        ids = linked.sibling_ids[qid]
        siblings = {name: probabilities[ids[name]] for name in ids if ids[name] in probabilities}
        coherent[qid] = coherent_probabilities(family, probabilities[qid], siblings, weight=weight)
    return coherent
