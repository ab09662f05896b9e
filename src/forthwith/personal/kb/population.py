"""Which users take part: a rule on counts, never on content, and a deterministic order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from forthwith.errors import ConfigError, DataError
from forthwith.personal.determinism import stable_int
from forthwith.personal.kb.history import History

__all__ = ["PopulationConfig", "PopulationReceipt", "select_population"]


@dataclass(frozen=True)
class PopulationConfig:
    """The rule.

    Attributes:
        seed: of the ranking.
        per_domain: users wanted of each domain; 0 for all that are eligible.
        min_items: fewest distinct items.
        max_items: most distinct items.
        min_text_share: least share of memory-side interactions with text.
        needs_low_later: whether a later rating of 1 or 2 is required.
    """

    seed: int = 20_260_930
    per_domain: tuple[tuple[str, int], ...] = (("product", 0), ("restaurant", 0))
    min_items: int = 8
    max_items: int = 30
    min_text_share: float = 0.8
    needs_low_later: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.min_text_share <= 1:
            raise ConfigError(f"min_text_share is {self.min_text_share}; it is a share from 0 to 1", "min_text_share")
        if self.min_items > self.max_items:
            raise ConfigError(f"min_items {self.min_items} exceeds max_items {self.max_items}", "min_items")


@dataclass(frozen=True)
class PopulationReceipt:
    """The rule and counts; no ids."""

    rule: dict[str, Any]
    seen: int
    eligible: dict[str, int]
    chosen: dict[str, int]


def select_population(users: Iterable[History], config: PopulationConfig) -> tuple[list[History], PopulationReceipt]:
    """The chosen histories in order of user id, and the receipt.

    Raises:
        DataError: fewer eligible users than wanted.
    """
    by_domain: dict[str, list[History]] = {}
    seen = 0
    for history in users:
        seen += 1
        if _is_eligible(history, config):
            by_domain.setdefault(history.visits[0].domain, []).append(history)
    chosen: list[History] = []
    for domain, wanted in config.per_domain:
        ranked = sorted(
            by_domain.get(domain, []), key=lambda user: stable_int("pd-population", config.seed, user.user_id)
        )
        if len(ranked) < wanted:
            raise DataError(f"{wanted} {domain} users are wanted and {len(ranked)} are eligible; ask for fewer")
        chosen += ranked[: wanted or None]
    receipt = PopulationReceipt(
        asdict(config),
        seen,
        {domain: len(found) for domain, found in sorted(by_domain.items())},
        dict(sorted(Counter(user.visits[0].domain for user in chosen).items())),
    )
    return sorted(chosen, key=lambda user: user.user_id), receipt


def _is_eligible(history: History, config: PopulationConfig) -> bool:
    if not config.min_items <= len(history.visits) <= config.max_items:
        return False
    with_text = sum(bool(visit.text.strip()) for visit in history.memory)
    if with_text < config.min_text_share * len(history.memory):
        return False
    if config.needs_low_later and not any(visit.rating <= 2 for visit in history.later):
        return False
    return len({visit.domain for visit in history.visits}) == 1
