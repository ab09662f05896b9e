"""The one shared catalogue in memory: columns as arrays, items grouped by category and city."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from forthwith.errors import DataError
from forthwith.personal.kb.facts import traits_of
from forthwith.personal.pending import ItemOption
from forthwith.personal.tables import read_table
from forthwith.personal.vocabulary import Domain

__all__ = ["Catalogue", "read_catalogue"]


@dataclass(frozen=True)
class Catalogue:
    """All items, by row number.

    Attributes:
        index: row number by item id.
        price_cents: int64, -1 where not listed.
        price_level: int8, 0 where not listed.
        popularity: int64, at least 0.
        groups: row numbers, sorted, by (domain, category, city); the city is None for products.
        categories: by domain, names in descending order of size.
    """

    index: dict[str, int]
    item_ids: list[str]
    names: list[str]
    domains: list[Domain]
    category_of: list[str]
    cities: list[str | None]
    traits: list[tuple[str, ...]]
    price_cents: NDArray[np.int64]
    price_level: NDArray[np.int8]
    popularity: NDArray[np.int64]
    groups: dict[tuple[str, str, str | None], NDArray[np.int64]]
    categories: dict[str, tuple[str, ...]]

    def group_of(self, row: int) -> NDArray[np.int64]:
        """The rows that share domain, category and, for restaurants, city with a row; itself included."""
        domain = self.domains[row]
        return self.groups[domain, self.category_of[row], self.cities[row] if domain == "restaurant" else None]

    def option(self, row: int) -> ItemOption:
        """The row as an option of a pick."""
        cents, level = int(self.price_cents[row]), int(self.price_level[row])
        return ItemOption(
            option_id=self.item_ids[row],
            name=self.names[row],
            category=self.category_of[row],
            price_cents=None if cents < 0 else cents,
            price_level=level or None,
            city=self.cities[row],
            popularity=int(self.popularity[row]),
            traits=self.traits[row],
        )


def read_catalogue(folder: str | Path) -> Catalogue:
    """The catalogue of a folder of tables.

    Raises:
        DataError: the table is missing, broken or empty, or an item id appears twice.
    """
    frame = read_table(folder, "items")
    ids: list[str] = frame["item_id"].to_list()
    index = {item: row for row, item in enumerate(ids)}
    if not ids or len(index) < len(ids):
        raise DataError("the items table is empty" if not ids else "an item id appears twice in items", folder)
    domains: list[Domain] = frame["domain"].to_list()
    categories: list[str] = frame["category"].to_list()
    cities: list[str | None] = frame["city"].to_list()
    grouped: defaultdict[tuple[str, str, str | None], list[int]] = defaultdict(list)
    sizes: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row, (domain, category, city) in enumerate(zip(domains, categories, cities, strict=True)):
        grouped[domain, category, city if domain == "restaurant" else None].append(row)
        sizes[domain][category] += 1
    price = frame["price"].fill_null(-0.01).to_numpy()
    return Catalogue(
        index=index,
        item_ids=ids,
        names=frame["name"].to_list(),
        domains=domains,
        category_of=categories,
        cities=cities,
        traits=[traits_of(text, name) for text, name in zip(frame["attributes"], categories, strict=True)],
        price_cents=np.round(price * 100).astype(np.int64),
        price_level=frame["price_level"].fill_null(0).to_numpy(),
        popularity=frame["popularity"].fill_null(0).to_numpy(),
        groups={key: np.array(rows, dtype=np.int64) for key, rows in grouped.items()},
        categories={
            domain: tuple(sorted(counts, key=lambda name: (-counts[name], name))) for domain, counts in sizes.items()
        },
    )
