"""Raw public files into the normalised tables, with `STATS.json` and `LICENSES.json` beside them.

Each source is read on its own into `parts/` and remembered by a fingerprint of its raw files and of the options, so a
run that was stopped goes on with the next source; other files or options never mix with finished parts.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from forthwith.errors import ConfigError, DataError
from forthwith.personal.sources.amazon import AmazonRules, load_amazon
from forthwith.personal.sources.catalogue import (
    AMAZON_CATEGORIES,
    GOOGLE_STATES,
    SOURCES,
    SourceFile,
    SourceName,
    licences,
    load_pins,
    source_files,
)
from forthwith.personal.sources.download import file_sha256
from forthwith.personal.sources.enron import EnronRules, load_enron
from forthwith.personal.sources.google_local import GoogleRules, load_google
from forthwith.personal.sources.openflights import load_openflights
from forthwith.personal.sources.rows import silent
from forthwith.personal.tables import SCHEMAS, TABLE_NAMES, TableName, write_stats, write_table

__all__ = ["SourceOptions", "normalise"]

_Parts = tuple[dict[TableName, pl.DataFrame], dict[str, int]]


@dataclass(frozen=True)
class SourceOptions:
    """Which sources and which of their files; the defaults are the benchmark's."""

    sources: tuple[SourceName, ...] = SOURCES
    amazon_categories: tuple[str, ...] = AMAZON_CATEGORIES
    google_states: tuple[str, ...] = GOOGLE_STATES
    amazon: AmazonRules = field(default_factory=AmazonRules)
    google: GoogleRules = field(default_factory=GoogleRules)
    enron: EnronRules = field(default_factory=EnronRules)


def normalise(
    raw: str | Path, out: str | Path, options: SourceOptions | None = None, on_step: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Write the six tables of the chosen sources to `out`; tables that no source fills are written empty.

    Args:
        raw: the folder that `acquire` filled, or one laid out alike.
        out: where the tables go.
        options: sources, categories, states and rules.
        on_step: told what is being read.

    Returns:
        The content of `STATS.json`: rows by table, counts by source, SHA-256 of every raw file read.

    Raises:
        DataError: a raw file is missing or broken (path and line).
        ConfigError: no source was chosen.
    """
    raw, out, options = Path(raw), Path(out), options or SourceOptions()
    if not options.sources:
        raise ConfigError(f"no source was chosen; sources are {', '.join(SOURCES)}", "sources")
    parts = out / "parts"
    stats: dict[str, Any] = {"sources": {}, "raw_files": {}, "synthetic": False}
    for source in options.sources:
        hashes = _raw_hashes(raw, source, options)
        stats["raw_files"].update(hashes)
        stats["sources"][source] = _part(raw, parts, source, options, hashes, on_step or silent)
    stats["rows"] = {name: _merge(parts, out, name, options) for name in TABLE_NAMES}
    terms = [licence._asdict() for licence in licences() if licence.source in options.sources]
    (out / "LICENSES.json").write_text(json.dumps(terms, indent=2) + "\n", encoding="utf-8")
    write_stats(out, stats)
    shutil.rmtree(parts)
    return stats


def _wanted(source: SourceName, options: SourceOptions) -> list[SourceFile]:
    names = {"amazon": options.amazon_categories, "google": options.google_states}.get(source)
    files = source_files((source,))
    if names is None:
        return list(files)
    return [file for file in files if any(name in file.name for name in names)]


def _raw_hashes(raw: Path, source: SourceName, options: SourceOptions) -> dict[str, str]:
    hashes: dict[str, str] = {}
    for file in _wanted(source, options):
        path = raw / file.name
        if not path.is_file():
            raise DataError(f"is missing; fetch it from {file.url} (forthwith personal sources download)", path)
        hashes[file.name] = file_sha256(path)
    return hashes


def _part(
    raw: Path,
    parts: Path,
    source: SourceName,
    options: SourceOptions,
    hashes: dict[str, str],
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Counts of one source; its tables lie in `parts/<source>` afterwards."""
    folder = parts / source
    recipe = json.dumps([hashes, asdict(options)], sort_keys=True, default=str)
    fingerprint = hashlib.sha256(recipe.encode()).hexdigest()
    done = folder / "DONE.json"
    if done.is_file():
        saved = json.loads(done.read_text(encoding="utf-8"))
        if saved["fingerprint"] == fingerprint:
            say(f"{source}: finished before")
            return saved["stats"]
    shutil.rmtree(folder, ignore_errors=True)
    tables, counts = _load(raw, folder, source, options, say)
    for name, table in tables.items():
        write_table(folder, name, table)
    pins = load_pins()
    unlike = sorted(name for name, sha256 in hashes.items() if name in pins and pins[name].sha256 != sha256)
    stats: dict[str, Any] = {**counts, "files_unlike_their_pin": unlike}
    done.write_text(json.dumps({"fingerprint": fingerprint, "stats": stats}), encoding="utf-8")
    return stats


def _load(raw: Path, folder: Path, source: SourceName, options: SourceOptions, say: Callable[[str], None]) -> _Parts:
    if source == "openflights":
        say("reading OpenFlights")
        flights = load_openflights(raw / "openflights")
        tables: dict[TableName, pl.DataFrame] = {
            "airports": flights.airports,
            "airlines": flights.airlines,
            "routes": flights.routes,
        }
        return tables, {}
    if source == "enron":
        say("reading Enron mail")
        emails, counts = load_enron(tuple(raw / file.name for file in _wanted(source, options)), options.enron)
        return {"emails": emails}, counts
    if source == "amazon":
        loaded = load_amazon(raw / "amazon", options.amazon_categories, folder / "keys", options.amazon, say)
    else:
        loaded = load_google(raw / "google", options.google_states, options.google, say)
    return {"items": loaded.items, "interactions": loaded.interactions}, loaded.stats


def _merge(parts: Path, out: Path, name: TableName, options: SourceOptions) -> int:
    found = [path for source in options.sources if (path := parts / source / f"{name}.parquet").is_file()]
    frames = [pl.read_parquet(path) for path in found]
    table = pl.concat(frames) if frames else pl.DataFrame(schema=SCHEMAS[name])
    write_table(out, name, table)
    return table.height
