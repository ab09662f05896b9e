"""Which names of a knowledge base are no private data: those of the catalogue, and those of invented people."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from forthwith.errors import DataError
from forthwith.personal.privacy import Protected
from forthwith.personal.tables import scan_table
from forthwith.personal.world.names import FIRST_NAMES, LAST_NAMES, all_city_names

__all__ = ["kb_user_ids", "protected_names"]


def kb_user_ids(kb: str | Path) -> list[str]:
    """Ids of all users of a knowledge base, in its order.

    Raises:
        DataError: there is none.
    """
    path = Path(kb) / "users.parquet"
    if not path.is_file():
        raise DataError("no knowledge base here; build it first", path)
    return pl.read_parquet(path, columns=["user_id"])["user_id"].to_list()


def protected_names(kb: str | Path) -> Protected:
    """Catalogue names and cities of a knowledge base, and every name that contacts and strangers can have.

    Contacts are invented for all users, also for those from public data, from one list of given names and surnames.

    Raises:
        DataError: the catalogue is missing.
    """
    items = scan_table(kb, "items").select("name", "city").unique().collect()
    cities = (city for city in items["city"].unique().to_list() if city)
    people = (f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES)
    return Protected.of([*items["name"].to_list(), *cities, *all_city_names(), *people])
