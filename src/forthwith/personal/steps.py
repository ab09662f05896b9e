"""The steps of a rule as questions of their own: what has to be found out on the way from a state to its label.

They are asked beside the seven families in training records alone, where a plan says so (`asks_steps`): a small model that
is told which limit is in force, who is a contact and when quiet hours are learns sooner what follows from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

__all__ = ["Step", "one_of", "step_questions", "words_of", "yes_no"]


@dataclass(frozen=True, slots=True)
class Step:
    """One value on the way.

    Attributes:
        name: what is found out, one word; the question's id is `<family>.<name>`.
        ask: the question in words.
        answer: the right option; "true" or "false" for a yes/no question.
        options: what to choose from; empty for a yes/no question.
    """

    name: str
    ask: str
    answer: str
    options: tuple[str, ...] = ()


def yes_no(name: str, ask: str, is_true: bool) -> Step:  # noqa: FBT001 - the answer is the subject
    """A step answered by yes or no."""
    return Step(name, ask, str(is_true).lower())


def one_of(name: str, ask: str, options: Sequence[str], answer: str) -> Step:
    """A step answered by one of some options; underscores in their names become spaces."""
    return Step(name, ask, words_of(answer), tuple(words_of(option) for option in options))


def step_questions(family: str, steps: Sequence[Step]) -> dict[str, dict[str, Any]]:
    """Question id to question with label, as records hold them; several of one name are numbered."""
    counts = Counter(step.name for step in steps)
    numbers = {name: count(1) for name, total in counts.items() if total > 1}
    return {
        f"{family}.{step.name}{next(numbers[step.name]) if step.name in numbers else ''}": _payload(step)
        | {"src": f"pd/{family}.{step.name}"}
        for step in steps
    }


def _payload(step: Step) -> dict[str, Any]:
    if not step.options:
        return {"type": "noul", "instructions": step.ask, "label": step.answer == "true"}
    criteria = dict.fromkeys(step.options)
    return {"type": "choice", "instructions": step.ask, "criteria": criteria, "label": step.answer}


def words_of(name: str) -> str:
    """A name from the vocabulary in words: `close_friend` is "close friend"."""
    return name.replace("_", " ")
