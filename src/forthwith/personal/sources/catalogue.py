"""Which public files the benchmark can be built from, where they are published, and under which terms.

`pins.json` holds the SHA-256 of files whose bytes are known; a file without a pin is recorded in the lock file of the
data folder at its first acquisition and compared ever after.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, NamedTuple

from forthwith.errors import ConfigError

__all__ = [
    "AMAZON_CATEGORIES",
    "GOOGLE_STATES",
    "SOURCES",
    "Licence",
    "Pin",
    "SourceFile",
    "SourceName",
    "licences",
    "load_pins",
    "source_files",
]

SourceName = Literal["amazon", "google", "openflights", "enron"]
SOURCES: tuple[SourceName, ...] = ("amazon", "google", "openflights", "enron")

AMAZON_CATEGORIES = ("Grocery_and_Gourmet_Food", "Pet_Supplies", "Baby_Products", "Appliances", "All_Beauty")
GOOGLE_STATES = ("District_of_Columbia", "Delaware", "Rhode_Island")

_AMAZON = "https://mcauleylab.ucsd.edu/public_datasets/data/amazon_2023/raw"
_GOOGLE = "https://mcauleylab.ucsd.edu/public_datasets/gdrive/googlelocal"
_OPENFLIGHTS = "https://raw.githubusercontent.com/jpatokal/openflights/master/data"
_ENRON = "https://huggingface.co/datasets/corbt/enron-emails/resolve/cfc06c758093d90993abce1a43668fb7357258a6/data"


@dataclass(frozen=True)
class SourceFile:
    """One published file: `name` is its path under the folder of raw files, with forward slashes."""

    source: SourceName
    name: str
    url: str


class Pin(NamedTuple):
    """What a file must be: its SHA-256 and its length in bytes (None where only the hash is known)."""

    sha256: str
    size: int | None


class Licence(NamedTuple):
    """Terms of one source, as its publisher states them."""

    source: SourceName
    title: str
    terms: str
    citation: str
    redistribution: str


def source_files(sources: tuple[str, ...] = SOURCES) -> tuple[SourceFile, ...]:
    """Every file of the named sources, in a fixed order.

    Raises:
        ConfigError: a source that is not known.
    """
    if unknown := sorted(set(sources) - set(SOURCES)):
        raise ConfigError(f"unknown source {unknown[0]!r}; sources are {', '.join(SOURCES)}", "sources")
    listed = {
        "amazon": _amazon_files(),
        "google": _google_files(),
        "openflights": tuple(
            SourceFile("openflights", f"openflights/{name}.dat", f"{_OPENFLIGHTS}/{name}.dat")
            for name in ("airports", "airlines", "routes")
        ),
        "enron": tuple(
            SourceFile(
                "enron", f"enron/train-{part:05d}-of-00003.parquet", f"{_ENRON}/train-{part:05d}-of-00003.parquet"
            )
            for part in range(3)
        ),
    }
    return tuple(file for source in SOURCES if source in sources for file in listed[source])


def _amazon_files() -> tuple[SourceFile, ...]:
    reviews = tuple(
        SourceFile("amazon", f"amazon/{name}.jsonl.gz", f"{_AMAZON}/review_categories/{name}.jsonl.gz")
        for name in AMAZON_CATEGORIES
    )
    meta = tuple(
        SourceFile("amazon", f"amazon/meta_{name}.jsonl.gz", f"{_AMAZON}/meta_categories/meta_{name}.jsonl.gz")
        for name in AMAZON_CATEGORIES
    )
    return reviews + meta


def _google_files() -> tuple[SourceFile, ...]:
    names = [f"review-{state}_10.json.gz" for state in GOOGLE_STATES] + [
        f"meta-{state}.json.gz" for state in GOOGLE_STATES
    ]
    return tuple(SourceFile("google", f"google/{name}", f"{_GOOGLE}/{name}") for name in names)


def load_pins() -> dict[str, Pin]:
    """The pinned checksums that ship with the package, by file name."""
    text = files("forthwith.personal.sources").joinpath("pins.json").read_text(encoding="utf-8")
    return {name: Pin(pin["sha256"], pin.get("bytes")) for name, pin in json.loads(text)["files"].items()}


def licences() -> tuple[Licence, ...]:
    """The terms of all four sources. Only OpenFlights carries an explicit data licence."""
    research = "Not redistributed: neither raw files nor a knowledge base built from them; the commands rebuild both."
    return (
        Licence(
            "amazon",
            "Amazon Reviews 2023 (McAuley Lab, UC San Diego)",
            "Research release; no explicit data licence.",
            "Hou et al. (2024), Bridging Language and Items for Retrieval and Recommendation, arXiv:2403.03952",
            research,
        ),
        Licence(
            "google",
            "Google Local Data 2021 (UC San Diego)",
            "Research release; no explicit data licence.",
            "Li, Shang, McAuley (2022), UCTopic, ACL; Yan et al. (2023), Personalized Showcases, SIGIR",
            research,
        ),
        Licence(
            "openflights",
            "OpenFlights airports, airlines and routes",
            "Open Database License 1.0; contents under the Database Contents License 1.0.",
            "openflights.org/data",
            "Share-alike: name OpenFlights and keep a changed database under the same licence.",
        ),
        Licence(
            "enron",
            "Enron e-mail corpus (parquet mirror)",
            "Made public by the US Federal Energy Regulatory Commission; no explicit licence. Text of real people.",
            "Klimt, Yang (2004), The Enron Corpus, ECML",
            research,
        ),
    )
