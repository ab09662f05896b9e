"""Which models can be named: the bundles that ship with the package, the default base, other folders in the cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from forthwith.bundle import load_bundle, packaged_bundles
from forthwith.default_model import SMOLLM2, SourceRecord, default_cache_dir, is_cached
from forthwith.default_model.cache import read_source
from forthwith.errors import ArtifactError
from forthwith.model import DEFAULT_BUNDLE

__all__ = ["KnownModel", "known_models"]


@dataclass(frozen=True)
class KnownModel:
    """A model by name.

    Attributes:
        name: what `--model` takes.
        kind: a bundle that ships with the package, a base, or a folder in the cache.
        state: ready, or what is missing.
        about: base, readout and calibration of a bundle; origin of a base.
        is_default: whether it answers when no model is named.
        folder: where it is, if it is on disk.
    """

    name: str
    kind: Literal["bundle", "base", "folder"]
    state: str
    about: str
    is_default: bool
    folder: Path | None

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {**asdict(self), "folder": None if self.folder is None else str(self.folder)}


def known_models(cache_dir: Path | None = None, shipped: Mapping[str, Path] | None = None) -> list[KnownModel]:
    """Shipped bundles first, then the default base, then other converted models in the cache.

    Args:
        cache_dir: the cache; the platform's folder when None.
        shipped: bundle folders by name; those inside the package when None.
    """
    cache = cache_dir or default_cache_dir()
    shipped = packaged_bundles() if shipped is None else shipped
    bundles = [_bundle(name, folder, cache) for name, folder in shipped.items()]
    return [*bundles, _base(cache, is_default=DEFAULT_BUNDLE not in shipped), *_folders(cache)]


def _bundle(name: str, folder: Path, cache: Path) -> KnownModel:
    is_default = name == DEFAULT_BUNDLE
    try:
        bundle = load_bundle(folder)
    except ArtifactError as error:
        return KnownModel(name, "bundle", f"broken: {error}", "", is_default, folder)
    manifest = bundle.manifest
    state = "ready"
    if manifest.base.model == SMOLLM2.name and not is_cached(cache):
        state = "its base is taken at first use"
    calibrated = "calibrated" if bundle.calibration else "not calibrated"
    about = f"{manifest.base.model}, {manifest.readout} readout, {calibrated}, {manifest.bundle_id}"
    return KnownModel(name, "bundle", state, about, is_default, folder)


def _base(cache: Path, *, is_default: bool) -> KnownModel:
    there = is_cached(cache)
    folder = cache / "models" / SMOLLM2.folder_name if there else None
    state = "ready" if there else "taken at first use, or by `forthwith pull`"
    about = f"{SMOLLM2.licence}, from {SMOLLM2.requirement}"
    return KnownModel(SMOLLM2.name, "base", state, about, is_default, folder)


def _folders(cache: Path) -> list[KnownModel]:
    found: list[KnownModel] = []
    for folder in sorted((cache / "models").glob("*/")):
        if folder.name == SMOLLM2.folder_name or folder.name.startswith("."):
            continue
        found.append(KnownModel(str(folder), "folder", "on disk", _about(folder), is_default=False, folder=folder))
    return found


def _about(folder: Path) -> str:
    try:
        source: SourceRecord = read_source(folder)
    except ArtifactError:
        return "unknown origin"
    return (
        f"{source.licence}, {source.name} from {source.package}=={source.version}, weights {source.weights_sha256[:12]}"
    )
