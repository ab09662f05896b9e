"""The skeleton readout: all questions in one sequence, a form whose every value is read just before it would be written.

One pass answers a whole record. A later field sees the earlier fields' names, never their answers: every value in the text is the
same placeholder. Its probabilities may depend on the order of the fields.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from forthwith.encoding import Encoder, TreeBuilder
from forthwith.engine.protocol import TreeReading
from forthwith.errors import RequestError
from forthwith.prompt import instructions_text, load_template, noul_criteria, options_of, render_content
from forthwith.readout.protocol import Plan, Scores
from forthwith.schema import Choice, Noul, Request, Score

__all__ = ["SYMBOLS", "SkeletonReadout"]

SYMBOLS = string.ascii_uppercase + string.ascii_lowercase + string.digits
"""The 62 value symbols, in the order that options take them."""

_PLACEHOLDER = "decision"


class _Field(NamedTuple):
    read: int


class SkeletonReadout:
    """All questions of a request as one form; see the module."""

    @property
    def name(self) -> str:
        """Name of the readout; it has no settings."""
        return "skeleton"

    @property
    def template_sha256(self) -> str:
        """SHA-256 of the prompt template."""
        return load_template("skeleton").sha256

    def plan(self, request: Request, encoder: Encoder) -> Plan:
        """State → one segment with every field and the form; one read a field, of its symbols.

        Raises:
            RequestError: a question has more than 62 options.
        """
        template = load_template("skeleton")
        opening, closing = encoder.frame(template.fill("system"))
        tree = TreeBuilder(opening + encoder.text(template.fill("state", state=render_content(request.state))))
        fields: list[str] = []
        counts: list[int] = []
        for place, (qid, question) in enumerate(request.questions.items(), start=1):
            options = _options(question)
            if len(options) > len(SYMBOLS):
                raise RequestError(f"questions.{qid}.criteria: the skeleton readout has {len(SYMBOLS)} symbols and this"
                                   f" question {len(options)} options; use the branch readout")  # fmt: skip
            fields.append(_field(str(place), question, options))
            counts.append(len(options))
        form = encoder.text("\n" + "\n".join(fields)) + closing
        offsets: list[tuple[int, tuple[int, ...]]] = []
        placeholder = encoder.text(_PLACEHOLDER)
        for place, count in enumerate(counts, start=1):
            # Every value stands behind an opening quote: there letters and digits are single tokens in every tokenizer seen.
            cue = encoder.text(('"\n' if place > 1 else "") + template.fill("form", place=str(place)))
            candidates = encoder.remembered(("symbols", cue), lambda cue=cue: encoder.candidates(cue, SYMBOLS))
            form += cue
            offsets.append((len(form) - 1, candidates[:count]))
            form += placeholder
        segment = tree.add(form)
        reads = [tree.read(segment, candidates, offset) for offset, candidates in offsets]
        places = {qid: _Field(read) for qid, read in zip(request.questions, reads, strict=True)}
        return Plan((tree.build(),), places)

    def scores(
        self,
        plan: Plan,
        readings: Sequence[TreeReading],
        prior_readings: Sequence[TreeReading],  # noqa: ARG002 - this readout has no prior
    ) -> dict[str, Scores]:
        """Log-probabilities of each field's symbols."""
        places: Mapping[str, _Field] = plan.places
        return {qid: _field_scores(readings[0], place.read) for qid, place in places.items()}


def _field_scores(reading: TreeReading, read: int) -> Scores:
    log_probs = reading.log_probs[read]
    return Scores(log_probs, float(np.exp(log_probs).sum()), reading.lost_mass[read])


def _options(question: Noul | Choice | Score) -> list[str]:
    return ["no", "yes"] if isinstance(question, Noul) else options_of(question)


def _field(place: str, question: Noul | Choice | Score, options: list[str]) -> str:
    template = load_template("skeleton")
    lines = [template.fill("question", place=place, instructions=instructions_text(question))]
    if isinstance(question, Noul) and (criteria := noul_criteria(question)):
        lines.append(criteria.removesuffix("\n"))
    lines += [
        template.fill("option", label=symbol, option=option) for symbol, option in zip(SYMBOLS, options, strict=False)
    ]
    return "\n".join(lines)
