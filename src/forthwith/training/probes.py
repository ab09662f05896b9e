"""A few fixed requests, scored before and after an export: equal scores show that the export is the model that was trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forthwith.encoding import Encoder
from forthwith.engine.protocol import Engine
from forthwith.errors import ArtifactError
from forthwith.readout import Readout, Scores
from forthwith.schema import Choice, Noul, Request, Score

__all__ = ["PROBE_REQUESTS", "ProbeGap", "compare_scores", "probe_scores"]

PROBE_REQUESTS: tuple[Request, ...] = (
    Request(
        state="The parcel was due on Monday. It is Thursday, the tracking page has not changed, and the shop does not reply.",
        questions={
            "topic": Choice(
                instructions="What is the message about?",
                criteria={
                    "delivery": "a late or lost parcel",
                    "refund": "money back",
                    "praise": "thanks",
                    "other": None,
                },
            ),
            "upset": Noul(instructions="Is the customer upset?"),
            "urgency": Score(instructions="How soon must someone act?", criteria=["this week", "today", "at once"]),
        },
    ),
    Request(
        state={"meeting": {"title": "Budget", "attendees": ["Ana", "Bo"], "minutes": 30}, "asked_by": "Bo"},
        questions={
            "short": Noul(instructions="Does the meeting last less than an hour?"),
            "who": Choice(
                instructions="Who asked for it?", criteria={"Ana": None, "Bo": None, "nobody": "nobody is named"}
            ),
        },
    ),
    Request(
        state="She opened the window because the room was warm.",
        questions={
            "why": Choice(
                instructions="Why did she open it?",
                criteria={"heat": "it was warm", "noise": "it was loud", "smoke": "there was smoke"},
            ),
            "cold": Noul(instructions="Was the room cold?"),
            "comfort": Score(instructions="How pleasant was the room?", criteria=["not at all", "somewhat", "very"]),
        },
    ),
)
"""Every question type, text and object states, described and undescribed options."""


@dataclass(frozen=True)
class ProbeGap:
    """How far two models' answers to the probes are apart.

    Attributes:
        questions: number of questions compared.
        largest: largest difference of a log-probability over a question's options, nats.
        answers_changed: questions whose likeliest option differs.
    """

    questions: int
    largest: float
    answers_changed: int


def probe_scores(
    engine: Engine, encoder: Encoder, readout: Readout, requests: Sequence[Request] = PROBE_REQUESTS
) -> list[Scores]:
    """Scores of every probe question, in order."""
    found: list[Scores] = []
    for request in requests:
        plan = readout.plan(request, encoder)
        readings = engine.evaluate([*plan.trees, *plan.prior_trees])
        count = len(plan.trees)
        scores = readout.scores(plan, readings[:count], readings[count:])
        found += [scores[qid] for qid in request.questions]
    return found


def compare_scores(expected: Sequence[Scores], found: Sequence[Scores]) -> ProbeGap:
    """The gap between two models' scores of the same probes."""
    gaps: list[float] = []
    changed = 0
    for one, other in zip(expected, found, strict=True):
        first, second = (score.log_scores - np.logaddexp.reduce(score.log_scores) for score in (one, other))
        gaps.append(float(np.max(np.abs(first - second))))
        changed += int(np.argmax(first) != np.argmax(second))
    return ProbeGap(len(gaps), max(gaps), changed)


def require_same(gap: ProbeGap, tolerance: float, what: str) -> ProbeGap:
    """Refuse an export whose answers differ.

    Raises:
        ArtifactError: a log-probability differs by more than the tolerance.
    """
    if gap.largest > tolerance:
        raise ArtifactError(
            f"the {what} does not answer as the trained model does: log-probabilities differ by up to {gap.largest:.4f}"
            f" on {gap.questions} probe questions and {gap.answers_changed} answers change", tolerance, gap.largest
        )  # fmt: skip
    return gap
