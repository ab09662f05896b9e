"""Linked questions in training: each supervised question's siblings are asked beside it, with or without their own targets.

The four arms of a coherence study are settings of one function: primary alone, siblings supervised, penalty alone, both.
"""

from __future__ import annotations

from dataclasses import dataclass

from forthwith.coherence import Family, build_family
from forthwith.errors import RequestError
from forthwith.schema import Question, Record, Target

__all__ = ["LinkedQuestions", "with_siblings"]

_MARK = "~"


@dataclass(frozen=True)
class LinkedQuestions:
    """A primary question and its siblings, by the ids they have in the widened record."""

    family: Family
    primary: str
    siblings: dict[str, str]


def with_siblings(record: Record, seed: str, *, supervise: bool) -> tuple[Record, tuple[LinkedQuestions, ...]]:
    """The record with the siblings of each question that has a target.

    Args:
        record: the record.
        seed: of the choice of siblings where there are more than are asked; the gold option is always asked about.
        supervise: give the siblings the targets that follow from the primary's.
    """
    questions: dict[str, Question] = dict(record.questions)
    targets = dict(record.targets)
    families = dict(record.families)
    linked: list[LinkedQuestions] = []
    for qid, question in record.questions.items():
        if qid not in record.targets:
            continue
        target = record.targets[qid]
        family = _family(question, target, f"{seed}/{record.id}/{qid}")
        names = {sibling: f"{qid}{_MARK}{sibling}" for sibling in family.siblings}
        questions |= {names[sibling]: asked for sibling, asked in family.siblings.items()}
        families |= dict.fromkeys(names.values(), record.family(qid))
        if supervise:
            targets |= {names[sibling]: _sibling_target(family, sibling, target) for sibling in names}
        linked.append(LinkedQuestions(family, qid, names))
    update = {"questions": questions, "targets": targets, "families": families}
    return record.model_copy(update=update), tuple(linked)


def _family(question: Question, target: Target, seed: str) -> Family:
    if question.type == "noul":
        return build_family(question, seed=seed)
    return build_family(question, seed=seed, include=[target.best_key()])


def _sibling_target(family: Family, sibling: str, target: Target) -> Target:
    shares = target.distribution or {target.best_key(): 1.0}
    kind, _, name = sibling.partition(":")
    match kind:
        case "is":
            yes = shares.get(name, 0.0)
        case "at_least":
            yes = sum(share for level, share in shares.items() if int(level) >= int(name))
        case "not":
            yes = shares.get("false", 0.0)
        case "true_or_false":
            yes = shares.get("true", 0.0)
        case _:
            raise RequestError(f"{sibling!r} is no sibling of a {family.type}")
    return Target(label="true" if yes >= 0.5 else "false", distribution={"true": yes, "false": 1.0 - yes})
