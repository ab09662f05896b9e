"""ToolACE dialogues as choices of a tool: the first user turn, the tools on offer, and the one the assistant called.

A row holds `system`, which ends in a JSON list of functions, and `conversations`, turns with `from` and `value`; a call reads
`[Name of function(argument=value, …)]`. Taken are rows with at least two tools whose first turn is answered by a call of one of them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from forthwith.schema import MAX_OPTIONS, Choice, Record, Target
from forthwith.suites.leakage import normalised_text

__all__ = ["ToolACE", "called_functions", "convert_toolace", "listed_functions"]

INSTRUCTIONS = "Which tool answers the request?"
_USER, _ASSISTANT = ("user", "human"), ("assistant", "gpt")


@dataclass(frozen=True)
class ToolACE:
    """Converted rows, and why others were left out."""

    records: list[Record]
    left_out: dict[str, int] = field(default_factory=dict[str, int])


def convert_toolace(
    rows: Iterable[Mapping[str, Any]],
    *,
    taken: frozenset[str] = frozenset(),
    sample: int | None = None,
    seed: int = 42,
) -> ToolACE:
    """Records with one choice, `tool`.

    Args:
        rows: the source's rows, in their order.
        taken: normalised request texts that must not come again (of a test set, say).
        sample: how many records to draw; None for all.
        seed: of the draw.
    """
    left_out: Counter[str] = Counter()
    records: list[Record] = []
    seen = set(taken)
    for number, row in enumerate(rows):
        found = _record(row, number, seen)
        if isinstance(found, str):
            left_out[found] += 1
        else:
            records.append(found)
    if sample is not None and sample < len(records):
        chosen = np.random.default_rng(seed).choice(len(records), size=sample, replace=False)
        left_out["not drawn"] = len(records) - sample
        records = [records[index] for index in sorted(chosen.tolist())]
    return ToolACE(records, dict(left_out))


def listed_functions(system: str) -> dict[str, str]:
    """Name and description of the functions in a system text; empty where no list can be read, or a name comes twice."""
    decoder = json.JSONDecoder()
    for start in (match.start() for match in re.finditer(r"\[\s*\{", system)):
        try:
            value, _ = decoder.raw_decode(system, start)
        except json.JSONDecodeError:
            continue
        functions = [cast("Mapping[str, Any]", item) for item in value if isinstance(item, dict) and "name" in item]
        if len({item["name"] for item in functions}) < len(functions):
            return {}
        return {str(item["name"]): str(item.get("description") or "") for item in functions}
    return {}


def called_functions(reply: str, names: Iterable[str]) -> list[str]:
    """The listed functions that a reply calls, in order; names may hold spaces and brackets."""
    reply = reply.strip()
    if not (reply.startswith("[") and reply.endswith("]")):
        return []
    found: list[tuple[int, str]] = []
    for name in names:
        pattern = r"(?:^\[|,)\s*" + re.escape(name) + r"\s*\("
        found += [(match.start(), name) for match in re.finditer(pattern, reply)]
    return [name for _, name in sorted(found)]


def _record(row: Mapping[str, Any], number: int, seen: set[str]) -> Record | str:
    functions = listed_functions(str(row.get("system") or ""))
    if not 2 <= len(functions) <= MAX_OPTIONS:
        return "fewer than two listed tools, or repeated names"
    turns = cast("list[Mapping[str, Any]]", row.get("conversations") or [])
    if len(turns) < 2 or turns[0].get("from") not in _USER or turns[1].get("from") not in _ASSISTANT:
        return "no first user turn with an answer"
    request = str(turns[0]["value"])
    called = called_functions(str(turns[1]["value"]), functions)
    if len(called) != 1:
        return "not answered by a call of exactly one listed tool"
    text = normalised_text(request)
    if text in seen:
        return "request text seen before"
    seen.add(text)
    question = Choice(instructions=INSTRUCTIONS, criteria={name: text or None for name, text in functions.items()})
    return Record(
        id=f"toolace-{number}",
        state=request,
        questions={"tool": question},
        targets={"tool": Target(label=called[0])},
        meta={"task": "toolace"},
    )
