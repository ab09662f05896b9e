"""A whole plan rendered by an outside writer: requests made from drafts, texts verified, kept records written.

The output is written whole each time, in the order of the plan; what makes a run resumable is that texts are never paid
for twice (the cache of a chat endpoint, the returned files of an exchange). A log beside the output says what became of
each record, and a header in it refuses to mix two recipes in one output.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forthwith.errors import ArtifactError, DataError
from forthwith.personal.benchmark_record import benchmark_record
from forthwith.personal.compose import draft
from forthwith.personal.fragment import DraftRecord
from forthwith.personal.kb.knowledge import KnowledgeBase
from forthwith.personal.outside import render_request, rendered_by, text_check
from forthwith.personal.plan import Plan
from forthwith.personal.render_chat import ChatWriter, WrittenText
from forthwith.personal.render_request import RenderRequest, prompt_sha256
from forthwith.personal.verify import verify_record

__all__ = ["OutsideReport", "plan_requests", "write_outside", "write_texts_by_chat"]


@dataclass(frozen=True)
class OutsideReport:
    """What became of a plan: counts, reasons of dropped records, tokens paid now, and the hash of the output."""

    path: str
    renderer: str
    planned: int
    kept: int
    pending: int
    dropped: dict[str, int]
    repaired: int
    input_tokens: int
    output_tokens: int
    sha256: str


def plan_requests(plan: Plan, kb: KnowledgeBase) -> Iterator[RenderRequest]:
    """One request for each planned record, in order."""
    for record in plan.records:
        yield render_request(draft(record, kb))


def write_texts_by_chat(
    plan: Plan, kb: KnowledgeBase, writer: ChatWriter, *, concurrency: int = 4
) -> Iterator[WrittenText]:
    """The texts of a chat endpoint for a plan, verified and at most once repaired, in order of the plan.

    Raises:
        EngineError, CostCeilingError: as `ChatWriter.write`.
    """
    drafts = {record.record_id: draft(record, kb) for record in plan.records}
    requests = (render_request(drafts[record.record_id]) for record in plan.records)
    yield from writer.write_all(
        requests, concurrency=concurrency, further=lambda request: text_check(drafts[request.id])
    )


def write_outside(
    plan: Plan, kb: KnowledgeBase, texts: Iterable[tuple[str, str, int, int, int]], out: str | Path, renderer: str
) -> OutsideReport:
    """Verify texts and write the kept records.

    Args:
        plan: what was asked for.
        kb: of the plan's split.
        texts: (record id, text, rounds, input tokens, output tokens) of those that came.
        out: the file of records; log and statistics go beside it.
        renderer: name of the writer, kept in each record.

    Raises:
        ArtifactError: `out` belongs to another plan or writer.
        DataError: the files cannot be written.
    """
    out = Path(out)
    header = {"fingerprint": plan.fingerprint, "renderer": renderer}
    _refuse_other_recipe(out, header)
    came = {record_id: (text, rounds, paid_in, paid_out) for record_id, text, rounds, paid_in, paid_out in texts}
    logs: list[dict[str, Any]] = []
    lines: list[str] = []
    for record in plan.records:
        if record.record_id not in came:
            logs.append({"id": record.record_id, "status": "pending"})
            continue
        text, rounds, paid_in, paid_out = came[record.record_id]
        line, log = _judged(draft(record, kb), text, renderer)
        logs.append({**log, "rounds": rounds, "input_tokens": paid_in, "output_tokens": paid_out})
        lines += [line] if line is not None else []
    content = "".join(lines)
    _write(out, content)
    _write(out.with_name(out.name + ".log.jsonl"), "".join(json.dumps(row) + "\n" for row in (header, *logs)))
    return _report(out, renderer, logs, hashlib.sha256(content.encode()).hexdigest())


def _judged(made: DraftRecord, text: str, renderer: str) -> tuple[str | None, dict[str, Any]]:
    rendered = rendered_by(made, text, renderer)
    problems = verify_record(made, rendered).problems
    log: dict[str, Any] = {"id": rendered.record_id, "style_id": rendered.style_id}
    if problems:
        reasons = [f"{problem.kind}: {problem.qid}: {problem.detail}" for problem in problems]
        return None, {**log, "status": "dropped", "problems": reasons}
    record = benchmark_record(made, rendered, prompt_sha256(render_request(made)))
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n", {**log, "status": "kept"}


def _report(out: Path, renderer: str, logs: Sequence[dict[str, Any]], sha256: str) -> OutsideReport:
    status = Counter(log["status"] for log in logs)
    reasons = Counter(log["problems"][0].split(":")[0] for log in logs if log["status"] == "dropped")
    return OutsideReport(
        path=str(out),
        renderer=renderer,
        planned=len(logs),
        kept=status["kept"],
        pending=status["pending"],
        dropped=dict(sorted(reasons.items())),
        repaired=sum(log.get("rounds", 1) > 1 and log["status"] == "kept" for log in logs),
        input_tokens=sum(log.get("input_tokens", 0) for log in logs),
        output_tokens=sum(log.get("output_tokens", 0) for log in logs),
        sha256=sha256,
    )


def _refuse_other_recipe(out: Path, header: dict[str, str]) -> None:
    log = out.with_name(out.name + ".log.jsonl")
    if not log.exists():
        return
    with log.open(encoding="utf-8") as handle:
        found = json.loads(handle.readline() or "{}")
    if found != header:
        raise ArtifactError(f"{out} holds another run; delete it and its log or choose another name", header, found)


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise DataError(f"cannot be written: {error}; make room and run again, texts are kept", path) from error
    finally:
        temporary.unlink(missing_ok=True)
