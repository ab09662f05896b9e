"""How well pick_option can be answered at all: by somebody who knows the tastes, and by one who reads the memory lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forthwith.personal.kb.knowledge import KnowledgeBase
from forthwith.personal.shortcuts import HardQuestion
from forthwith.personal.world.people import latent_taste

__all__ = ["PickCeiling", "pick_ceiling"]

RIDGE = 1.0
"""Penalty on the estimated worth of a trait, in reviews that say nothing of it."""


@dataclass(frozen=True)
class PickCeiling:
    """Attainable accuracy on pick_option.

    Attributes:
        taste: of choosing the option with the highest latent taste; None outside the synthetic world.
        memory: of a ridge regression of the remembered ratings on the traits of their items: what a reader could do.
        chance: mean of 1 / number of options.
        questions: hard pick questions.
    """

    taste: float | None
    memory: float
    chance: float
    questions: int


def pick_ceiling(questions: Sequence[HardQuestion], kb: KnowledgeBase) -> PickCeiling | None:
    """The ceilings over the pick questions of users that the knowledge base knows; None when there are none."""
    known = [q for q in questions if q.family == "pick_option" and str(q.record.user_id) in kb.users]
    if not known:
        return None
    taste = None if kb.world_seed is None else float(np.mean([_right(q, _tastes(q, kb, kb.world_seed)) for q in known]))
    memory = float(np.mean([_right(question, _remembered(question, kb)) for question in known]))
    chance = float(np.mean([1 / len(question.keys) for question in known]))
    return PickCeiling(taste, memory, chance, len(known))


def _right(question: HardQuestion, scores: list[float]) -> float:
    """Expected accuracy of the highest score, ties shared."""
    best = [key for key, score in zip(question.keys, scores, strict=True) if score >= max(scores) - 1e-9]
    return (question.label in best) / len(best)


def _items(question: HardQuestion) -> list[str]:
    """Item ids of the options; the keys themselves where the features do not name them."""
    return [str(question.features.get(key, {}).get("item_id", key)) for key in question.keys]


def _traits(kb: KnowledgeBase, item: str) -> tuple[str, tuple[str, ...]]:
    row = kb.catalogue.index[item]
    category = kb.catalogue.category_of[row]
    return category, kb.catalogue.traits[row]


def _tastes(question: HardQuestion, kb: KnowledgeBase, seed: int) -> list[float]:
    user = str(question.record.user_id)
    return [latent_taste(seed, user, *_traits(kb, item)) for item in _items(question)]


def _remembered(question: HardQuestion, kb: KnowledgeBase) -> list[float]:
    """Scores of the options by a ridge regression of the remembered ratings on the traits of their items."""
    user = kb.users[str(question.record.user_id)]
    described = [_traits(kb, item) for item in _items(question)]
    category = described[0][0]
    facts = [fact for fact in user.facts if fact.category == category]
    names = sorted({trait for fact in facts for trait in fact.traits})
    if not names:
        return [0.0] * len(described)
    seen = np.array([[trait in fact.traits for trait in names] for fact in facts], dtype=np.float64)  # (N, T)
    ratings = np.array([fact.rating - 3.0 for fact in facts])
    weights = np.linalg.solve(seen.T @ seen + RIDGE * np.eye(len(names)), seen.T @ ratings)  # (T,)
    worth = dict(zip(names, weights.tolist(), strict=True))
    return [sum(worth.get(trait, 0.0) for trait in traits) for _, traits in described]
