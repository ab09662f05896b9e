"""The same question asked another way: other option orders, other wordings, other words for yes and no."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from forthwith.schema import Choice, Content, Noul, Question, Score, option_descriptions, option_keys

__all__ = ["NOUL_WORDS", "WORDINGS", "Variant", "label_words", "option_orders", "paraphrases"]

Probe = Literal["option order", "wording", "label words"]

WORDINGS: dict[str, str] = {
    "polite": "Please answer this question. {question}",
    "evidence": "{question}\nDecide only by what is given above.",
    "framed": "A decision is needed on the following point: {question}",
}
"""Frames around a question's text that leave its meaning alone."""

NOUL_WORDS: dict[str, tuple[tuple[str, bool], ...]] = {
    "true/false": (("true", True), ("false", False)),
    "false/true": (("false", False), ("true", True)),
    "yes/no": (("yes", True), ("no", False)),
    "no/yes": (("no", False), ("yes", True)),
}
"""Ways to ask a yes/no question as a choice: the option names in order, and whether each stands for yes."""


@dataclass(frozen=True)
class Variant:
    """One question asked another way.

    Attributes:
        probe: what is varied.
        name: which variation of it.
        question: what is asked.
        original_key: the variant's option keys to the original's.
    """

    probe: Probe
    name: str
    question: Question
    original_key: Mapping[str, str]


def option_orders(question: Question, *, orders: int, seed: int) -> list[Variant]:
    """A choice with its options in other orders: first reversed, then seeded shuffles; nothing for other types."""
    if not isinstance(question, Choice):
        return []
    keys = list(question.criteria)
    stream = np.random.default_rng((seed, len(keys)))
    arrangements = [keys[::-1]] + [[keys[int(i)] for i in stream.permutation(len(keys))] for _ in range(orders - 1)]
    return [
        Variant(
            "option order",
            "reversed" if number == 0 else f"shuffle {number}",
            question.model_copy(update={"criteria": {key: question.criteria[key] for key in arrangement}}),
            {key: key for key in keys},
        )
        for number, arrangement in enumerate(arrangements[:orders])
    ]


def paraphrases(question: Question) -> list[Variant]:
    """A question inside neutral frames; its options stay. Instructions that are no text are left alone."""
    if not isinstance(question.instructions, str):
        return []
    text = question.instructions
    same = {key: key for key in option_keys(question)}
    return [
        Variant("wording", name, _with_instructions(question, frame.format(question=text)), same)
        for name, frame in WORDINGS.items()
    ]


def label_words(question: Question) -> list[Variant]:
    """A yes/no question as a choice between true and false, and yes and no, in both orders; nothing for other types."""
    if not isinstance(question, Noul):
        return []
    no, yes = option_descriptions(question)
    variants: list[Variant] = []
    for name, words in NOUL_WORDS.items():
        criteria: dict[str, Content | None] = {word: (yes if means_yes else no) for word, means_yes in words}
        asked = Choice(instructions=question.instructions, criteria=criteria)
        original = {word: ("true" if means_yes else "false") for word, means_yes in words}
        variants.append(Variant("label words", name, asked, original))
    return variants


def _with_instructions(question: Noul | Choice | Score, text: str) -> Question:
    return question.model_copy(update={"instructions": text})
