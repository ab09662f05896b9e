"""Whether the files a model was loaded from are still the same on disk.

Weights may be mapped into memory, so a file that is overwritten can change the answers of a running server silently.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from forthwith.errors import ArtifactError
from forthwith.model import Model

__all__ = ["ModelFiles", "files_of"]

_WEIGHTS = ("*.safetensors", "*.gguf", "tokenizer.json")


class _Signature(NamedTuple):
    inode: int
    size: int
    modified_ns: int


class ModelFiles:
    """Remembers what the files looked like and refuses when one has changed."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._loaded = {path: _signature(path) for path in sorted(files)}

    @property
    def newest(self) -> datetime.date | None:
        """The day the youngest of the files was written; None without files."""
        times = [signature.modified_ns for signature in self._loaded.values() if signature]
        return datetime.datetime.fromtimestamp(max(times) / 1e9, datetime.UTC).date() if times else None

    def check(self) -> None:
        """Compare with the disk.

        Raises:
            ArtifactError: a file is gone, was replaced or was written to; names it.
        """
        for path, loaded in self._loaded.items():
            found = _signature(path)
            if found != loaded:
                raise ArtifactError(f"{path} changed on disk since it was loaded; reload the server", loaded, found)


def files_of(model: Model) -> list[Path]:
    """The files that a model's answers depend on, as far as they lie on this machine."""
    folders: list[Path] = []
    loaded: Any = getattr(model.engine, "loaded", None)
    place = getattr(getattr(loaded, "tokenizer", None), "name_or_path", None)
    if place:
        folders.append(Path(str(place)))
    files: list[Path] = []
    if model.bundle is not None:
        files += [model.bundle.folder / name for name in model.bundle.manifest.files]
    for folder in folders:
        files += [path for pattern in _WEIGHTS for path in folder.glob(pattern)] if folder.is_dir() else [folder]
    return [path for path in files if path.is_file()]


def _signature(path: Path) -> _Signature | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return _Signature(found.st_ino, found.st_size, found.st_mtime_ns)
