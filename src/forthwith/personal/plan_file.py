"""Plans on disk: a header with the fingerprint, then one JSON line a record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from forthwith.errors import ArtifactError, DataError
from forthwith.personal.fragment import PlannedFamily, PlannedRecord
from forthwith.personal.plan import Plan, PlanConfig

__all__ = ["read_plan", "write_plan"]


def write_plan(plan: Plan, path: str | Path) -> Path:
    """Write a plan as JSONL: a header line, then one line a record."""
    path = Path(path)
    header = {
        "schema": "forthwith-personal-plan-1",
        "fingerprint": plan.fingerprint,
        "config": asdict(plan.config),
        "records": len(plan.records),
        "unplaced": plan.unplaced,
    }
    temporary = path.with_suffix(path.suffix + ".partial")
    with temporary.open("w", encoding="utf-8") as file:
        for row in (header, *(asdict(record) for record in plan.records)):
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
    temporary.replace(path)
    return path


def read_plan(path: str | Path) -> Plan:
    """A plan from its file.

    Raises:
        DataError: not a plan, or a broken line.
        ArtifactError: it holds fewer records than its header says.
    """
    path = Path(path)
    rows = _rows(path)
    header = next(rows, dict[str, Any]())
    if header.get("schema") != "forthwith-personal-plan-1":
        raise DataError("this is no plan: the header line is missing", path, 1)
    config = header["config"]
    try:
        records = tuple(_record(row) for row in rows)
    except (KeyError, TypeError) as error:
        raise DataError(f"a record of the plan lacks a field: {error}", path) from error
    if len(records) != header["records"]:
        raise ArtifactError("the plan is cut short", header["records"], len(records))
    settings: dict[str, Any] = {**config, "styles": tuple(config["styles"]), "families": tuple(config["families"])}
    return Plan(PlanConfig(**settings), header["fingerprint"], records, tuple(header["unplaced"]))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise DataError(f"not JSON: {error.msg}", path, number) from error


def _record(row: dict[str, Any]) -> PlannedRecord:
    values: dict[str, Any] = {**row, "families": tuple(_slot(slot) for slot in row["families"])}
    return PlannedRecord(**values)


def _slot(row: dict[str, Any]) -> PlannedFamily:
    values: dict[str, Any] = {**row, "ranks": tuple(row["ranks"])}
    return PlannedFamily(**values)
