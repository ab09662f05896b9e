"""Build the knowledge base: tables in, one profile a user out, with one shared catalogue and a manifest of hashes."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import shutil
import zoneinfo
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import polars as pl

from forthwith.errors import ConfigError, DataError
from forthwith.personal.determinism import seeded_rng
from forthwith.personal.kb.facts import evidence_of, polarity_of, traits_of
from forthwith.personal.kb.habits import SALT, between, draw_habits, draw_privacy
from forthwith.personal.kb.history import History, Visit, histories
from forthwith.personal.kb.places import Places, read_places
from forthwith.personal.kb.population import PopulationConfig, select_population
from forthwith.personal.kb.profile import Fact, Forgetting, LaterChoice, UserProfile, profile_json
from forthwith.personal.tables import TABLE_NAMES, read_stats, scan_table
from forthwith.personal.vocabulary import Domain

__all__ = ["BuildConfig", "build_kb", "build_profile", "file_sha256"]

MIN_REVIEW_CHARS = 200
"""Shortest review of somebody else that can be buried in a state."""


@dataclass(frozen=True)
class BuildConfig:
    """How histories become profiles.

    Attributes:
        min_history: fewest distinct items of a user.
        memory_fraction: share of the history that is remembered.
        population: the rule that picks users; None takes everyone.
    """

    min_history: int = 5
    memory_fraction: float = 0.6
    population: PopulationConfig | None = field(default_factory=PopulationConfig)

    def __post_init__(self) -> None:
        if not 0 < self.memory_fraction < 1:
            raise ConfigError(f"memory_fraction is {self.memory_fraction}; it lies between 0 and 1", "memory_fraction")


def build_kb(tables: str | Path, out: str | Path, config: BuildConfig | None = None) -> dict[str, Any]:
    """Write a knowledge base and return its manifest.

    Args:
        tables: folder of the normalised tables.
        out: folder for `users.parquet`, `reviews.parquet`, the shared tables and `manifest.json`.
        config: how to build.

    Raises:
        DataError: a table is missing or broken, or too few users are eligible.
    """
    config, tables, out = config or BuildConfig(), Path(tables), Path(out)
    items = scan_table(tables, "items")
    found = histories(
        scan_table(tables, "interactions"),
        items,
        min_history=config.min_history,
        memory_fraction=config.memory_fraction,
    )
    receipt: dict[str, Any] = {}
    if config.population is None:
        users = list(found)
    else:
        users, chosen = select_population(found, config.population)
        receipt = asdict(chosen)
    if not users:
        raise DataError("no user is eligible: each needs enough items and a later rating of 4 or 5", tables)
    out.mkdir(parents=True, exist_ok=True)
    _copy_tables(tables, out)
    places = read_places(tables)
    profiles = [build_profile(history, places) for history in users]
    _write_users(out, profiles)
    _write_reviews(out, users)
    return _write_manifest(out, tables, config, receipt, profiles)


def build_profile(history: History, places: Places) -> UserProfile:
    """The profile of one history; the rules in it depend on the user id and the span of days alone."""
    user = history.user_id
    city = _home_city(history.memory)
    home = places.home_airport(user, city)
    zone = _zone(home.time_zone)
    facts = tuple(_fact(user, index, visit, zone) for index, visit in enumerate(history.memory))
    later = tuple(LaterChoice(visit.item_id, visit.category, visit.rating, visit.when) for visit in history.later)
    return UserProfile(
        user_id=user,
        domain=cast("Domain", history.visits[0].domain),
        city=city,
        home_airport=home.iata,
        home_city=city or home.city,
        time_zone=zone.key,
        facts=facts,
        later=later,
        forgets=_forgets(user, facts),
        habits=draw_habits(user, facts[0].date, facts[-1].date),
    )


def _zone(name: str | None) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name or "Etc/UTC")
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return zoneinfo.ZoneInfo("Etc/UTC")


def _home_city(memory: Sequence[Visit]) -> str | None:
    cities = [visit.city for visit in memory if visit.city]
    return max(sorted(set(cities)), key=cities.count) if cities else None


def _fact(user: str, index: int, visit: Visit, zone: dt.tzinfo) -> Fact:
    return Fact(
        fact_id=f"{user}/f{index}",
        date=visit.when.astimezone(zone).date(),
        item_id=visit.item_id,
        item_name=visit.name,
        domain=cast("Domain", visit.domain),
        category=visit.category,
        city=visit.city,
        polarity=polarity_of(visit.rating),
        rating=visit.rating,
        evidence=evidence_of(visit.text),
        traits=traits_of(visit.attributes, visit.category),
        privacy=draw_privacy(user, index),
    )


def _forgets(user: str, facts: Sequence[Fact]) -> tuple[Forgetting, ...]:
    if len(facts) < 3:
        return ()
    rng = seeded_rng(SALT, user, "forget")
    chosen = rng.sample(range(len(facts) - 1), k=1 if rng.random() < 0.6 else min(2, len(facts) - 1))
    return tuple(
        Forgetting(
            index, max(facts[index].date + dt.timedelta(days=1), between(rng, facts[index].date, facts[-1].date))
        )
        for index in sorted(chosen)
    )


def _copy_tables(tables: Path, out: Path) -> None:
    for name in TABLE_NAMES:
        if name != "interactions" and tables.resolve() != out.resolve():
            scan_table(tables, name)
            shutil.copyfile(tables / f"{name}.parquet", out / f"{name}.parquet")


def _write_users(out: Path, profiles: Sequence[UserProfile]) -> None:
    rows = [
        {"user_id": profile.user_id, "domain": profile.domain, "profile": profile_json(profile)} for profile in profiles
    ]
    schema = {"user_id": pl.String, "domain": pl.String, "profile": pl.String}
    pl.DataFrame(rows, schema=schema).write_parquet(out / "users.parquet", compression="zstd", row_group_size=2_000)


def _write_reviews(out: Path, users: Sequence[History]) -> None:
    rows = [
        {"user_id": user.user_id, "date": visit.when.date(), "item_name": visit.name, "text": visit.text}
        for user in users
        for visit in user.memory
        if len(visit.text) >= MIN_REVIEW_CHARS
    ]
    schema = {"user_id": pl.String, "date": pl.Date, "item_name": pl.String, "text": pl.String}
    pl.DataFrame(rows, schema=schema).write_parquet(out / "reviews.parquet", compression="zstd")


def _write_manifest(
    out: Path, tables: Path, config: BuildConfig, receipt: dict[str, Any], profiles: Sequence[UserProfile]
) -> dict[str, Any]:
    files = sorted(out.glob("*.parquet"))
    facts = sum(len(profile.facts) for profile in profiles)
    manifest: dict[str, Any] = {
        "schema": "forthwith-personal-kb-1",
        "synthetic": bool(read_stats(tables).get("synthetic", False)),
        "world": read_stats(tables).get("world"),
        "config": asdict(config),
        "population": receipt,
        "users": len(profiles),
        "facts": facts,
        "facts_with_evidence": sum(bool(fact.evidence) for profile in profiles for fact in profile.facts),
        "files": {path.name: {"sha256": file_sha256(path), "bytes": path.stat().st_size} for path in files},
    }
    (out / "manifest.json").write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return manifest


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
