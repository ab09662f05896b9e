"""Verify a file of records: against the plan and knowledge base they came from, or by what a record itself says.

With plan and knowledge base every draft is made again and the full verifier reads the text. Without them only the
record is looked at: it reads as a record, its required anchors stand in the state, its forbidden ones do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

from forthwith.errors import RequestError
from forthwith.personal.anchor_text import absent, present
from forthwith.personal.benchmark_record import benchmark_record
from forthwith.personal.compose import draft
from forthwith.personal.fragment import PlannedRecord
from forthwith.personal.kb.knowledge import KnowledgeBase
from forthwith.personal.outside import rendered_by
from forthwith.personal.plan import Plan
from forthwith.personal.privacy_scan import forbidden_anchors, iter_json_objects, required_anchors
from forthwith.personal.render import RenderedRecord, render_record
from forthwith.personal.verify import verify_record
from forthwith.schema import parse_record

__all__ = ["VerifyReport", "record_problems", "verify_against_plan", "verify_file"]

_EXAMPLES = 20
_PROBE = "¶"


@dataclass
class VerifyReport:
    """What was found in a file.

    Attributes:
        records: how many there are.
        good: those without a problem.
        without_anchors: those that name nothing their text must or must not hold, so that nothing of the kind could be checked.
        missing: ids that the plan has and the file has not; a generator may have dropped them.
        problems: records by kind of problem.
        examples: (line, record id, problem) of the first problems.
    """

    records: int = 0
    good: int = 0
    without_anchors: int = 0
    missing: list[str] = field(default_factory=list[str])
    problems: Counter[str] = field(default_factory=Counter[str])
    examples: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])

    def add(self, line: int, record_id: str, found: list[tuple[str, str]]) -> None:
        """Count one record."""
        self.records += 1
        self.good += not found
        self.problems.update({kind for kind, _ in found})
        for kind, detail in found:
            if len(self.examples) < _EXAMPLES:
                self.examples.append((line, record_id, f"{kind}: {detail}"))

    @property
    def ok(self) -> bool:
        """Whether every record is good."""
        return self.good == self.records


def verify_file(records: str | Path) -> VerifyReport:
    """Check each record by itself.

    Raises:
        DataError: a line is not a JSON object (path and line).
    """
    report = VerifyReport()
    seen: set[str] = set()
    for line, record in iter_json_objects(records):
        record_id = str(record.get("id"))
        report.without_anchors += not _has_anchors(record)
        report.add(line, record_id, record_problems(record) + _repeated(record_id, seen))
    return report


def verify_against_plan(records: str | Path, plan: Plan, kb: KnowledgeBase) -> VerifyReport:
    """Check each record against the draft it was made from.

    Raises:
        DataError: a line is not a JSON object (path and line).
        ArtifactError: the plan belongs to another knowledge base or version.
    """
    planned = {record.record_id: record for record in plan.records}
    report = VerifyReport()
    seen: set[str] = set()
    for line, record in iter_json_objects(records):
        record_id = str(record.get("id"))
        report.without_anchors += not _has_anchors(record)
        found = record_problems(record) + _repeated(record_id, seen)
        if record_id not in planned:
            found.append(("unknown_record", "the plan has no such record"))
        elif not found:
            found = list(_against_draft(record, planned[record_id], kb))
        report.add(line, record_id, found)
    report.missing = [record_id for record_id in planned if record_id not in seen]
    return report


def _repeated(record_id: str, seen: set[str]) -> list[tuple[str, str]]:
    """The problem of an id that stands in the file already; notes the id."""
    found = [("repeated_record", "the file has this id already")] if record_id in seen else []
    seen.add(record_id)
    return found


def _has_anchors(record: dict[str, Any]) -> bool:
    meta = cast("dict[str, Any]", record.get("meta") or {})
    return next(chain(required_anchors(meta), forbidden_anchors(meta)), None) is not None


def record_problems(record: dict[str, Any]) -> list[tuple[str, str]]:
    """What is wrong with a record by itself: kind and detail."""
    try:
        parse_record(record)
    except RequestError as error:
        return [("not_a_record", str(error))]
    state, meta = record["state"], cast("dict[str, Any]", record.get("meta") or {})
    text = state if isinstance(state, str) else str(state)
    lost = [("missing_required_anchor", repr(anchor)) for anchor in absent(text, required_anchors(meta))]
    return lost + [("forbidden_anchor_present", repr(anchor)) for anchor in present(text, forbidden_anchors(meta))]


def _against_draft(record: dict[str, Any], planned: PlannedRecord, kb: KnowledgeBase) -> Iterator[tuple[str, str]]:
    render = cast("dict[str, str]", record["meta"]["render"])
    made = draft(replace(planned, style_id=render["style_id"]), kb)
    is_ours, state = render["model"] == "template", record["state"]
    probe = render_record(made) if is_ours else rendered_by(made, _PROBE, render["model"])
    unburied = _without_documents(state, probe)
    rendered = probe if is_ours else rendered_by(made, unburied, render["model"])
    rendered = replace(rendered, state=state, unburied=unburied)
    for problem in verify_record(made, rendered).problems:
        yield problem.kind, f"{problem.qid}: {problem.detail}"
    expected = benchmark_record(made, rendered, render.get("prompt_sha256"))
    for qid, question in expected["questions"].items():
        found = cast("dict[str, Any]", record["questions"].get(qid) or {})
        for member in ("criteria", "label", "soft_label"):
            if found.get(member) != question.get(member):
                yield (
                    "changed_question",
                    f"{qid}.{member} is {found.get(member)!r:.80}, expected {question.get(member)!r:.80}",
                )


def _without_documents(state: str, probe: RenderedRecord) -> str:
    """The state without the paragraphs that a rendering of the same draft inserted as documents.

    The documents of a draft and their headings do not depend on the text that they are put into.
    """
    inserted = Counter(probe.state.split("\n\n")) - Counter(probe.unburied.split("\n\n"))
    kept: list[str] = []
    for paragraph in state.split("\n\n"):
        if inserted[paragraph] > 0:
            inserted[paragraph] -= 1
        else:
            kept.append(paragraph)
    return "\n\n".join(kept)
