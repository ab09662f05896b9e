"""Alterations of a record that keep its meaning (or say that no option is right): more ways to ask the same thing.

Each is drawn for itself from the generator given, so a record's form depends on nothing but the run's seed, the epoch and its id.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from forthwith.schema import Choice, Noul, Question, Record, Score, Target
from forthwith.training.config import Augmentation

__all__ = ["OptionPool", "augmented"]

Option = tuple[str, Any]
_POOL_SIZE = 4000
_MOST_DISTRACTORS = 3
_FRAMES = (
    "{}",
    "Decide: {}",
    "{} Answer from the state alone.",
    "Given the text above: {}",
    "Read the input. {}",
    "Task: {}",
    "Please judge the following. {}",
    "{} Consider only what is stated.",
    "A reviewer asks: {}",
    "Instruction: {}",
)
_CHOICE_FRAMES = (
    "Choose the option that fits. {}",
    "Classify the input. {}",
    "Pick one. {}",
    "{} Choose the best answer.",
)
_NOUL_FRAMES = ("Yes or no: {}", "Check this. {}", "{} Answer yes or no.", "Is the following so? {}")
_SCORE_FRAMES = ("Rate the input. {}", "Choose a level. {}", "{} Use the scale given.", "On the scale below: {}")


@dataclass(frozen=True)
class OptionPool:
    """Described options of many questions, to draw distractors from."""

    options: tuple[Option, ...] = ()

    @staticmethod
    def of(records: Iterable[Record], draw: np.random.Generator) -> OptionPool:
        """A sample of the options of choices."""
        found: dict[tuple[str, str], Option] = {}
        for record in records:
            for question in record.questions.values():
                if isinstance(question, Choice):
                    for key, text in question.criteria.items():
                        found.setdefault((key, str(text)), (key, text))
        options = list(found.values())
        if len(options) > _POOL_SIZE:
            kept: list[int] = draw.choice(len(options), _POOL_SIZE, replace=False).tolist()
            options = [options[index] for index in sorted(kept)]
        return OptionPool(tuple(options))


def augmented(
    record: Record, config: Augmentation, draw: np.random.Generator, pool: OptionPool
) -> tuple[Record, frozenset[str]]:
    """The record in another form, and the ids of its questions whose right option was taken away."""
    questions: dict[str, Question] = {}
    targets = dict(record.targets)
    none_right: set[str] = set()
    for qid, question in record.questions.items():
        altered: Question = _instructed(question, config, draw)
        if isinstance(altered, Choice) and qid in targets:
            choice = _Choice.of(altered, targets[qid])
            if _alter_options(choice, config, draw, pool):
                none_right.add(qid)
            altered = choice.question(altered)
            targets[qid] = choice.target()
        questions[qid] = altered
    changed = record.model_copy(update={"questions": questions, "targets": targets})
    return changed, frozenset(none_right)


@dataclass
class _Choice:
    """A choice and its target while they are altered together."""

    options: list[Option]
    label: str
    shares: dict[str, float] | None

    @staticmethod
    def of(question: Choice, target: Target) -> _Choice:
        return _Choice(list(question.criteria.items()), target.best_key(), target.distribution)

    def question(self, original: Choice) -> Choice:
        return original.model_copy(update={"criteria": dict(self.options)})

    def target(self) -> Target:
        return Target(label=self.label, distribution=self.shares)

    def keep(self, kept: list[Option]) -> None:
        """Keep some options; shares of the others are spread over those that stay in proportion."""
        names = {key for key, _ in kept}
        if self.shares is not None:
            left = {key: share for key, share in self.shares.items() if key in names}
            total = sum(left.values())
            self.shares = {key: share / total for key, share in left.items()} if total > 0 else None
        self.options = kept

    def rename(self, rename: Callable[[int, str], str]) -> None:
        """Give options other keys; nothing happens where two would share one."""
        names = {key: rename(index, key) for index, (key, _) in enumerate(self.options)}
        if len(set(names.values())) < len(names) or not all(names.values()):
            return
        self.options = [(names[key], text) for key, text in self.options]
        self.label = names.get(self.label, self.label)
        if self.shares is not None:
            self.shares = {names[key]: share for key, share in self.shares.items() if key in names}


def _alter_options(choice: _Choice, config: Augmentation, draw: np.random.Generator, pool: OptionPool) -> bool:
    """Alter in place; gives whether the right option was taken away."""
    if _hits(draw, config.option_subset):
        _take_subset(choice, config.fewest_options, draw)
    if _hits(draw, config.distractors):
        _add_distractors(choice, draw, pool)
    is_none = False
    if _hits(draw, config.none_of_these) and len(choice.options) > 2:
        choice.options = [option for option in choice.options if option[0] != choice.label]
        choice.label, choice.shares, is_none = choice.options[0][0], None, True
    _alter_wording(choice, config, draw)
    if _hits(draw, config.option_order):
        choice.options = [choice.options[index] for index in draw.permutation(len(choice.options))]
    return is_none


def _alter_wording(choice: _Choice, config: Augmentation, draw: np.random.Generator) -> None:
    all_described = all(text is not None and str(text) != key for key, text in choice.options)
    speaking = all(len(key) > 2 for key, _ in choice.options)
    if _hits(draw, config.drop_descriptions) and speaking:
        choice.options = [(key, None) for key, _ in choice.options]
        all_described = False
    elif _hits(draw, config.drop_keys) and all_described:
        texts = [str(text) for _, text in choice.options]
        choice.rename(lambda index, _key: texts[index])
        all_described = False
    if _hits(draw, config.letter_keys) and all_described and len(choice.options) <= len(string.ascii_uppercase):
        letters = _LETTERS[int(draw.integers(len(_LETTERS)))]
        choice.rename(lambda index, _key: letters[index])
    elif _hits(draw, config.rename_keys):
        style = _STYLES[int(draw.integers(len(_STYLES)))]
        choice.rename(lambda _index, key: style(key))


def _take_subset(choice: _Choice, fewest: int, draw: np.random.Generator) -> None:
    count = len(choice.options)
    if count <= fewest:
        return
    # Log-uniform: a few options as often as many.
    size = round(float(np.exp(draw.uniform(np.log(fewest), np.log(count)))))  # pyright: ignore[reportUnknownArgumentType]
    others = [index for index, (key, _) in enumerate(choice.options) if key != choice.label]
    drawn: list[int] = draw.choice(others, size=min(size - 1, len(others)), replace=False).tolist()
    chosen = set(drawn)
    choice.keep([option for index, option in enumerate(choice.options) if index in chosen or option[0] == choice.label])


def _add_distractors(choice: _Choice, draw: np.random.Generator, pool: OptionPool) -> None:
    if not pool.options:
        return
    taken = {key.lower() for key, _ in choice.options} | {str(text).lower() for _, text in choice.options}
    places: list[int] = draw.integers(len(pool.options), size=int(draw.integers(1, _MOST_DISTRACTORS + 1))).tolist()
    for index in places:
        key, text = pool.options[index]
        if key.lower() not in taken and str(text).lower() not in taken:
            place = int(draw.integers(len(choice.options) + 1))
            choice.options.insert(place, (key, text))
            taken |= {key.lower(), str(text).lower()}


def _instructed(question: Question, config: Augmentation, draw: np.random.Generator) -> Question:
    text = question.instructions
    if not isinstance(text, str):
        return question
    if _hits(draw, config.drop_instructions) and not isinstance(question, Noul) and _is_described(question):
        return question.model_copy(update={"instructions": None})
    if _hits(draw, config.reword):
        own = {"noul": _NOUL_FRAMES, "choice": _CHOICE_FRAMES, "score": _SCORE_FRAMES}[question.type]
        frames = _FRAMES + own
        return question.model_copy(update={"instructions": frames[int(draw.integers(len(frames)))].format(text)})
    return question


def _is_described(question: Choice | Score) -> bool:
    criteria = question.criteria
    return isinstance(criteria, list) or all(text is not None for text in cast("dict[str, Any]", criteria).values())


def _hits(draw: np.random.Generator, share: float) -> bool:
    return bool(draw.random() < share)


def _words(key: str) -> list[str]:
    return [word for word in re.split(r"[\s_\-]+|(?<=[a-z])(?=[A-Z])", key) if word]


_LETTERS = (string.ascii_uppercase, string.ascii_lowercase, [str(number) for number in range(1, 27)])
_STYLES: tuple[Callable[[str], str], ...] = (
    lambda key: "_".join(_words(key)).lower(),
    lambda key: "-".join(_words(key)).lower(),
    lambda key: " ".join(_words(key)).lower(),
    lambda key: " ".join(_words(key)).title(),
    lambda key: " ".join(_words(key)).capitalize(),
    lambda key: "_".join(_words(key)).upper(),
    lambda key: "".join(word.capitalize() for word in _words(key)),
)
