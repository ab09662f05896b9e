"""Linked questions: what their answers must satisfy together, and the nearest answers that do.

Takes questions and float64 distributions; gives sibling questions, projections and losses. Knows no engine.
"""

from forthwith.coherence.families import MAX_SIBLINGS, Family, build_family
from forthwith.coherence.linked import LinkedRequest, coherent_answers, link_request
from forthwith.coherence.projection import (
    INCOHERENT_ABOVE,
    Projection,
    coherent_probabilities,
    family_vector,
    project,
    sure_loss,
    sure_loss_gradient,
    unit_bet_loss,
    worlds,
)

__all__ = [
    "INCOHERENT_ABOVE",
    "MAX_SIBLINGS",
    "Family",
    "LinkedRequest",
    "Projection",
    "build_family",
    "coherent_answers",
    "coherent_probabilities",
    "family_vector",
    "link_request",
    "project",
    "sure_loss",
    "sure_loss_gradient",
    "unit_bet_loss",
    "worlds",
]
