"""Answers of a model in training on records: the numbers inference would give, from large packed passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from forthwith.metrics import ece
from forthwith.schema import Record
from forthwith.training.batching import QUESTION_TYPES, MicroBatch
from forthwith.training.forward import DeviceTargets, TreeForward, option_values
from forthwith.training.streaming import RowStream

__all__ = [
    "ScoredAnswer",
    "TaskFigures",
    "macro",
    "record_stream",
    "score_batches",
    "task_figures",
    "validation_batches",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ScoredAnswer:
    """One question as the model answers it at temperature 1.

    Attributes:
        record_id: whose question.
        family: what it counts under.
        type: noul, choice or score.
        log_scores: shape (K,), nats, up to a constant.
        target: shape (K,), gold distribution.
        label: index of the right option.
    """

    record_id: str
    family: str
    type: str
    log_scores: FloatArray
    target: FloatArray
    label: int

    @property
    def probabilities(self) -> FloatArray:
        """Softmax of the log-scores."""
        shifted = np.exp(self.log_scores - self.log_scores.max())
        return shifted / shifted.sum()

    @property
    def is_right(self) -> bool:
        """Whether the likeliest option is the label."""
        return int(np.argmax(self.log_scores)) == self.label


@dataclass(frozen=True)
class TaskFigures:
    """One task's accuracy, negative log-likelihood (nats) and calibration error (15 equal-width bins, closed on the right)."""

    task: str
    count: int
    accuracy: float
    nll: float
    ece: float


def score_batches(
    forward: TreeForward,
    batches: Iterable[MicroBatch],
    autocast: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> Iterator[ScoredAnswer]:
    """One answer a question; a batch is read while the next one runs."""
    waiting: tuple[MicroBatch, torch.Tensor] | None = None
    was_training = forward.model.training
    forward.model.eval()
    try:
        for batch in batches:
            with torch.no_grad(), autocast():
                targets = DeviceTargets.of(batch, forward.device)
                values = option_values(forward(batch, targets.tokens).logits, targets)
            if waiting is not None:
                yield from _answers(*waiting)
            waiting = (batch, values)
        if waiting is not None:
            yield from _answers(*waiting)
    finally:
        forward.model.train(was_training)


def _answers(batch: MicroBatch, values: torch.Tensor) -> Iterator[ScoredAnswer]:
    numbers: FloatArray = values.cpu().double().numpy()
    targets = batch.targets
    records = np.repeat(np.arange(len(batch.record_ids)), batch.question_counts)
    for number, (options, target) in enumerate(zip(targets.options, targets.target, strict=True)):
        used = options >= 0
        yield ScoredAnswer(
            batch.record_ids[int(records[number])],
            batch.families[number],
            QUESTION_TYPES[int(targets.kind[number])],
            numbers[options[used]],
            target[used].astype(np.float64),
            int(targets.label[number]),
        )


def validation_batches(source: RowStream) -> Iterator[MicroBatch]:
    """Every record once, in the order given, unaltered."""
    for placed in source.batches():
        if placed.after.epoch > 0:
            yield placed.batch
            return
        yield placed.batch


def task_figures(answers: Sequence[ScoredAnswer]) -> list[TaskFigures]:
    """Figures by family, in name order."""
    by_family: dict[str, list[ScoredAnswer]] = {}
    for answer in answers:
        by_family.setdefault(answer.family, []).append(answer)
    return [_figures(name, group) for name, group in sorted(by_family.items())]


def _figures(name: str, answers: Sequence[ScoredAnswer]) -> TaskFigures:
    right = np.array([answer.is_right for answer in answers], dtype=np.float64)
    confidence = np.array([answer.probabilities.max() for answer in answers])
    nll = [-float(answer.target @ np.log(np.maximum(answer.probabilities, 1e-12))) for answer in answers]
    error = ece(confidence, right, n_bins=15, closed="right")
    return TaskFigures(name, len(answers), float(right.mean()), float(np.mean(nll)), error)


def macro(figures: Sequence[TaskFigures], name: str) -> float:
    """Unweighted mean of a figure over tasks."""
    return float(np.mean([getattr(figure, name) for figure in figures])) if figures else float("nan")


def record_stream(records: Sequence[Record], source: RowStream) -> RowStream:
    """A stream of other records with the same planner and shape."""
    return replace(source, records=records, general=(), general_share=0.0, cached=None)
