"""A learned guesser that sees the question and the pending item but not the rest of the state.

Whatever it gets above chance is a shortcut in the wording or in what is asked, which hand-picked rules would miss.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forthwith.errors import ConfigError
from forthwith.personal.shortcuts import HardQuestion
from forthwith.schema import Choice

__all__ = ["BlindScore", "blind_baseline", "pending_text"]

FOLDS = 5
MIN_QUESTIONS = 40
_GROUPS_APART = "a user is in one fold only"


@dataclass(frozen=True)
class BlindScore:
    """How well the guesser does on one family.

    Attributes:
        accuracy: on questions it was not fitted on, in [0, 1].
        chance: mean of 1 / number of options.
        questions: how many it was scored on.
        fitted_on: how many it was fitted on (per fold, when cross-validated).
        standard_error: of a guesser's accuracy.
    """

    family: str
    accuracy: float
    chance: float
    questions: int
    fitted_on: int
    standard_error: float

    @property
    def excess(self) -> float:
        """Accuracy above chance."""
        return self.accuracy - self.chance


def blind_baseline(questions: Sequence[HardQuestion], train: Sequence[HardQuestion] | None = None) -> list[BlindScore]:
    """The guesser's score by family: fitted on `train`, or cross-validated over users when there is none.

    A bag of words and word pairs with logistic regression; options of a choice whose options differ from question to
    question are scored one by one. Families with fewer than `MIN_QUESTIONS` questions are left out.
    """
    by_family: defaultdict[str, list[HardQuestion]] = defaultdict(list)
    for question in questions:
        by_family[question.family].append(question)
    scores: list[BlindScore] = []
    for family, members in sorted(by_family.items()):
        fit_on = None if train is None else [question for question in train if question.family == family]
        if len(members) < MIN_QUESTIONS or (fit_on is not None and len(fit_on) < MIN_QUESTIONS):
            continue
        right, fitted = _held_out(members) if fit_on is None else (_fit_and_score(fit_on, members), len(fit_on))
        sizes = np.array([len(question.keys) for question in members])
        error = float(np.sqrt(np.mean((1 / sizes) * (1 - 1 / sizes)) / len(members)))
        scores.append(BlindScore(family, right / len(members), float(np.mean(1 / sizes)), len(members), fitted, error))
    return scores


def pending_text(question: HardQuestion) -> str:
    """Question, criteria and the lines of the state that hold the pending item's label, with what follows them.

    The label ("Request A") is the one that the instructions name.
    """
    asked = question.record.questions[question.qid]
    instructions = str(asked.instructions or "")
    lines = str(question.record.state).split("\n")
    chosen: list[str] = []
    label = next((text for text in _labels() if text in instructions), None)
    following = False
    for line in lines:
        if label is not None and label in line:
            following = True
        elif not line.strip() or any(other in line for other in _labels() if other != label):
            following = False
        if following:
            chosen.append(line)
    return "\n".join([instructions, *chosen])


def _labels() -> list[str]:
    return [
        f"{heading} {letter}" for heading in ("Request", "Proposed action", "Incoming event") for letter in "ABCDEFG"
    ]


def _held_out(members: Sequence[HardQuestion]) -> tuple[int, int]:
    """Right answers under cross-validation in which a user is in one fold only."""
    users = sorted({str(question.record.user_id) for question in members})
    fold_of = {user: index % FOLDS for index, user in enumerate(users)}
    right = 0
    for fold in range(FOLDS):
        inside = [q for q in members if fold_of[str(q.record.user_id)] == fold]
        outside = [q for q in members if fold_of[str(q.record.user_id)] != fold]
        if inside and outside:
            right += _fit_and_score(outside, inside)
    return right, len(members) * (FOLDS - 1) // FOLDS


def _fit_and_score(train: Sequence[HardQuestion], test: Sequence[HardQuestion]) -> int:
    if any(question.features for question in train):
        return _score_options(train, test)
    classes = sorted({question.label for question in train})
    model = _pipeline()
    _fit(model, [pending_text(question) for question in train], [classes.index(question.label) for question in train])
    guesses = model.predict([pending_text(question) for question in test])
    return sum(classes[int(guess)] == question.label for guess, question in zip(guesses, test, strict=True))


def _score_options(train: Sequence[HardQuestion], test: Sequence[HardQuestion]) -> int:
    texts = [text for question in train for text in _option_texts(question)]
    labels = [int(key == question.label) for question in train for key in question.keys]
    model = _pipeline()
    _fit(model, texts, labels)
    right = 0
    for question in test:
        scores: NDArray[np.float64] = model.decision_function(_option_texts(question))
        right += question.keys[int(np.argmax(scores))] == question.label
    return right


def _option_texts(question: HardQuestion) -> list[str]:
    """One text an option: its words, its place, and its ranks by price and popularity among the options."""
    asked = question.record.questions[question.qid]
    described = asked.criteria if isinstance(asked, Choice) else {}
    texts: list[str] = []
    for place, key in enumerate(question.keys):
        marks = [f"place{place}of{len(question.keys)}"]
        for name in ("price", "price_level", "popularity"):
            values = [float(question.features[other].get(name) or 0) for other in question.keys]
            marks.append(f"{name}rank{sorted(values).index(values[place])}of{len(values)}")
        texts.append(" ".join([key, str(described.get(key) or ""), *marks]))
    return texts


def _pipeline() -> Any:
    try:
        from sklearn.feature_extraction.text import CountVectorizer  # pyright: ignore[reportMissingTypeStubs]
        from sklearn.linear_model import LogisticRegression  # pyright: ignore[reportMissingTypeStubs]
        from sklearn.pipeline import make_pipeline  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
    except ImportError as error:
        raise ConfigError("the state-blind audit needs scikit-learn; install forthwith[prove]") from error
    words: Any = CountVectorizer(ngram_range=(1, 2), binary=True, min_df=2, token_pattern=r"(?u)\b\w+\b")
    return make_pipeline(words, LogisticRegression(C=0.3, max_iter=400))  # pyright: ignore[reportUnknownVariableType]


def _fit(model: Any, texts: list[str], labels: list[int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that has not converged is still a fair guesser
        model.fit(texts, labels)
