"""What a renderer hands back: the state text, the worded questions, and the spelling of every anchor that it used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from forthwith.personal.fragment import Anchor
from forthwith.personal.vocabulary import Family

__all__ = ["QuestionText", "RenderedAnchor", "RenderedRecord", "Wording"]

Wording = Literal["seen", "held_out"]
"""Whether a text uses the phrasings of training or only those held out from it."""


@dataclass(frozen=True, slots=True)
class QuestionText:
    """One worded question.

    Attributes:
        qid: the question id, equal to the family.
        criteria: (key, description) in displayed order; noul keys are "true" and "false", score keys "0" to "3".
    """

    qid: str
    family: Family
    type: Literal["noul", "choice", "score"]
    instructions: str
    criteria: tuple[tuple[str, str], ...]

    def payload(self) -> dict[str, Any]:
        """The question as the record schema writes it: criteria an object, for a score the list of its levels."""
        criteria: object = dict(self.criteria)
        if self.type == "score":
            criteria = [description for _, description in self.criteria]
        return {"type": self.type, "instructions": self.instructions, "criteria": criteria}


@dataclass(frozen=True, slots=True)
class RenderedAnchor:
    """An anchor as the text spells it.

    Attributes:
        qid: the question that needs it.
        anchor: the value, its role and the snapshot line that says it.
        text: the spelling in the state, e.g. "9 March 2021" for 2021-03-09.
        context: the whole phrase of the snapshot line in the state; None where an outside writer wrote the text.
    """

    qid: str
    anchor: Anchor
    text: str
    context: str | None


@dataclass(frozen=True, slots=True)
class RenderedRecord:
    """A draft in words.

    Attributes:
        state: the text that a decision model reads.
        anchors: required anchors by question, in the order of the fragments.
        style_id: the rendering style.
        renderer: "template", or the name of the outside writer.
        wording: which share of the phrasings was used.
        buried: number of unrelated documents in the state.
        unburied: the state before documents were inserted.
    """

    record_id: str
    state: str
    questions: tuple[QuestionText, ...]
    anchors: tuple[RenderedAnchor, ...]
    style_id: str
    renderer: str
    wording: Wording
    buried: int
    unburied: str
