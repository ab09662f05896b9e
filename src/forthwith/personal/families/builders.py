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
from forthwith.personal.vocabulary import Family

__all__ = ["BUILDERS", "DESIGNS"]

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
