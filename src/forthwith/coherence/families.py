"""A question and the siblings that logic ties to it, each a question of its own about the same state.

No sibling may be computed from another's answer: a marginal read off a choice agrees by construction and shows nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from forthwith.errors import RequestError
from forthwith.schema import Choice, Content, Noul, NoulCriteria, Question, Score, option_descriptions, option_keys

__all__ = ["MAX_SIBLINGS", "Family", "build_family"]

MAX_SIBLINGS = 4
"""Most options of a choice, or thresholds of a score, that are asked about one by one."""


@dataclass(frozen=True)
class Family:
    """One primary question and its siblings.

    Attributes:
        type: question type of the primary.
        options: number K of the primary's options.
        asked: choice: indices of the options that a sibling asks about; score: the levels t of the "at least level t?"
            siblings, each in 1..K-1; noul: empty, its siblings are always the negation and the true/false choice.
        primary: the question itself.
        siblings: sibling questions by id, in the order of the family vector.
    """

    type: Literal["noul", "choice", "score"]
    options: int
    asked: tuple[int, ...]
    primary: Noul | Choice | Score
    siblings: dict[str, Question]

    @property
    def size(self) -> int:
        """Length of the family vector: K + number of siblings, for a noul 4."""
        return 4 if self.type == "noul" else self.options + len(self.asked)


def build_family(question: Noul | Choice | Score, *, seed: str, include: Sequence[str] = ()) -> Family:
    """The family of a question.

    Args:
        question: the primary.
        seed: any text; equal seeds ask about the same options or levels where there are more than `MAX_SIBLINGS`.
        include: option keys to ask about first (the gold one, say); for a score, levels from 1.

    Returns:
        choice: one yes/no question for min(K, 4) options; noul: its negation and itself as a choice of true and false;
        score: one yes/no question for min(K-1, 4) thresholds.

    Raises:
        RequestError: `include` names no option.
    """
    keys = option_keys(question)
    if strays := [key for key in include if key not in keys]:
        raise RequestError(f"include: {strays[0]!r} is not an option; options are {', '.join(map(repr, keys[:8]))}")
    wanted = [keys.index(key) for key in dict.fromkeys(include)]
    if isinstance(question, Noul):
        siblings: dict[str, Question] = {"not": _negation(question), "true_or_false": _true_or_false(question)}
        return Family("noul", 2, (), question, siblings)
    if isinstance(question, Choice):
        asked = _pick(range(len(keys)), wanted, seed)
        siblings = {f"is:{keys[index]}": _is_option(question, index) for index in asked}
        return Family("choice", len(keys), asked, question, siblings)
    asked = _pick(range(1, len(keys)), [level for level in wanted if level], seed)
    siblings = {f"at_least:{level}": _at_least(question, level) for level in asked}
    return Family("score", len(keys), asked, question, siblings)


def _pick(candidates: range, wanted: Sequence[int], seed: str) -> tuple[int, ...]:
    chosen = list(wanted)[:MAX_SIBLINGS]
    rest = [index for index in candidates if index not in chosen]
    missing = min(MAX_SIBLINGS, len(candidates)) - len(chosen)
    if missing > 0:
        stream = int.from_bytes(hashlib.sha256(f"coherence/{seed}".encode()).digest()[:8], "big")
        drawn = np.random.default_rng(stream).choice(len(rest), size=missing, replace=False)
        chosen += [rest[int(index)] for index in drawn]
    return tuple(sorted(chosen))


def _is_option(question: Choice, index: int) -> Noul:
    name, meaning = option_keys(question)[index], option_descriptions(question)[index]
    asked = f'Is "{name}" the right answer to that question?'
    return Noul(instructions=_about(question.instructions, asked, meaning))


def _at_least(question: Score, level: int) -> Noul:
    levels = option_descriptions(question)
    lowest, highest = _short(levels[0]), _short(levels[-1])
    scale = f"on the scale from the lowest level, {lowest}, to the highest, {highest}"
    asked = f"Does that reach at least the level described here, {scale}?"
    return Noul(instructions=_about(question.instructions, asked, levels[level]))


def _negation(question: Noul) -> Noul:
    no, yes = option_descriptions(question)
    asked = "Is the answer to that question no?"
    flipped = None if question.criteria is None else NoulCriteria(true=no, false=yes)
    return Noul(instructions=_about(question.instructions, asked, None), criteria=flipped)


def _true_or_false(question: Noul) -> Choice:
    no, yes = option_descriptions(question)
    return Choice(instructions=question.instructions, criteria={"true": yes, "false": no})


def _about(original: Content | None, asked: str, meaning: Content | None) -> Content:
    """The original instructions, then what is asked of them; text stays text."""
    if (original is None or isinstance(original, str)) and (meaning is None or isinstance(meaning, str)):
        lines = [f"Question: {original}"] if original else []
        return "\n".join([*lines, asked, *([f"Meaning: {meaning}"] if meaning else [])])
    parts: dict[str, Any] = {"question": original, "asked": asked, "meaning": meaning}
    return {name: part for name, part in parts.items() if part is not None}


def _short(content: Content | None) -> str:
    text = content if isinstance(content, str) else str(content)
    return f'"{text}"'
