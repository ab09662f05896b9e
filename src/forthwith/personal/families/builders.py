"""The families by name: how each is built and which cells its schedule deals out."""

from __future__ import annotations

from collections.abc import Callable

from forthwith.personal.families import (
    apply_memory,
    forgotten_violation,
    needs_approval,
    notify_level,
    pick_option,
    route,
    share_ok,
)
from forthwith.personal.families.context import Cell, FamilyContext
from forthwith.personal.fragment import Fragment
from forthwith.personal.kb.knowledge import KnowledgeBase
from forthwith.personal.vocabulary import Family

__all__ = ["BUILDERS", "DESIGNS", "designs_of"]

MIN_WITH_TRAITS = 0.2
"""Least share of users with an item of several known traits for questions about attributes."""

BUILDERS: dict[Family, Callable[[FamilyContext], Fragment | None]] = {
    "apply_memory": apply_memory.build,
    "forgotten_violation": forgotten_violation.build,
    "needs_approval": needs_approval.build,
    "share_ok": share_ok.build,
    "route": route.build,
    "notify_level": notify_level.build,
    "pick_option": pick_option.build,
}

DESIGNS: dict[Family, tuple[Cell, ...]] = {
    "apply_memory": apply_memory.DESIGN,
    "forgotten_violation": forgotten_violation.DESIGN,
    "needs_approval": needs_approval.DESIGN,
    "share_ok": share_ok.DESIGN,
    "route": route.DESIGN,
    "notify_level": notify_level.DESIGN,
    "pick_option": pick_option.DESIGN,
}


def designs_of(kb: KnowledgeBase) -> dict[Family, tuple[Cell, ...]]:
    """The designs that a knowledge base can fill: without attribute questions where items have no traits."""
    with_traits = sum(any(len(fact.traits) > 1 for fact in user.facts) for user in kb.users.values())
    if with_traits >= MIN_WITH_TRAITS * len(kb.users):
        return DESIGNS
    cells = tuple(cell for cell in DESIGNS["forgotten_violation"] if cell.scenario != "attribute")
    return {**DESIGNS, "forgotten_violation": cells}
