"""A synthetic world that needs no file and no network: people with latent tastes, what they buy and eat, places, mail.

Gives the normalised tables of `personal.tables`, marked `source = "synthetic"`. Same seed and sizes, same bytes; a user
depends on (seed, index) alone, so users are written in parts and millions need no more memory than thousands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.progress import track

from forthwith.errors import ConfigError
from forthwith.personal.tables import SCHEMAS, write_stats, write_table
from forthwith.personal.vocabulary import Domain
from forthwith.personal.world.catalogue import Shelf, make_places, make_shelves
from forthwith.personal.world.mail import make_mail
from forthwith.personal.world.people import make_user

__all__ = ["WorldConfig", "build_world"]

_PART = 20_000


@dataclass(frozen=True)
class WorldConfig:
    """Sizes of a synthetic world; half of the users review products, half restaurants.

    Attributes:
        seed: everything follows from it and the sizes.
        users: at least 2.
        per_category: products in each of 24 categories; a cuisine has at least 24 restaurants in each city.
        cities: cities with restaurants.
        emails: invented mails.
    """

    seed: int = 20_260_930
    users: int = 4_000
    per_category: int = 480
    cities: int = 10
    emails: int = 3_000

    def __post_init__(self) -> None:
        bounds = {"users": (2, 10**9), "per_category": (40, 5_000), "cities": (2, 200), "emails": (10, 10**7)}
        for name, (low, high) in bounds.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(f"world setting {name} is {value}; it must lie in {low}..{high}", name)


def build_world(folder: str | Path, config: WorldConfig | None = None, *, show_progress: bool = False) -> Path:
    """Write the tables of a synthetic world into a folder and return it.

    Raises:
        ConfigError: an impossible size.
    """
    config = config or WorldConfig()
    folder = Path(folder)
    shelves = make_shelves(config.seed, config.per_category, config.cities)
    write_table(folder, "items", [item.row for shelf in shelves for item in shelf.items])
    places = make_places(config.seed, config.cities)
    write_table(folder, "airports", places["airports"])
    write_table(folder, "airlines", places["airlines"])
    write_table(folder, "routes", places["routes"])
    write_table(folder, "emails", [make_mail(config.seed, index) for index in range(config.emails)])
    rows = _write_interactions(folder, config, shelves, show_progress=show_progress)
    counts = {"items": sum(len(shelf.items) for shelf in shelves), "interactions": rows, "users": config.users}
    write_stats(folder, {"source": "synthetic", "synthetic": True, "world": asdict(config), "rows": counts})
    return folder


def _groups(shelves: Sequence[Shelf]) -> Mapping[Domain, Sequence[Sequence[Shelf]]]:
    cities = dict.fromkeys(shelf.city for shelf in shelves if shelf.city is not None)
    return {
        "product": [[shelf for shelf in shelves if shelf.domain == "product"]],
        "restaurant": [[shelf for shelf in shelves if shelf.city == city] for city in cities],
    }


def _write_interactions(folder: Path, config: WorldConfig, shelves: Sequence[Shelf], *, show_progress: bool) -> int:
    groups = _groups(shelves)
    starts = range(0, config.users, _PART)
    parts: list[Path] = []
    rows = 0
    for start in track(starts, description="users", disable=not show_progress):
        users = range(start, min(start + _PART, config.users))
        interactions: list[dict[str, Any]] = [row for index in users for row in make_user(config.seed, index, groups)]
        rows += len(interactions)
        part = folder / f"interactions-{start:09d}.parquet.partial"
        pl.DataFrame(interactions, schema=SCHEMAS["interactions"]).write_parquet(part)
        parts.append(part)
    whole = folder / "interactions.parquet.partial"
    pl.scan_parquet(parts).sink_parquet(whole, compression="zstd")
    whole.replace(folder / "interactions.parquet")
    for part in parts:
        part.unlink()
    return rows
