"""Downloads against a real server on loopback: resume, pins, lock, retries."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from forthwith.errors import ArtifactError, DataError, EngineError
from forthwith.personal.sources.catalogue import Pin, SourceFile, load_pins, source_files
from forthwith.personal.sources.download import DownloadPolicy, acquire, read_lock, verify_files

CONTENT = bytes(range(256)) * 40  # 10,240 bytes
SHA = hashlib.sha256(CONTENT).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server: FileServer = self.server  # type: ignore[assignment]
        server.requests.append(dict(self.headers))
        status = server.statuses.pop(0) if server.statuses else 200
        if status != 200:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start = 0
        wanted = self.headers.get("Range")
        if wanted and server.ranges and self.headers.get("If-Range") in (None, server.etag):
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(server.content):
                self.send_response(416)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
        body = server.content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", server.etag)
        self.end_headers()
        cut = server.cuts.pop(0) if server.cuts else None
        self.wfile.write(body if cut is None else body[:cut])
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


class FileServer(ThreadingHTTPServer):
    """Serves one file; `statuses` and `cuts` are consumed one a request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content, self.etag, self.ranges = CONTENT, '"v1"', True
        self.statuses: list[int] = []
        self.cuts: list[int | None] = []
        self.requests: list[dict[str, str]] = []

    @property
    def file(self) -> SourceFile:
        return SourceFile("openflights", "openflights/x.dat", f"http://127.0.0.1:{self.server_address[1]}/x.dat")


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def _policy(waits: list[float] | None = None) -> DownloadPolicy:
    return DownloadPolicy(attempts=4, sleep=(waits if waits is not None else []).append, timeout_s=5)


def test_a_first_acquisition_is_recorded_and_later_runs_compare(server: FileServer, tmp_path: Path):
    (first,) = acquire([server.file], tmp_path, {}, policy=_policy())
    assert (first.sha256, first.bytes, first.downloaded) == (SHA, len(CONTENT), True)
    assert first.checked_against.startswith("nothing")
    assert read_lock(tmp_path) == {"openflights/x.dat": Pin(SHA, len(CONTENT))}
    (again,) = acquire([server.file], tmp_path, {}, policy=_policy())
    assert (again.downloaded, again.checked_against, len(server.requests)) == (False, "lock", 1)
    (logged,) = [json.loads(line) for line in (tmp_path / "acquisition.jsonl").read_text().splitlines()]
    assert (logged["sha256"], logged["bytes"], logged["url"]) == (SHA, len(CONTENT), server.file.url)
    assert logged["server_date"]


def test_a_cut_connection_is_resumed_where_it_stopped(server: FileServer, tmp_path: Path):
    server.cuts = [1000, 2000]
    waits: list[float] = []
    (acquired,) = acquire([server.file], tmp_path, {"openflights/x.dat": Pin(SHA, None)}, policy=_policy(waits))
    assert (acquired.sha256, acquired.checked_against) == (SHA, "pin")
    assert [request.get("Range") for request in server.requests] == [None, "bytes=1000-", "bytes=3000-"]
    assert waits == [2.0, 4.0]


def test_a_part_of_an_earlier_run_is_resumed(server: FileServer, tmp_path: Path):
    (tmp_path / "openflights").mkdir()
    (tmp_path / "openflights/x.dat.part").write_bytes(CONTENT[:4000])
    acquire([server.file], tmp_path, {}, policy=_policy())
    assert server.requests[0]["Range"] == "bytes=4000-"
    assert (tmp_path / "openflights/x.dat").read_bytes() == CONTENT


def test_a_changed_file_on_the_server_starts_over(server: FileServer, tmp_path: Path):
    server.cuts = [1000]
    with pytest.raises(EngineError):
        acquire([server.file], tmp_path, {}, policy=DownloadPolicy(attempts=1, sleep=lambda _: None))
    server.content, server.etag = CONTENT[::-1], '"v2"'
    acquire([server.file], tmp_path, {}, policy=_policy())
    assert (tmp_path / "openflights/x.dat").read_bytes() == CONTENT[::-1]


def test_a_part_longer_than_the_file_starts_over(server: FileServer, tmp_path: Path):
    (tmp_path / "openflights").mkdir()
    (tmp_path / "openflights/x.dat.part").write_bytes(CONTENT + b"more")
    acquire([server.file], tmp_path, {}, policy=_policy())
    assert (tmp_path / "openflights/x.dat").read_bytes() == CONTENT


def test_busy_answers_are_retried_and_refusals_are_not(server: FileServer, tmp_path: Path):
    server.statuses = [503, 429]
    acquire([server.file], tmp_path, {}, policy=_policy())
    assert len(server.requests) == 3
    server.statuses = [404]
    with pytest.raises(EngineError, match="answered 404"):
        acquire([server.file], tmp_path / "other", {}, policy=_policy())
    assert len(server.requests) == 4


def test_other_bytes_than_pinned_are_refused_and_not_kept(server: FileServer, tmp_path: Path):
    with pytest.raises(ArtifactError, match="pinned") as caught:
        acquire([server.file], tmp_path, {"openflights/x.dat": Pin("0" * 64, None)}, policy=_policy())
    assert (caught.value.expected, caught.value.found) == ("0" * 64, SHA)
    assert not (tmp_path / "openflights/x.dat").exists()
    assert not read_lock(tmp_path)


def test_a_file_changed_on_disk_is_refused(server: FileServer, tmp_path: Path):
    acquire([server.file], tmp_path, {}, policy=_policy())
    (tmp_path / "openflights/x.dat").write_bytes(b"other")
    with pytest.raises(ArtifactError, match="acquired first"):
        verify_files([server.file], tmp_path, {})
    with pytest.raises(DataError, match="is missing"):
        verify_files([server.file], tmp_path / "empty", {})


def test_a_full_disk_is_said_and_the_part_is_kept(server: FileServer, tmp_path: Path):
    target = tmp_path / "openflights"
    target.mkdir()
    (target / "x.dat.part").symlink_to("/dev/full")
    with pytest.raises(DataError, match="disk is full") as caught:
        acquire([server.file], tmp_path, {}, policy=_policy())
    assert caught.value.path == target / "x.dat"
    assert (target / "x.dat.part").is_symlink()


def test_a_broken_lock_file_is_refused(server: FileServer, tmp_path: Path):
    (tmp_path / "LOCK.json").write_text("{}")
    with pytest.raises(DataError, match="not a lock file"):
        read_lock(tmp_path)


def test_the_catalogue_names_every_published_file_once_and_pins_only_known_ones():
    files = source_files()
    names = [file.name for file in files]
    assert len(names) == len(set(names)) == 10 + 6 + 3 + 3
    assert set(load_pins()) <= set(names)
    assert all(len(pin.sha256) == 64 for pin in load_pins().values())
