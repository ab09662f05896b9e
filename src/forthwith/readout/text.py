"""The text readout: how much likelier an option's own words become once the state is known. Needs no training.

Score of option k: log p(text_k | state, question) - log p(text_k | content-free state, question), summed over its tokens
(the domain-conditional pointwise mutual information of Holtzman et al. 2021, Surface Form Competition).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from forthwith.encoding import Encoder, TreeBuilder
from forthwith.engine.protocol import TreeReading
from forthwith.prompt import (
    CONTENT_FREE_STATE,
    instructions_text,
    load_template,
    noul_criteria,
    option_text,
    render_content,
)
from forthwith.readout.protocol import Plan, Scores
from forthwith.schema import Choice, Noul, Request, Score, option_descriptions, option_keys

__all__ = ["TextReadout"]

_NOTHING = "-"  # an option without any text must still be something to read


class TextReadout:
    """Option text likelihood, less that under a content-free state."""

    @property
    def name(self) -> str:
        """Name of the readout; it has no settings."""
        return "text"

    @property
    def template_sha256(self) -> str:
        """SHA-256 of the prompt template."""
        return load_template("text").sha256

    def plan(self, request: Request, encoder: Encoder) -> Plan:
        """State → question and assistant's turn → option texts; one read a token of each option."""
        tree, places = self._tree(request, encoder, render_content(request.state))
        prior, _ = self._tree(request, encoder, CONTENT_FREE_STATE)
        return Plan((tree.build(),), places, (prior.build(),))

    def _tree(self, request: Request, encoder: Encoder, state: str) -> tuple[TreeBuilder, dict[str, tuple[range, ...]]]:
        template = load_template("text")
        opening, closing = encoder.frame(template.fill("system"))
        tree = TreeBuilder(opening + encoder.text(template.fill("state", state=state)))
        places: dict[str, tuple[range, ...]] = {}
        for qid, question in request.questions.items():
            head = "\n" + template.fill("question", instructions=instructions_text(question))
            if isinstance(question, Noul):
                head += "\n" + template.fill("noul", criteria=noul_criteria(question))
            parent = tree.add(encoder.text(head) + closing)
            texts = encoder.texts(_option_texts(question))
            places[qid] = tuple(tree.read_continuation(parent, ids) for ids in texts)
        return tree, places

    def scores(
        self, plan: Plan, readings: Sequence[TreeReading], prior_readings: Sequence[TreeReading]
    ) -> dict[str, Scores]:
        """Pointwise mutual information of each option's text with the state, in nats."""
        with_state, without = readings[0], prior_readings[0]
        places: Mapping[str, tuple[range, ...]] = plan.places
        return {
            qid: Scores(
                np.array([_log_likelihood(with_state, reads) - _log_likelihood(without, reads) for reads in options]),
                lost_mass=max(with_state.lost_mass[read] for reads in options for read in reads),
            )
            for qid, options in places.items()
        }


def _log_likelihood(reading: TreeReading, reads: range) -> float:
    return float(sum(reading.log_probs[read][0] for read in reads))


def _option_texts(question: Noul | Choice | Score) -> list[str]:
    match question:
        case Noul():
            return ["No", "Yes"]
        case Choice():
            return [
                option_text(key, description, show_key=False) or key or _NOTHING
                for key, description in zip(option_keys(question), option_descriptions(question), strict=True)
            ]
        case Score():
            return [option_text("", description, show_key=False) or _NOTHING for description in question.criteria]
