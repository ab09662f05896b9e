"""Accuracy of answers that need no reading: one label, one position, the cheapest, the most popular, the most typical.

Only hard labels count. A rule that picks one of several equals gets its expected share.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forthwith.schema import Choice, Record, option_keys

__all__ = ["HardQuestion", "Shortcut", "hard_questions", "shortcut_baselines"]

FloatArray = NDArray[np.float64]
_LEVEL_STEP = 0.7


class HardQuestion(NamedTuple):
    """A question that its state decides.

    Attributes:
        keys: option keys in displayed order.
        label: the right key.
        features: by option key, price, popularity and the like (pick_option), else empty.
    """

    record: Record
    qid: str
    family: str
    keys: tuple[str, ...]
    label: str
    features: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Shortcut:
    """One rule on one family.

    Attributes:
        accuracy: in [0, 1].
        chance: mean of 1 / number of options.
        questions: hard questions of the family.
        standard_error: of the accuracy of a guesser, in [0, 0.5].
    """

    family: str
    name: str
    accuracy: float
    chance: float
    questions: int
    standard_error: float

    @property
    def excess(self) -> float:
        """Accuracy above chance."""
        return self.accuracy - self.chance


def hard_questions(records: Iterable[Record]) -> list[HardQuestion]:
    """All questions with a hard label: no soft target beside it."""
    found: list[HardQuestion] = []
    for record in records:
        features: dict[str, Any] = record.meta.get("option_features") or {}
        for qid, question in record.questions.items():
            target = record.targets.get(qid)
            if target is None or target.label is None or target.distribution is not None:
                continue
            keys = option_keys(question)
            own: dict[str, Any] = features.get(qid, {}) if isinstance(question, Choice) else {}
            found.append(HardQuestion(record, qid, record.family(qid), keys, target.label, own))
    return found


def shortcut_baselines(questions: Sequence[HardQuestion]) -> list[Shortcut]:
    """Every rule on every family it applies to."""
    by_family: defaultdict[str, list[HardQuestion]] = defaultdict(list)
    for question in questions:
        by_family[question.family].append(question)
    results: list[Shortcut] = []
    for family, members in sorted(by_family.items()):
        chance = float(np.mean([1 / len(q.keys) for q in members]))
        error = float(np.sqrt(np.mean([1 / len(q.keys) * (1 - 1 / len(q.keys)) for q in members]) / len(members)))
        scores = {
            "majority label": _majority(members),
            "first option": _at(members, 0),
            "last option": _at(members, -1),
        }
        if all(question.features for question in members):
            scores |= {name: _share(members, rule) for name, rule in _RULES.items()}
        results += [Shortcut(family, name, score, chance, len(members), error) for name, score in scores.items()]
    return results


def _majority(members: Sequence[HardQuestion]) -> float:
    """The commonest label; for choices whose options differ from question to question the commonest position."""
    is_shared = len({question.keys for question in members}) == 1 or len({frozenset(q.keys) for q in members}) == 1
    labels = [question.label if is_shared else question.keys.index(question.label) for question in members]
    return max(Counter(labels).values()) / len(members)


def _at(members: Sequence[HardQuestion], place: int) -> float:
    return sum(question.keys[place] == question.label for question in members) / len(members)


def _share(members: Sequence[HardQuestion], rule: Callable[[HardQuestion], FloatArray]) -> float:
    """Expected accuracy of taking the smallest value, ties shared."""
    total = 0.0
    for question in members:
        values = np.round(rule(question), 9)
        best = np.flatnonzero(values == values.min())
        total += (question.keys.index(question.label) in best) / len(best)
    return total / len(members)


def _column(question: HardQuestion, name: str) -> FloatArray:
    return np.array([float(question.features[key].get(name) or 0) for key in question.keys])


def _price(question: HardQuestion) -> FloatArray:
    price = _column(question, "price")
    return np.log1p(price) if price.any() else _LEVEL_STEP * _column(question, "price_level")


def _popularity(question: HardQuestion) -> FloatArray:
    return np.log1p(_column(question, "popularity"))


def _medoid(question: HardQuestion) -> FloatArray:
    price, popularity = _price(question), _popularity(question)
    distance = np.abs(price[:, None] - price) + np.abs(popularity[:, None] - popularity)
    return np.asarray(distance.sum(axis=1), dtype=np.float64)


def _centroid(question: HardQuestion) -> FloatArray:
    price, popularity = _price(question), _popularity(question)
    return np.abs(price - price.mean()) + np.abs(popularity - popularity.mean())


def _name_length(question: HardQuestion) -> FloatArray:
    if not isinstance(question.record.questions[question.qid], Choice):
        return np.zeros(len(question.keys))
    return np.array([float(question.features[key].get("name_length") or len(key)) for key in question.keys])


_RULES: dict[str, Callable[[HardQuestion], FloatArray]] = {
    "cheapest": _price,
    "priciest": lambda question: -_price(question),
    "least popular": _popularity,
    "most popular": lambda question: -_popularity(question),
    "medoid": _medoid,
    "farthest from medoid": lambda question: -_medoid(question),
    "centroid": _centroid,
    "farthest from centroid": lambda question: -_centroid(question),
    "shortest name": _name_length,
    "longest name": lambda question: -_name_length(question),
}
