"""The audit of a data set and the gates that stop a release: shortcuts, a learned state-blind guesser, balance, ceiling."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forthwith.errors import DataError
from forthwith.personal.blind import BlindScore, blind_baseline
from forthwith.personal.ceiling import PickCeiling, pick_ceiling
from forthwith.personal.kb.knowledge import KnowledgeBase
from forthwith.personal.shortcuts import HardQuestion, Shortcut, hard_questions, shortcut_baselines
from forthwith.schema import Record, read_records

__all__ = ["AuditLimits", "AuditReport", "Gate", "audit", "audit_file"]


@dataclass(frozen=True)
class AuditLimits:
    """How far above chance a data set may lie, in accuracy; noise is added where a guesser is learned.

    Attributes:
        shortcut: for fixed rules on any family.
        blind: for the learned state-blind guesser.
        noise_errors: standard errors of a guesser that are allowed for on top of `blind` and `shortcut`.
        label_gap: difference between the commonest and the rarest hard label of a family, as a share of its questions.
    """

    shortcut: float = 0.02
    blind: float = 0.03
    noise_errors: float = 2.0
    label_gap: float = 0.02


@dataclass(frozen=True)
class Gate:
    """One condition of a release: `value` must not exceed `limit`."""

    name: str
    value: float
    limit: float

    @property
    def ok(self) -> bool:
        """Whether the condition holds."""
        return self.value <= self.limit


@dataclass(frozen=True)
class AuditReport:
    """Everything that was measured.

    Attributes:
        records: number of records; `repeated_states` those whose state occurred before.
        hard: hard questions by family; `soft` those without a hard label.
        labels: hard labels by family; for pick_option by position.
        variants: questions by family and variant.
        scenarios: questions by family and scenario.
        noise_floor: by family, one standard error of a guesser's accuracy.
    """

    records: int
    repeated_states: int
    hard: dict[str, int]
    soft: dict[str, int]
    labels: dict[str, dict[str, int]]
    variants: dict[str, dict[str, int]]
    scenarios: dict[str, dict[str, int]]
    shortcuts: tuple[Shortcut, ...]
    blind: tuple[BlindScore, ...]
    ceiling: PickCeiling | None
    noise_floor: dict[str, float]
    gates: tuple[Gate, ...]

    @property
    def ok(self) -> bool:
        """Whether every gate holds."""
        return all(gate.ok for gate in self.gates)


def audit_file(
    path: str | Path,
    *,
    train: str | Path | None = None,
    kb: KnowledgeBase | None = None,
    limits: AuditLimits | None = None,
) -> AuditReport:
    """Audit a file of records; see `audit`.

    Raises:
        DataError: a bad record, or no hard question at all.
    """
    fit_on = None if train is None else list(read_records(train))
    try:
        return audit(list(read_records(path)), train=fit_on, kb=kb, limits=limits)
    except DataError as error:
        if error.path is None:
            raise DataError(error.reason, path) from error
        raise


def audit(
    records: Sequence[Record],
    *,
    train: Iterable[Record] | None = None,
    kb: KnowledgeBase | None = None,
    limits: AuditLimits | None = None,
) -> AuditReport:
    """Measure a data set against its own chance level.

    Args:
        records: what is to be released.
        train: what the learned guesser is fitted on; without it, cross-validation over the users of `records`.
        kb: for the ceiling of pick_option; left out without it.
        limits: of the gates.

    Raises:
        DataError: there is no hard question.
        ConfigError: scikit-learn is missing.
    """
    limits = limits or AuditLimits()
    questions = hard_questions(records)
    if not questions:
        raise DataError("there is no question with a hard label; is this a file of records?")
    shortcuts = tuple(shortcut_baselines(questions))
    blind = tuple(blind_baseline(questions, None if train is None else hard_questions(train)))
    labels = _labels(questions)
    states = Counter(str(record.state) for record in records)
    asked = [(record, qid) for record in records for qid in record.questions]
    hard = Counter(question.family for question in questions)
    every = Counter(record.family(qid) for record, qid in asked)
    return AuditReport(
        records=len(records),
        repeated_states=len(records) - len(states),
        hard=dict(sorted(hard.items())),
        soft={family: count - hard[family] for family, count in sorted(every.items())},
        labels=labels,
        variants=_by_family(asked, "variants"),
        scenarios=_by_family(asked, "scenarios"),
        shortcuts=shortcuts,
        blind=blind,
        ceiling=None if kb is None else pick_ceiling(questions, kb),
        noise_floor={score.family: score.standard_error for score in shortcuts},
        gates=_gates(limits, shortcuts, blind, labels, repeated=len(records) - len(states)),
    )


def _labels(questions: Sequence[HardQuestion]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for question in questions:
        place = f"{question.keys.index(question.label)} of {len(question.keys)}"
        key = place if question.features else question.label
        counts.setdefault(question.family, Counter())[key] += 1
    return {family: dict(sorted(found.items())) for family, found in sorted(counts.items())}


def _by_family(asked: Sequence[tuple[Record, str]], member: str) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for record, qid in asked:
        values: dict[str, Any] = record.meta.get(member) or {}
        value = values.get(qid)
        if value is not None:
            counts.setdefault(record.family(qid), Counter())[str(value).removeprefix("buried+")] += 1
    return {family: dict(sorted(found.items())) for family, found in sorted(counts.items())}


def _gates(
    limits: AuditLimits,
    shortcuts: Sequence[Shortcut],
    blind: Sequence[BlindScore],
    labels: dict[str, dict[str, int]],
    *,
    repeated: int,
) -> tuple[Gate, ...]:
    gates = [
        Gate(f"{score.family}: {score.name}", score.excess, limits.shortcut + _grain(score.questions))
        for score in shortcuts
    ]
    gates += [
        Gate(f"{score.family}: state-blind", score.excess, limits.blind + limits.noise_errors * score.standard_error)
        for score in blind
    ]
    for family, counts in labels.items():
        groups: dict[str, list[int]] = {}
        for label, count in counts.items():
            groups.setdefault(label.split(" of ")[-1] if " of " in label else "", []).append(count)
        gap = max(max(found) - min(found) for found in groups.values())
        total = sum(counts.values())
        gates.append(Gate(f"{family}: label gap", gap / total, limits.label_gap + _grain(total)))
    gates.append(Gate("repeated states", float(repeated), 0.0))
    return tuple(gates)


def _grain(questions: int) -> float:
    """What rounding to whole questions can do: two questions."""
    return 2 / questions if questions else math.inf
