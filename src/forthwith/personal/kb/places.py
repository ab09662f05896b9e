"""Where the world's airports are: which city has which, which names are ambiguous, what is reached from where."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from forthwith.errors import DataError
from forthwith.personal.determinism import seeded_rng
from forthwith.personal.tables import read_table

__all__ = ["Airport", "Places", "read_places"]


@dataclass(frozen=True, slots=True)
class Airport:
    """One airport with routes."""

    iata: str
    city: str
    country: str
    time_zone: str | None


@dataclass(frozen=True)
class Places:
    """Airports that have routes, indexed.

    Attributes:
        by_city: airports of each city name, over all countries, busiest first.
        busiest: the 50 airports with most routes.
        ambiguous: city names that lie in more than one country, sorted.
        reached: cities with a direct flight from an airport, one country only, sorted.
    """

    by_city: dict[str, tuple[Airport, ...]]
    busiest: tuple[Airport, ...]
    ambiguous: tuple[str, ...]
    reached: dict[str, tuple[str, ...]]

    def home_airport(self, user: str, city: str | None) -> Airport:
        """The busiest airport of the user's city, else a seeded pick among the busiest of all."""
        own = self.by_city.get(city or "")
        return own[0] if own else seeded_rng("pd-home", user).choice(self.busiest)


def read_places(folder: str | Path) -> Places:
    """The places of a folder of tables.

    Raises:
        DataError: a table is missing or broken, or no airport has a route.
    """
    routes = read_table(folder, "routes").select("source_iata", "destination_iata").drop_nulls()
    traffic: Counter[str] = Counter(routes["source_iata"].to_list())
    by_code: dict[str, Airport] = {}
    for row in read_table(folder, "airports").iter_rows(named=True):
        if row["iata"] and traffic[row["iata"]] and row["city"] and row["country"]:
            by_code[row["iata"]] = Airport(row["iata"], row["city"], row["country"], row["time_zone"])
    if not by_code:
        raise DataError("no airport has a route; the tables airports and routes do not fit together", folder)
    ranked = sorted(by_code.values(), key=lambda airport: (-traffic[airport.iata], airport.iata))
    by_city: defaultdict[str, list[Airport]] = defaultdict(list)
    for airport in ranked:
        by_city[airport.city].append(airport)
    ambiguous = {city for city, found in by_city.items() if len({airport.country for airport in found}) > 1}
    reached: defaultdict[str, set[str]] = defaultdict(set)
    for source, destination in routes.iter_rows():
        if source in by_code and destination in by_code and by_code[destination].city not in ambiguous:
            reached[source].add(by_code[destination].city)
    return Places(
        by_city={city: tuple(found) for city, found in by_city.items()},
        busiest=tuple(ranked[:50]),
        ambiguous=tuple(sorted(ambiguous)),
        reached={source: tuple(sorted(cities)) for source, cities in reached.items()},
    )
