"""From a record to its row in a given epoch: augmentation, weights and limits in one place. Runs in worker processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from forthwith.encoding import Encoder
from forthwith.readout import Readout
from forthwith.schema import Record
from forthwith.training.augmentation import OptionPool, augmented
from forthwith.training.config import Augmentation, Data
from forthwith.training.randomness import stream
from forthwith.training.rows import RowRules, TrainingRow, Unusable, training_row
from forthwith.training.siblings import LinkedQuestions, with_siblings

__all__ = ["Planner", "task_of", "task_weights"]


@dataclass(frozen=True)
class Planner:
    """Makes the row of a record.

    Attributes:
        readout: which trees are built.
        encoder: the tokenizer.
        rules: how targets are taken and how long a path may be.
        weights: loss weight by task.
        augmentation: what is altered in training; None alters nothing.
        pool: options of other questions, to be used as distractors.
        seed: of the augmentation, and of the choice of siblings.
        asks_siblings: ask each question's siblings too.
        supervises_siblings: and give them targets.
    """

    readout: Readout
    encoder: Encoder
    rules: RowRules
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    augmentation: Augmentation | None = None
    pool: OptionPool = field(default_factory=OptionPool)
    seed: int = 0
    asks_siblings: bool = False
    supervises_siblings: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether a record's row is the same in every epoch."""
        return (self.augmentation is None or self.augmentation.is_off) and not self.asks_siblings

    def row(self, record: Record, epoch: int) -> TrainingRow | Unusable:
        """The record's row in an epoch; the same for the same seed, epoch and record."""
        weight = self.weights.get(task_of(record), 1.0)
        none_right: frozenset[str] = frozenset()
        if self.augmentation is not None and not self.augmentation.is_off:
            draw = stream(self.seed, "augmentation", epoch, record.id)
            record, none_right = augmented(record, self.augmentation, draw, self.pool)
        weights = {name: self.weights.get(record.families.get(name, ""), weight) for name in record.questions}
        linked: tuple[LinkedQuestions, ...] = ()
        if self.asks_siblings and not none_right:
            record, linked = with_siblings(record, f"{self.seed}/{epoch}", supervise=self.supervises_siblings)
            weights |= {name: weight / len(link.siblings) for link in linked for name in link.siblings.values()}
        return training_row(
            record, self.readout, self.encoder, self.rules, weights=weights, none_right=none_right, linked=linked
        )


def task_of(record: Record) -> str:
    """The task a record counts under."""
    return str(record.meta.get("task") or next(iter(record.families.values()), "") or "default")


def task_weights(records: Sequence[Record], data: Data) -> dict[str, float]:
    """Loss weight of each task: the balance by size, times the weight given by name or by `prefix*`; mean 1 over records.

    A family of questions that is no task of its own (the steps beside a rule) has an entry where it is named itself; its
    questions then weigh that much, whatever the record's task weighs.
    """
    counts = Counter(task_of(record) for record in records)
    raw = {task: _weight(task, data) * count**-data.balance for task, count in counts.items()}
    mean = sum(raw[task] * count for task, count in counts.items()) / max(1, sum(counts.values()))
    if data.task_weights:
        families = {family for record in records for family in record.families.values()} - raw.keys()
        raw |= {family: weight for family in families if (weight := _named_weight(family, data)) is not None}
    return {task: value / mean for task, value in raw.items()} if mean > 0 else raw


def _weight(task: str, data: Data) -> float:
    named = _named_weight(task, data)
    return 1.0 if named is None else named


def _named_weight(task: str, data: Data) -> float | None:
    if task in data.task_weights:
        return data.task_weights[task]
    prefixes = [name for name in data.task_weights if name.endswith("*") and task.startswith(name[:-1])]
    return data.task_weights[max(prefixes, key=len)] if prefixes else None
