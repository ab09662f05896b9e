"""Public files into a folder: resumed where they stopped, checked against pins, recorded in a lock file.

The folder holds the raw files, `LOCK.json` (SHA-256 and length of every file ever acquired here) and
`acquisition.jsonl` (one line a download: address, bytes, SHA-256, server date). A file that differs from its pin or
from its lock entry is refused.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import httpx
import tenacity

from forthwith.errors import ArtifactError, DataError, EngineError
from forthwith.personal.sources.catalogue import Pin, SourceFile

__all__ = ["Acquired", "DownloadPolicy", "acquire", "file_sha256", "read_lock", "verify_files"]


@dataclass(frozen=True)
class DownloadPolicy:
    """How persistent a download is. Waits double from `first_wait_s` up to `max_wait_s`."""

    attempts: int = 6
    first_wait_s: float = 2.0
    max_wait_s: float = 60.0
    timeout_s: float = 60.0
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class Acquired:
    """One file that is now in place, and what vouches for its bytes."""

    name: str
    url: str
    bytes: int
    sha256: str
    server_date: str | None
    checked_against: Literal["pin", "lock", "nothing: first acquisition, recorded in LOCK.json"]
    downloaded: bool


def acquire(
    wanted: Iterable[SourceFile],
    folder: str | Path,
    pins: dict[str, Pin],
    *,
    policy: DownloadPolicy | None = None,
    client: httpx.Client | None = None,
    on_progress: Callable[[str, int, int | None], None] | None = None,
) -> tuple[Acquired, ...]:
    """Bring every file into `folder`; files already there are checked, not fetched again.

    Args:
        wanted: the files; `name` is the path under `folder`.
        folder: created when missing; partial downloads stay there as `<name>.part` and are resumed.
        pins: expected bytes by file name; a pin wins over a lock entry.
        policy: attempts, waits and time-outs.
        client: the HTTP client to use; one is made and closed when none is given.
        on_progress: called with (name, bytes so far, total bytes or None).

    Raises:
        ArtifactError: the bytes differ from the pin or from the lock entry.
        EngineError: the server does not answer after all attempts, or refuses.
        DataError: the disk is full or the folder cannot be written; what was fetched is kept.
    """
    folder, policy = Path(folder), policy or DownloadPolicy()
    session = client or httpx.Client(timeout=policy.timeout_s, follow_redirects=True)
    try:
        return tuple(_acquire_one(session, file, folder, pins, policy, on_progress) for file in wanted)
    finally:
        if client is None:
            session.close()


def verify_files(wanted: Iterable[SourceFile], folder: str | Path, pins: dict[str, Pin]) -> tuple[Acquired, ...]:
    """Check files that are in place; touch no network.

    Raises:
        DataError: a file is missing.
        ArtifactError: a file differs from its pin or lock entry.
    """
    folder = Path(folder)
    checked: list[Acquired] = []
    for file in wanted:
        path = folder / file.name
        if not path.is_file():
            raise DataError(f"is missing; fetch it from {file.url} (forthwith personal sources download)", path)
        checked.append(_admit(path, file, folder, pins, server_date=None, downloaded=False))
    return tuple(checked)


def file_sha256(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def read_lock(folder: Path) -> dict[str, Pin]:
    """The lock entries of a data folder; empty before the first acquisition.

    Raises:
        DataError: the lock file is not what we write.
    """
    path = folder / "LOCK.json"
    if not path.exists():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["files"]
        return {str(name): Pin(str(entry["sha256"]), int(entry["bytes"])) for name, entry in entries.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"is not a lock file ({error!r}); restore it, or delete it to trust the files anew", path
        ) from error


def _acquire_one(
    client: httpx.Client,
    file: SourceFile,
    folder: Path,
    pins: dict[str, Pin],
    policy: DownloadPolicy,
    on_progress: Callable[[str, int, int | None], None] | None,
) -> Acquired:
    path = folder / file.name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            return _admit(path, file, folder, pins, server_date=None, downloaded=False)
        part = path.with_name(path.name + ".part")
        server_date = _fetch(client, file, part, policy, on_progress)
        acquired = _admit(part, file, folder, pins, server_date=server_date, downloaded=True)
        part.replace(path)
        part.with_name(part.name + ".etag").unlink(missing_ok=True)
        _append_log(folder, acquired)
        return acquired
    except OSError as error:
        full = error.errno == errno.ENOSPC
        hint = (
            "the disk is full; make room and run again, the part is kept" if full else "check the folder's permissions"
        )
        raise DataError(f"cannot be written: {error}; {hint}", path) from error


def _fetch(
    client: httpx.Client,
    file: SourceFile,
    part: Path,
    policy: DownloadPolicy,
    on_progress: Callable[[str, int, int | None], None] | None,
) -> str | None:
    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(policy.attempts),
        wait=tenacity.wait_exponential(multiplier=policy.first_wait_s, max=policy.max_wait_s),
        retry=tenacity.retry_if_exception(_is_passing),
        sleep=policy.sleep,
    )
    try:
        return retrying(_fetch_once, client, file, part, on_progress)
    except tenacity.RetryError as error:
        problem = error.last_attempt.exception()
        raise EngineError(
            f"{file.url} could not be fetched in {policy.attempts} attempts; last problem: {problem!r}. "
            "Run again to resume.",
            retryable=True,
        ) from problem


def _is_passing(error: BaseException) -> bool:
    return isinstance(error, httpx.HTTPError) or (isinstance(error, EngineError) and error.retryable)


def _fetch_once(
    client: httpx.Client, file: SourceFile, part: Path, on_progress: Callable[[str, int, int | None], None] | None
) -> str | None:
    """One request; appends when the server continues where the part stops, starts over when it does not."""
    etag_file = part.with_name(part.name + ".etag")
    have = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if etag_file.exists():
            headers["If-Range"] = etag_file.read_text(encoding="ascii")
    with client.stream("GET", file.url, headers=headers) as response:
        if response.status_code == 416:
            part.unlink(missing_ok=True)
            raise EngineError(f"{file.url}: the server has no bytes after {have}; starting over", retryable=True)
        _raise_for_status(response, file.url)
        resumed = response.status_code == 206
        total = _total_bytes(response, have if resumed else 0)
        if etag := response.headers.get("ETag"):
            etag_file.write_text(etag, encoding="ascii", errors="ignore")
        done = have if resumed else 0
        with part.open("ab" if resumed else "wb") as out:
            for block in response.iter_raw():
                out.write(block)
                done += len(block)
                if on_progress:
                    on_progress(file.name, done, total)
        if total is not None and done != total:
            raise EngineError(f"{file.url}: {done} of {total} bytes came", retryable=True)
        return response.headers.get("Date")


def _raise_for_status(response: httpx.Response, url: str) -> None:
    status = response.status_code
    if status in (200, 206):
        return
    retryable = status == 429 or status >= 500
    hint = "" if retryable else "; check the address, or fetch the file by hand into the raw folder"
    raise EngineError(f"{url} answered {status}{hint}", retryable=retryable)


def _total_bytes(response: httpx.Response, offset: int) -> int | None:
    length = response.headers.get("Content-Length", "")
    return offset + int(length) if length.isdigit() else None


def _admit(
    path: Path, file: SourceFile, folder: Path, pins: dict[str, Pin], *, server_date: str | None, downloaded: bool
) -> Acquired:
    """The file as acquired, once its bytes agree with pin or lock; a new file enters the lock."""
    size, sha256 = path.stat().st_size, file_sha256(path)
    lock = read_lock(folder)
    expected, origin = (pins[file.name], "pin") if file.name in pins else (lock.get(file.name), "lock")
    if expected is not None and expected.sha256 != sha256:
        if downloaded:
            path.unlink()
        raise ArtifactError(
            f"{path} is not the file that {'is pinned' if origin == 'pin' else 'was acquired first'}: its publisher "
            "changed it or it is damaged; delete it to fetch again, or build from the pinned copy",
            expected.sha256,
            sha256,
        )
    if lock.get(file.name) != Pin(sha256, size):
        _write_lock(folder, {**lock, file.name: Pin(sha256, size)})
    against = origin if expected is not None else "nothing: first acquisition, recorded in LOCK.json"
    return Acquired(file.name, file.url, size, sha256, server_date, against, downloaded)  # type: ignore[arg-type]


def _write_lock(folder: Path, entries: dict[str, Pin]) -> None:
    path = folder / "LOCK.json"
    text = json.dumps(
        {"files": {name: {"sha256": e.sha256, "bytes": e.size} for name, e in sorted(entries.items())}}, indent=1
    )
    temporary = path.with_name("LOCK.json.tmp")
    temporary.write_text(text + "\n", encoding="utf-8")
    temporary.replace(path)


def _append_log(folder: Path, acquired: Acquired) -> None:
    with (folder / "acquisition.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(asdict(acquired), sort_keys=True) + "\n")
        log.flush()
        os.fsync(log.fileno())
