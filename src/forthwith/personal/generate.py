"""From a plan to a file of verified records: draft, render, verify, write; in parts, so that a kill loses little.

Each part is written whole and renamed into place. A part is a pure function of its planned records and the knowledge base,
so any number of processes, and any number of interruptions, give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import shutil
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.progress import Progress

from forthwith.errors import ArtifactError, DataError
from forthwith.personal.benchmark_record import benchmark_record
from forthwith.personal.compose import draft
from forthwith.personal.determinism import seeded_rng
from forthwith.personal.fragment import DraftRecord, PlannedRecord
from forthwith.personal.kb.knowledge import KnowledgeBase, open_kb
from forthwith.personal.plan import Plan
from forthwith.personal.recipe import recipe_hash
from forthwith.personal.render import render_record, style_ids
from forthwith.personal.verify import verify_record
from forthwith.personal.vocabulary import Split

__all__ = ["PART", "GenerateReport", "generate", "make_record"]

PART = 50
"""Records written together."""

RESTYLES = 3
"""Other styles tried when a text does not pass verification."""


@dataclass(frozen=True)
class GenerateReport:
    """What a run wrote.

    Attributes:
        fingerprint: of the plan; `recipe` of the code, phrases and styles.
        planned: records in the plan.
        kept: records that passed verification.
        restyled: of those, how many needed another style than planned.
        dropped: reasons and counts.
        questions: by family.
        variants: by family and variant.
        labels: hard labels by family.
        sha256: of the file.
    """

    fingerprint: str
    recipe: str
    planned: int
    kept: int
    restyled: int
    dropped: dict[str, int]
    questions: dict[str, int]
    variants: dict[str, dict[str, int]]
    labels: dict[str, dict[str, int]]
    sha256: str


@dataclass(frozen=True)
class _Made:
    """One attempt at a record: its line (None when dropped) and its log line."""

    line: str | None
    log: dict[str, Any]


def generate(
    kb: str | Path, plan: Plan, out: str | Path, *, processes: int = 1, show_progress: bool = False
) -> GenerateReport:
    """Write the records of a plan to `out` (JSONL), its log, statistics and hash beside it.

    Parts that an earlier, interrupted run of the same plan left are kept.

    Raises:
        ArtifactError: `out` belongs to another plan, or was begun by another version of code, phrases or styles.
        DataError: the disk is full or the folder cannot be written; what is written stays and the run can go on.
    """
    out, kb = Path(out), Path(kb)
    parts = out.with_name(out.name + ".parts")
    try:
        _claim(parts, out, plan)
        _make_parts(kb, plan, parts, processes=processes, show_progress=show_progress)
        report = _join(parts, out, plan)
    except OSError as error:
        reason = f"cannot be written: {error.strerror}; free the disk and run again, finished parts are kept"
        raise DataError(reason, out) from error
    shutil.rmtree(parts)
    return report


def _claim(parts: Path, out: Path, plan: Plan) -> None:
    """Mark the folder of parts as this plan's."""
    parts.mkdir(parents=True, exist_ok=True)
    stamp = parts / "fingerprint"
    wanted = f"{plan.fingerprint}-{recipe_hash()}"
    found = stamp.read_text(encoding="utf-8") if stamp.is_file() else _finished_run(out)
    if found is not None and found != wanted:
        reason = f"{out} holds a run of another plan or version; delete it and its parts, or choose another name"
        raise ArtifactError(reason, wanted, found)
    _write_whole(stamp, wanted)


def _finished_run(out: Path) -> str | None:
    """Plan and version of the run that a finished file came from, if there is one."""
    stats = out.with_name(out.name + ".stats.json")
    if not out.exists() or not stats.is_file():
        return None
    report: dict[str, Any] = json.loads(stats.read_text(encoding="utf-8"))
    return f"{report.get('fingerprint')}-{report.get('recipe')}"


def _write_whole(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".partial")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


# ---- making parts -------------------------------------------------------------------------------------------------

_SPAWN = multiprocessing.get_context("spawn")  # polars keeps threads, which a forked process would wait for
_worker: dict[str, KnowledgeBase] = {}


def _make_parts(kb: Path, plan: Plan, parts: Path, *, processes: int, show_progress: bool) -> None:
    records = plan.records
    todo = {start: records[start : start + PART] for start in range(0, len(records), PART)}
    left = {start: chunk for start, chunk in todo.items() if not _part(parts, start).is_file()}
    with Progress(disable=not show_progress) as progress:
        task = progress.add_task("records", total=len(records))
        progress.advance(task, sum(len(chunk) for start, chunk in todo.items() if start not in left))
        if processes <= 1:
            opened = open_kb(kb, plan.config.split) if left else None
            for start, chunk in left.items():
                if opened is not None:
                    _write_part(parts, start, [make_record(opened, record) for record in chunk])
                progress.advance(task, len(chunk))
            return
        with ProcessPoolExecutor(
            processes, _SPAWN, initializer=_open_in_worker, initargs=(kb, plan.config.split)
        ) as pool:
            waiting = {pool.submit(_part_in_worker, parts, start, chunk): len(chunk) for start, chunk in left.items()}
            for done in as_completed(waiting):
                done.result()
                progress.advance(task, waiting[done])


