"""The label readout: options carry one-token labels, and the next token's distribution over them is the answer.

Choice labels are A, B, C, … (then two letters) as far as they are single tokens behind the answer cue; noul answers no or yes,
score answers a digit. A choice may be asked under several balanced orders, averaged as probabilities or as log-mean, and divided
by the answer that the same question gets under a content-free state (Zhao et al. 2021, Calibrate Before Use).
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from forthwith.calibration import FloatArray, log_softmax
from forthwith.encoding import Encoder, TreeBuilder
from forthwith.engine.protocol import TreeReading
from forthwith.errors import ArtifactError
from forthwith.prompt import (
    CONTENT_FREE_STATE,
    instructions_text,
    load_template,
    noul_criteria,
    options_of,
    render_content,
)
from forthwith.readout.branch import YES_NO_WORDS
from forthwith.readout.protocol import Plan, Scores
from forthwith.schema import Choice, Noul, Request, Score

__all__ = ["LabelReadout", "balanced_orders", "find_identifiers"]


class _Place(NamedTuple):
    reads: tuple[int, ...]  # one an order
    orders: tuple[tuple[int, ...], ...]  # option index shown at each place


@dataclass(frozen=True)
class LabelReadout:
    """Labels as candidates at one leaf a question and order.

    Attributes:
        orders: option orders asked of a choice; 1 keeps the order given.
        average: how several orders are combined: mean of probabilities, or mean of log-probabilities.
        divide_prior: whether the content-free answer is divided out.
    """

    orders: int = 1
    average: Literal["probability", "log"] = "probability"
    divide_prior: bool = False

    @property
    def name(self) -> str:
        """`label` with its settings."""
        parts = [f"orders={self.orders},{self.average}"] if self.orders > 1 else []
        parts += ["prior"] if self.divide_prior else []
        return f"label({','.join(parts)})" if parts else "label"

    @property
    def template_sha256(self) -> str:
        """SHA-256 of the prompt template."""
        return load_template("label").sha256

    def plan(self, request: Request, encoder: Encoder) -> Plan:
        """State → questions → orders; one read a leaf, of the labels in the order shown."""
        tree, places = self._tree(request, encoder, render_content(request.state))
        priors = (self._tree(request, encoder, CONTENT_FREE_STATE)[0].build(),) if self.divide_prior else ()
        return Plan((tree.build(),), places, priors)

    def _tree(self, request: Request, encoder: Encoder, state: str) -> tuple[TreeBuilder, dict[str, _Place]]:
        template = load_template("label")
        opening, closing = encoder.frame(template.fill("system"))
        tree = TreeBuilder(opening + encoder.text(template.fill("state", state=state)))
        places: dict[str, _Place] = {}
        for qid, question in request.questions.items():
            parent = tree.add(encoder.text("\n" + template.fill("question", instructions=instructions_text(question))))
            labels, candidates = _labels(question, encoder, closing)
            count = len(labels)
            orders = balanced_orders(count, self.orders) if isinstance(question, Choice) else (tuple(range(count)),)
            reads: list[int] = []
            for order in orders:
                body = self._body(question, labels, order)
                reads.append(tree.read(tree.add(encoder.text(body) + closing, parent), candidates))
            places[qid] = _Place(tuple(reads), orders)
        return tree, places

    def _body(self, question: Noul | Choice | Score, labels: Sequence[str], order: tuple[int, ...]) -> str:
        template = load_template("label")
        ask = "\n" + template.fill("ask", labels=", ".join(labels if len(labels) > 2 else reversed(labels)))
        if isinstance(question, Noul):
            criteria = noul_criteria(question).removesuffix("\n")
            return (f"\n{criteria}" if criteria else "") + ask
        options = options_of(question)
        shown = (
            template.fill("option", label=labels[place], option=options[index]) for place, index in enumerate(order)
        )
        return "".join(f"\n{line}" for line in shown) + ask

    def scores(
        self, plan: Plan, readings: Sequence[TreeReading], prior_readings: Sequence[TreeReading]
    ) -> dict[str, Scores]:
        """Log of the order-averaged restricted distribution, one number an option."""
        prior = prior_readings[0] if prior_readings else None
        return {qid: self._question_scores(place, readings[0], prior) for qid, place in plan.places.items()}

    def _question_scores(self, place: _Place, reading: TreeReading, prior: TreeReading | None) -> Scores:
        by_order: list[FloatArray] = []
        for read, order in zip(place.reads, place.orders, strict=True):
            shown = reading.log_probs[read]
            if prior is not None:
                shown = shown - log_softmax(prior.log_probs[read])
            keyed = np.empty_like(shown)
            keyed[list(order)] = shown
            by_order.append(keyed)
        allowed = float(np.mean([np.exp(reading.log_probs[read]).sum() for read in place.reads]))
        lost = max(reading.lost_mass[read] for read in place.reads)
        return Scores(_average(np.stack(by_order), self.average), allowed, lost)


def _average(by_order: FloatArray, average: str) -> FloatArray:
    if len(by_order) == 1:
        return by_order[0]
    normalised = log_softmax(by_order)  # (orders, K)
    if average == "log":
        return np.mean(normalised, axis=0)
    return np.log(np.mean(np.exp(normalised), axis=0))


def balanced_orders(count: int, orders: int) -> tuple[tuple[int, ...], ...]:
    """`orders` orders of `count` options: evenly spaced rotations, then rotations of the reverse.

    With `orders` a multiple of `count`, every option stands equally often at every place.
    """
    forward = tuple(range(count))
    rotations = min(orders, count)
    turns = [forward[step * count // rotations :] + forward[: step * count // rotations] for step in range(rotations)]
    mirrored = [turn[::-1] for turn in turns]
    return tuple((turns + mirrored * ((orders - 1) // count))[:orders])


def find_identifiers(encoder: Encoder, cue: tuple[int, ...], count: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The first `count` of A … Z, AA, AB, … that are distinct single tokens behind the cue, and their tokens.

    Raises:
        ArtifactError: the tokenizer has fewer.
    """
    names: list[str] = []
    tokens: list[int] = []
    for name in _identifier_names():
        token = encoder.single_token(cue, name)
        if token is not None and token not in tokens:
            names.append(name)
            tokens.append(token)
            if len(names) == count:
                return tuple(names), tuple(tokens)
    raise ArtifactError("too few one-token labels for this choice; use the branch readout", count, len(names))


def _identifier_names() -> Iterator[str]:
    for length in (1, 2, 3):
        for letters in product(string.ascii_uppercase, repeat=length):
            yield "".join(letters)


def _labels(
    question: Noul | Choice | Score, encoder: Encoder, closing: tuple[int, ...]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    match question:
        case Noul():
            candidates, words = encoder.word_pair(closing, YES_NO_WORDS)
            return words, candidates
        case Choice():
            return encoder.remembered(
                ("identifiers", closing, len(question.criteria)),
                lambda: find_identifiers(encoder, closing, len(question.criteria)),
            )
        case Score():
            digits = tuple(str(level) for level in range(len(question.criteria)))
            return digits, encoder.remembered(
                ("digits", closing, len(digits)), lambda: encoder.candidates(closing, digits)
            )
