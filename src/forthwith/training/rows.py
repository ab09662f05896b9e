"""Records to training rows: the token tree that inference would read, and what each of its reads should say.

A row holds one record with all its questions. The tree comes from `readout.plan` alone, so training and inference read the same
bytes. Uses a tokenizer, never weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from forthwith.coherence import Family
from forthwith.encoding import Encoder, TokenTree
from forthwith.errors import DataError
from forthwith.readout import Plan, Readout
from forthwith.schema import Choice, Noul, Record, Score, option_keys
from forthwith.training.siblings import LinkedQuestions

__all__ = ["RowQuestion", "RowRules", "TrainingRow", "Unusable", "training_row"]

QuestionType = Literal["noul", "choice", "score"]


class RowQuestion(NamedTuple):
    """One supervised question of a row.

    Attributes:
        type: noul, choice or score.
        reads: the tree's reads that answer it: one an option (each of no and yes), or a single one of K candidates.
        is_branched: whether there is one read an option.
        target: gold distribution over the options in the order read; all zero where no option is right.
        label: index of the right option in the order read; -1 where none is.
        weight: in the loss.
        family: what the question counts under in figures.
    """

    type: QuestionType
    reads: tuple[int, ...]
    is_branched: bool
    target: tuple[float, ...]
    label: int
    weight: float
    family: str


class LinkedRow(NamedTuple):
    """A family of the row's questions: each entry of its vector as (question of the row, option)."""

    family: Family
    entries: tuple[tuple[int, int], ...]
    weight: float


@dataclass(frozen=True)
class TrainingRow:
    """One record, ready to pack."""

    record_id: str
    tree: TokenTree
    questions: tuple[RowQuestion, ...]
    links: tuple[LinkedRow, ...] = ()

    @property
    def size(self) -> int:
        """Tokens."""
        return self.tree.size


class Unusable(NamedTuple):
    """A record that gives no row, why, and what to do about it."""

    record_id: str
    reason: str
    remedy: str

    @property
    def refusal(self) -> str:
        """What a run says that does not skip such records."""
        return f"record {self.record_id!r} cannot be trained on: {self.reason}; {self.remedy}"


@dataclass(frozen=True)
class RowRules:
    """What turns targets to training targets.

    Attributes:
        soft_targets: use shares where given, else the label.
        label_smoothing: share moved to the uniform distribution.
        max_tokens: longest path.
    """

    soft_targets: bool = True
    label_smoothing: float = 0.0
    max_tokens: int = 8192


def training_row(
    record: Record,
    readout: Readout,
    encoder: Encoder,
    rules: RowRules,
    *,
    weights: Mapping[str, float] | None = None,
    none_right: Iterable[str] = (),
    linked: Sequence[LinkedQuestions] = (),
) -> TrainingRow | Unusable:
    """The row of a record; questions without a usable target are left out of the loss but stay in the tree.

    Args:
        record: with targets.
        readout: which trees are built.
        encoder: the tokenizer.
        rules: see `RowRules`.
        weights: loss weight by question id; 1 for those not named.
        none_right: ids of questions whose right option was taken away.
        linked: families of the record's questions; their members are read even where they have no target.
    """
    unscored = {name for link in linked for name in link.siblings.values() if name not in record.targets}
    targets = {
        qid: vector
        for qid, question in record.questions.items()
        if (vector := _target(record, qid, question, rules, is_none=qid in none_right or qid in unscored)) is not None
    }
    if not targets:
        remedy = "give one of them a label or a distribution, or set batching.overlong to skip"
        return Unusable(record.id, "no question has a target", remedy)
    plan = readout.plan(record.request, encoder)
    tree = plan.trees[0]
    if tree.depth > rules.max_tokens:
        reason = f"its longest path has {tree.depth} tokens and the limit is {rules.max_tokens}"
        return Unusable(record.id, reason, "shorten it, raise batching.max_tokens, or set batching.overlong to skip")
    weight = dict(weights or {}) | dict.fromkeys(unscored, 0.0)
    questions: list[RowQuestion] = []
    first: dict[str, int] = {}
    for qid, target in targets.items():
        first[qid] = len(questions)
        questions += _questions(record, qid, plan, target, weight.get(qid, 1.0))
    links = tuple(_link(link, first, weight.get(link.primary, 1.0)) for link in linked if link.primary in first)
    return TrainingRow(record.id, tree, tuple(questions), links)


def _link(linked: LinkedQuestions, first: Mapping[str, int], weight: float) -> LinkedRow:
    family, primary = linked.family, first[linked.primary]
    if family.type == "noul":
        claim = first[linked.siblings["true_or_false"]]
        entries = [(primary, 1), (first[linked.siblings["not"]], 1), (claim, 0), (claim, 1)]
    else:
        entries = [(primary, option) for option in range(family.options)]
        entries += [(first[name], 1) for name in linked.siblings.values()]
    return LinkedRow(family, tuple(entries), weight)


def _target(
    record: Record, qid: str, question: Noul | Choice | Score, rules: RowRules, *, is_none: bool
) -> tuple[float, ...] | None:
    keys = option_keys(question)
    if is_none:
        return (0.0,) * len(keys)
    target = record.targets.get(qid)
    if target is None or (target.is_ambiguous() and not rules.soft_targets):
        return None
    if rules.soft_targets:
        vector = target.vector(keys)
    else:
        best = target.best_key()
        vector = tuple(1.0 if key == best else 0.0 for key in keys)
    total = sum(vector)
    if total <= 0:
        raise DataError(f"{record.id}: the target of {qid!r} names none of its options {keys[:8]!r}")
    smooth = rules.label_smoothing
    return tuple((1.0 - smooth) * value / total + smooth / len(keys) for value in vector)


def _questions(record: Record, qid: str, plan: Plan, target: tuple[float, ...], weight: float) -> list[RowQuestion]:
    place: Any = plan.places[qid]
    kind = record.questions[qid].type
    family = record.family(qid)
    label = option_keys(record.questions[qid]).index(record.targets[qid].best_key()) if any(target) else -1
    if hasattr(place, "orders"):  # label: one read an order, each of all labels
        share = weight / len(place.reads)
        return [
            RowQuestion(
                kind,
                (read,),
                is_branched=False,
                target=tuple(target[index] for index in order),  # pyright: ignore[reportUnknownArgumentType]
                label=order.index(label) if label >= 0 else -1,
                weight=share,
                family=family,
            )
            for read, order in zip(place.reads, place.orders, strict=True)
        ]
    if hasattr(place, "read"):  # skeleton: one read of all symbols
        return [
            RowQuestion(
                kind, (place.read,), is_branched=False, target=target, label=label, weight=weight, family=family
            )
        ]
    return [RowQuestion(kind, tuple(place), kind != "noul", target, label, weight, family)]
