"""How much a knowledge base can give: how often each cell of each family can be realised, and how many picks there are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from forthwith.personal.compose import build_fragment
from forthwith.personal.determinism import seeded_rng
from forthwith.personal.families.builders import DESIGNS
from forthwith.personal.families.context import RankTally
from forthwith.personal.fragment import PlannedFamily, PlannedRecord
from forthwith.personal.kb.knowledge import KnowledgeBase
from forthwith.personal.vocabulary import FAMILIES, Family

__all__ = ["Capacity", "measure_capacity"]


@dataclass(frozen=True)
class Capacity:
    """What one family can give.

    Attributes:
        built: share of attempts that gave a fragment, in [0, 1].
        by_cell: the same for each "variant/label/scenario".
        scarcest: the cell that is hardest to fill.
        targets: (user, present) pairs there are: each can carry one question of the family.
    """

    family: Family
    built: float
    by_cell: dict[str, float]
    scarcest: str
    targets: int


def measure_capacity(kb: KnowledgeBase, *, trials: int = 6, seed: int = 0) -> list[Capacity]:
    """Try each cell of each family on `trials` times as many users as there are cells, without balance."""
    users = sorted(kb.users)
    targets = sum(len(user.good_later) for user in kb.users.values())
    found: list[Capacity] = []
    for family in FAMILIES:
        tried: Counter[str] = Counter()
        built: Counter[str] = Counter()
        rng = seeded_rng("pd-capacity", seed, family)
        for cell in DESIGNS[family]:
            name = f"{cell.variant}/{cell.label or '-'}/{cell.scenario}"
            for trial in range(trials):
                slot = PlannedFamily(
                    family, cell.variant, cell.scenario, cell.label, cell.is_hard, rng.randrange(3), cell.size, trial
                )
                user = rng.choice(users)
                record = PlannedRecord("capacity", kb.split, seed, trial, user, trial, "", (slot,), 0, kb.split)
                tried[name] += 1
                built[name] += build_fragment(kb, record, 0, slot, RankTally()) is not None
        shares = {name: built[name] / count for name, count in tried.items()}
        scarcest = min(shares, key=lambda name: (shares[name], name))
        found.append(Capacity(family, built.total() / tried.total(), shares, scarcest, targets))
    return found
