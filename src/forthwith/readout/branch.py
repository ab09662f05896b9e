"""The branch readout: every option is its own branch, and the model says yes or no to each.

Score of option k: s_k = log p(yes) - log p(no) at the end of its branch. No option sees another, so their order cannot matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forthwith.encoding import Encoder, TreeBuilder
from forthwith.engine.protocol import TreeReading
from forthwith.prompt import instructions_text, load_template, noul_criteria, options_of, render_content
from forthwith.readout.protocol import Plan, Scores
from forthwith.schema import Choice, Noul, Request, Score

__all__ = ["YES_NO_WORDS", "BranchReadout"]

YES_NO_WORDS = (("no", "yes"), ("No", "Yes"), (" no", " yes"), (" No", " Yes"))
"""Spellings of the two answers, in the order they are tried."""


class BranchReadout:
    """One branch an option (a noul is one branch); see the module."""

    def __init__(self) -> None:
        self._template = load_template("branch")

    @property
    def name(self) -> str:
        """Name of the readout; it has no settings."""
        return "branch"

    @property
    def template_sha256(self) -> str:
        """SHA-256 of the prompt template."""
        return self._template.sha256

    def plan(self, request: Request, encoder: Encoder) -> Plan:
        """State → questions → options; one read a leaf, of the tokens for no and yes."""
        template = self._template
        opening, closing = encoder.frame(template.fill("system"))
        candidates, _ = encoder.word_pair(closing, YES_NO_WORDS)
        tree = TreeBuilder(opening + encoder.text(template.fill("state", state=render_content(request.state))))
        places: dict[str, tuple[int, ...]] = {}
        for qid, question in request.questions.items():
            head = encoder.text("\n" + template.fill("question", instructions=instructions_text(question)))
            parent = tree.add(head)
            branches = encoder.texts([f"\n{text}" for text in self._branches(question)])
            leaves = [tree.add(branch + closing, parent) for branch in branches]
            places[qid] = tuple(tree.read(leaf, candidates) for leaf in leaves)
        return Plan((tree.build(),), places)

    def _branches(self, question: Noul | Choice | Score) -> list[str]:
        template = self._template
        match question:
            case Noul():
                return [template.fill("noul", criteria=noul_criteria(question))]
            case Choice():
                return [template.fill("choice", option=option) for option in options_of(question)]
            case Score():
                levels = str(len(question.criteria))
                return [
                    template.fill("score", option=option, level=str(level), levels=levels)
                    for level, option in enumerate(options_of(question), start=1)
                ]

    def scores(
        self,
        plan: Plan,
        readings: Sequence[TreeReading],
        prior_readings: Sequence[TreeReading],  # noqa: ARG002 - this readout has no prior
    ) -> dict[str, Scores]:
        """Log-odds of yes, one an option; for a noul the log-probabilities of no and yes."""
        reading = readings[0]
        return {qid: self._question_scores(reading, reads) for qid, reads in plan.places.items()}

    def _question_scores(self, reading: TreeReading, reads: tuple[int, ...]) -> Scores:
        log_probs = np.stack([reading.log_probs[index] for index in reads])  # (branches, 2): no, yes
        allowed = float(np.exp(log_probs).sum() / len(reads))
        lost = max(reading.lost_mass[index] for index in reads)
        if len(reads) == 1:
            return Scores(log_probs[0], allowed, lost)
        log_odds = log_probs[:, 1] - log_probs[:, 0]
        return Scores(log_odds, allowed, lost, none_score=float(np.max(log_odds)))
