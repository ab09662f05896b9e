"""Learned baselines that do not read the state: what the question's own words, or a shortcut, give away.

A benchmark is sound where they stay near chance. Both are cross-fitted over clusters, so nothing is scored by a model
that saw its answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from forthwith.errors import ConfigError, DataError
from forthwith.metrics import FloatArray, IntArray
from forthwith.schema import Record, option_descriptions, option_keys

__all__ = ["BlindResult", "Shortcut", "shortcut_accuracy", "state_blind_accuracy", "usual_shortcuts"]

Feature = Callable[[Record, str, int], float]


class BlindResult(BaseModel):
    """Accuracy that needs no reading, by family, against chance (mean 1/K) and the binomial half-width at chance."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    n_questions: int
    accuracy: float
    chance: float
    half_width: float
    is_above_chance: bool


@dataclass(frozen=True)
class Shortcut:
    """A number for one option of one question; the shortcut answers with the option of the largest number."""

    name: str
    value: Feature


@dataclass(frozen=True)
class _Example:
    family: str
    cluster: str
    texts: list[str]
    label: int


def state_blind_accuracy(records: Sequence[Record], *, folds: int = 5, seed: int = 20260930) -> dict[str, BlindResult]:
    """A bag of words over question, option and position, without the state, by family.

    Each option becomes one text; a logistic regression learns which options are right, and the likeliest option of a
    question is its answer.

    Args:
        records: with targets.
        folds: of clusters.
        seed: of the folds.

    Raises:
        DataError: no question with one right answer.
        ConfigError: scikit-learn is missing, or fewer than two folds.
    """
    if folds < 2:
        raise ConfigError(f"folds is {folds}; cross-fitting needs at least 2", "folds")
    examples = _examples(records)
    found: dict[str, BlindResult] = {}
    for family in sorted({example.family for example in examples}):
        members = [example for example in examples if example.family == family]
        predicted = _cross_fitted(members, folds, seed)
        if predicted is not None:
            right = predicted == np.array([example.label for example in members])
            found[family] = _result("bag of words", right, [len(example.texts) for example in members])
    return found


def shortcut_accuracy(records: Sequence[Record], shortcuts: Sequence[Shortcut]) -> dict[str, dict[str, BlindResult]]:
    """Accuracy of each shortcut in each family (family → shortcut → result). Ties go to the first option.

    Raises:
        DataError: no question with one right answer.
    """
    found: dict[str, dict[str, BlindResult]] = {}
    rows: dict[str, list[tuple[Record, str, int, int]]] = {}
    for record in records:
        for qid, label in _labels(record):
            size = len(option_keys(record.questions[qid]))
            rows.setdefault(record.family(qid), []).append((record, qid, label, size))
    if not rows:
        raise DataError("no question has one right answer; label some without ties")
    for family, members in sorted(rows.items()):
        sizes = [size for *_, size in members]
        for shortcut in shortcuts:
            right = [
                int(np.argmax([shortcut.value(record, qid, option) for option in range(size)])) == label
                for record, qid, label, size in members
            ]
            found.setdefault(family, {})[shortcut.name] = _result(shortcut.name, np.array(right), sizes)
    return found


def usual_shortcuts() -> tuple[Shortcut, ...]:
    """First and last option, longest and shortest description, largest number in it, most words shared with the state."""
    return (
        Shortcut("first option", lambda _record, _qid, option: -float(option)),
        Shortcut("last option", lambda _record, _qid, option: float(option)),
        Shortcut("longest option", lambda record, qid, option: float(len(_option_text(record, qid, option)))),
        Shortcut("shortest option", lambda record, qid, option: -float(len(_option_text(record, qid, option)))),
        Shortcut("largest number", _largest_number),
        Shortcut("most words of the state", _shared_words),
    )


def _cross_fitted(members: list[_Example], folds: int, seed: int) -> IntArray | None:
    """Answers by models that did not see the cluster; None where there are fewer clusters than folds."""
    pipeline = _pipeline()
    _, cluster = np.unique(np.array([example.cluster for example in members]), return_inverse=True)
    n_clusters = int(cluster.max()) + 1
    if n_clusters < folds:
        return None
    fold = (np.random.default_rng(seed).permutation(n_clusters) % folds)[cluster]
    predicted = np.zeros(len(members), dtype=np.int64)
    for held_out in range(folds):
        train = [example for example, here in zip(members, fold, strict=True) if here != held_out]
        texts = [text for example in train for text in example.texts]
        right = [option == example.label for example in train for option in range(len(example.texts))]
        pipeline.fit(texts, right)
        for place in np.flatnonzero(fold == held_out).tolist():
            predicted[place] = int(np.argmax(pipeline.decision_function(members[place].texts)))
    return predicted


def _pipeline() -> Any:
    try:
        from sklearn.feature_extraction.text import CountVectorizer  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
        from sklearn.linear_model import LogisticRegression  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
        from sklearn.pipeline import make_pipeline  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
    except ImportError as error:
        raise ConfigError("the bag of words needs scikit-learn; install forthwith[prove]") from error
    words = CountVectorizer(binary=True, ngram_range=(1, 2), token_pattern=r"(?u)\S+")
    return make_pipeline(words, LogisticRegression(max_iter=500))  # pyright: ignore[reportUnknownVariableType]


def _examples(records: Sequence[Record]) -> list[_Example]:
    examples: list[_Example] = []
    for record in records:
        for qid, label in _labels(record):
            question = record.questions[qid]
            asked = _text(question.instructions)
            texts = [
                f"{asked} position:{option} of:{len(option_keys(question))} {_option_text(record, qid, option)}"
                for option in range(len(option_keys(question)))
            ]
            cluster = record.user_id or record.cluster_id
            examples.append(_Example(record.family(qid), cluster, texts, label))
    if not examples:
        raise DataError("no question has one right answer; label some without ties")
    return examples


def _labels(record: Record) -> list[tuple[str, int]]:
    return [
        (qid, option_keys(question).index(target.best_key()))
        for qid, question in record.questions.items()
        if (target := record.targets.get(qid)) is not None and not target.is_ambiguous()
    ]


def _option_text(record: Record, qid: str, option: int) -> str:
    question = record.questions[qid]
    return f"key:{option_keys(question)[option]} {_text(option_descriptions(question)[option])}"


def _text(content: object) -> str:
    if content is None:
        return ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, sort_keys=True)


def _largest_number(record: Record, qid: str, option: int) -> float:
    numbers = [
        float(word.replace(",", "").strip("$€£.:;"))
        for word in _option_text(record, qid, option).split()
        if word.replace(",", "").strip("$€£.:;").replace(".", "", 1).isdigit()
    ]
    return max(numbers, default=float("-inf"))


def _shared_words(record: Record, qid: str, option: int) -> float:
    state: Mapping[str, Any] | str = record.state
    known = set(_text(state).lower().split())
    return float(len(known & set(_option_text(record, qid, option).lower().split())))


def _result(name: str, right: np.ndarray[Any, np.dtype[np.bool_]], sizes: Sequence[int]) -> BlindResult:
    one_over: FloatArray = 1 / np.asarray(sizes, dtype=np.float64)
    chance, n = float(one_over.mean()), right.size
    half_width = float(1.959964 * np.sqrt(chance * (1 - chance) / n))
    accuracy = float(right.mean())
    return BlindResult(
        name=name,
        n_questions=n,
        accuracy=accuracy,
        chance=chance,
        half_width=half_width,
        is_above_chance=accuracy > chance + half_width,
    )
