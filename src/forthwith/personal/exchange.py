"""Render requests for writers elsewhere: a folder of requests out, a folder of texts back in.

`requests.jsonl` holds one request a line (`{id, style_id, prompt_sha256, system, user}`); optionally the same lines lie
in `batch-NN/input.jsonl` with an instruction sheet. Texts come back as JSONL lines `{id, text}`. A text is taken only
when the prompt it answers is the prompt that would be asked today.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forthwith.errors import ArtifactError, ConfigError, DataError
from forthwith.personal.render_request import RenderRequest, prompt_sha256, system_text, user_text

__all__ = ["ExportedRequests", "IngestedTexts", "export_requests", "ingest_texts"]

_SHEET = """# Texts to be written

`input.jsonl` holds one request a line. For each, follow the member `system` and write the text for `user`.
Write `output.jsonl` with one line a request, in any order:

    {"id": "<the request's id>", "text": "<your text>"}

Each string of the list MUST APPEAR has to be in the text exactly. A text that misses one is not used.
"""


@dataclass(frozen=True)
class ExportedRequests:
    """What was written: how many requests, in how many batches, and the hash of all prompts in order."""

    requests: int
    batches: int
    path: Path


@dataclass
class IngestedTexts:
    """Texts by record id, and what could not be taken: line numbers by reason."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    malformed: list[int] = field(default_factory=list[int])
    duplicate: list[int] = field(default_factory=list[int])
    unknown: list[int] = field(default_factory=list[int])
    missing: list[str] = field(default_factory=list[str])


def export_requests(requests: Iterable[RenderRequest], folder: str | Path, *, batches: int = 0) -> ExportedRequests:
    """Write all requests, and in `batches` parts of nearly equal size where asked.

    Raises:
        ConfigError: batches below 0, or more batches than requests.
        DataError: the folder cannot be written.
    """
    folder = Path(folder)
    lines = [json.dumps(_line(request), ensure_ascii=False) + "\n" for request in requests]
    if batches < 0 or batches > len(lines):
        raise ConfigError(f"{batches} batches of {len(lines)} requests; give 0 to {len(lines)}", "batches")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "requests.jsonl").write_text("".join(lines), encoding="utf-8")
        for batch in range(batches):
            part = folder / f"batch-{batch + 1:02d}"
            part.mkdir(exist_ok=True)
            (part / "input.jsonl").write_text("".join(lines[batch::batches]), encoding="utf-8")
            (part / "INSTRUCTIONS.md").write_text(_SHEET, encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot be written: {error}", folder) from error
    return ExportedRequests(len(lines), batches, folder / "requests.jsonl")


def ingest_texts(
    requests: Iterable[RenderRequest], exported: str | Path, outputs: Iterable[str | Path]
) -> IngestedTexts:
    """The texts that came back for `requests`.

    Args:
        requests: the requests as they would be asked today.
        exported: the `requests.jsonl` that the writers worked from.
        outputs: files of lines `{id, text}`.

    Raises:
        ArtifactError: a prompt has changed since the export; the texts would answer another question.
        DataError: a file cannot be read.
    """
    wanted = {request.id: prompt_sha256(request) for request in requests}
    _refuse_changed_prompts(wanted, Path(exported))
    result = IngestedTexts()
    for path in outputs:
        for number, line in _lines(Path(path)):
            _take(result, wanted, number, line)
    result.missing = [record_id for record_id in wanted if record_id not in result.texts]
    return result


def _line(request: RenderRequest) -> dict[str, Any]:
    return {
        "id": request.id,
        "style_id": request.style.style_id,
        "prompt_sha256": prompt_sha256(request),
        "system": system_text(request.style),
        "user": user_text(request),
    }


def _refuse_changed_prompts(wanted: dict[str, str], path: Path) -> None:
    known: dict[str, str] = {}
    for number, line in _lines(path):
        try:
            row = json.loads(line)
            known[row["id"]] = row["prompt_sha256"]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"is not an exported request ({error!r}); export again", path, number) from error
    for record_id, sha256 in wanted.items():
        if record_id not in known:
            raise ArtifactError(f"{path} has no request {record_id!r}; export again with the same plan and options")
        if known[record_id] != sha256:
            raise ArtifactError(
                f"the prompt of {record_id!r} is not that of {path}: plan, styles or code have changed; export again",
                known[record_id],
                sha256,
            )


def _take(result: IngestedTexts, wanted: dict[str, str], number: int, line: str) -> None:
    try:
        row = json.loads(line)
        record_id, text = row["id"], row["text"]
    except (ValueError, KeyError, TypeError):
        result.malformed.append(number)
        return
    if not isinstance(record_id, str) or not isinstance(text, str):
        result.malformed.append(number)
    elif record_id not in wanted:
        result.unknown.append(number)
    elif record_id in result.texts:
        result.duplicate.append(number)
    else:
        result.texts[record_id] = text


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as handle:
            for number, line in enumerate(handle, start=1):
                if line.strip():
                    yield number, line
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}", path) from error