def _open_in_worker(folder: Path, split: Split) -> None:
    _worker["kb"] = open_kb(folder, split)


def _part_in_worker(parts: Path, start: int, chunk: Sequence[PlannedRecord]) -> None:
    _write_part(parts, start, [make_record(_worker["kb"], record) for record in chunk])


def _part(parts: Path, start: int) -> Path:
    return parts / f"{start:09d}.jsonl"


def _write_part(parts: Path, start: int, made: Sequence[_Made]) -> None:
    """The log first: a part counts as done when its records are in place."""
    log = "".join(_line(item.log) for item in made)
    _write_whole(_part(parts, start).with_suffix(".log"), log)
    _write_whole(_part(parts, start), "".join(item.line for item in made if item.line is not None))


def make_record(kb: KnowledgeBase, record: PlannedRecord) -> _Made:
    """Draft, render and verify one record; a text that fails is tried in up to `RESTYLES` other styles."""
    styles = [record.style_id, *_other_styles(record)]
    problems: list[str] = []
    drafted = draft(record, kb)
    for tried, style_id in enumerate(styles):
        current = replace(drafted, planned=replace(record, style_id=style_id))
        rendered = render_record(current)
        verdict = verify_record(current, rendered)
        if verdict.ok:
            log = _log(record, drafted, style_id=style_id, tried=tried, problems=problems)
            return _Made(_line(benchmark_record(current, rendered)), {**log, "status": "kept"})
        problems += [f"{problem.kind}: {problem.qid}: {problem.detail}" for problem in verdict.problems]
    log = _log(record, drafted, style_id=record.style_id, tried=len(styles), problems=problems)
    return _Made(None, {**log, "status": "dropped"})


def _other_styles(record: PlannedRecord) -> list[str]:
    others = [name for name in style_ids(record.split) if name != record.style_id]
    return seeded_rng("pd-restyle", record.record_id).sample(others, k=min(RESTYLES, len(others)))


def _log(
    record: PlannedRecord, drafted: DraftRecord, *, style_id: str, tried: int, problems: Sequence[str]
) -> dict[str, Any]:
    return {
        "id": record.record_id,
        "style_id": style_id,
        "restyled": tried,
        "problems": list(problems),
        "fragments": [
            {
                "family": fragment.family,
                "variant": fragment.variant,
                "scenario": fragment.scenario,
                "label": fragment.label if fragment.is_hard else None,
                "position": slot.position,
                "size": slot.size,
            }
            for fragment, slot in zip(drafted.fragments, record.families, strict=True)
        ],
    }


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


# ---- joining ------------------------------------------------------------------------------------------------------


def _join(parts: Path, out: Path, plan: Plan) -> GenerateReport:
    """All parts in order of index into one file, with log, statistics and hash."""
    starts = range(0, len(plan.records), PART)
    digest = hashlib.sha256()
    whole = out.with_name(out.name + ".partial")
    with whole.open("wb") as file:
        for start in starts:
            block = _part(parts, start).read_bytes()
            digest.update(block)
            file.write(block)
    logs = [_part(parts, start).with_suffix(".log").read_text(encoding="utf-8") for start in starts]
    _write_whole(out.with_name(out.name + ".log.jsonl"), "".join(logs))
    report = _report(plan, [json.loads(line) for log in logs for line in log.splitlines()], digest.hexdigest())
    _write_whole(out.with_name(out.name + ".stats.json"), json.dumps(asdict(report), indent=2, sort_keys=True) + "\n")
    _write_whole(out.with_name(out.name + ".sha256"), f"{report.sha256}  {out.name}\n")
    whole.replace(out)
    return report


def _report(plan: Plan, logs: Sequence[dict[str, Any]], sha256: str) -> GenerateReport:
    kept = [log for log in logs if log["status"] == "kept"]
    fragments = [fragment for log in kept for fragment in log["fragments"]]
    names = sorted({fragment["family"] for fragment in fragments})
    reasons = Counter(log["problems"][0].split(":")[0] for log in logs if log["status"] == "dropped")

    def counts(family: str, member: str) -> dict[str, int]:
        found = Counter(
            str(item[member]) for item in fragments if item["family"] == family and item[member] is not None
        )
        return dict(sorted(found.items()))

    return GenerateReport(
        fingerprint=plan.fingerprint,
        recipe=recipe_hash(),
        planned=len(plan.records),
        kept=len(kept),
        restyled=sum(log["restyled"] > 0 for log in kept),
        dropped=dict(sorted(reasons.items())),
        questions=dict(sorted(Counter(fragment["family"] for fragment in fragments).items())),
        variants={name: counts(name, "variant") for name in names},
        labels={name: counts(name, "label" if name != "pick_option" else "position") for name in names},
        sha256=sha256,
    )
