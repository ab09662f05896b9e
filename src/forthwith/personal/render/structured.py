"""Structured styles: every line as named fields, in five notations that a parser can read back.

Free text is always in double quotes; double quotes inside it become typographic ones, which anchors take for equal.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from typing import Any, cast

from forthwith.personal.lines import Line, QuietHours
from forthwith.personal.pending import Pending, PickRequest
from forthwith.personal.render.phraser import Phraser
from forthwith.personal.render.sheet import Paragraphs
from forthwith.personal.snapshot import Snapshot, line_kind

__all__ = ["FieldRow", "StructuredNames", "structured_paragraphs", "structured_rows"]

_HIDDEN_FIELDS = {"line_id", "fact_id", "item_id", "domain", "popularity"}
_PLAIN_TEXT = frozenset(
    "polarity about recipient_type level service event urgency entity_kind object_kind mode relationship iata".split()  # noqa: SIM905
)
_MONEY_FIELDS = {"unit_price_cents", "delivery_fee_cents", "amount_cents", "price_cents"}
_TASKS = {
    "taste_request": "find_something",
    "forgotten_action": "use_memory",
    "purchase_action": "purchase",
    "message_action": "send_message",
    "delete_action": "delete",
    "share_action": "share_opinion",
    "entity_request": "take_care_of",
    "incoming_event": "event_arrives",
    "pick_request": "pick_one",
}


@dataclasses.dataclass(frozen=True, slots=True)
class FieldRow:
    """One line in fields: its id, kind and (field, written value) pairs; text values come quoted."""

    line_id: str
    kind: str
    fields: tuple[tuple[str, str], ...]


@dataclasses.dataclass(slots=True)
class StructuredNames:
    """The names that one record uses for kinds and fields, drawn once each."""

    voice: Phraser
    drawn: dict[str, str] = dataclasses.field(default_factory=dict[str, str])

    def name(self, section: str) -> str:
        """The record's name for a kind ("kind.spend_limit") or field ("field.amount")."""
        if section not in self.drawn:
            self.drawn[section] = self.voice.say("fields", section)
        return self.drawn[section]


def structured_rows(snapshot: Snapshot, voice: Phraser, lines: list[Line]) -> list[FieldRow]:
    """Every given line of the snapshot as fields, and the time first."""
    yes, no = voice.rng.choice((("yes", "no"), ("true", "false"), ("on", "off")))
    rows = [FieldRow("now", "now", (("time", voice.formats.moment(snapshot.now)),))]
    for line in lines:
        if isinstance(line, Pending):
            rows.extend(_pending_rows(line, voice, yes, no))
        else:
            rows.append(FieldRow(line.line_id, line_kind(line), _fields(line, voice, yes, no)))
    return rows


def _pending_rows(item: Pending, voice: Phraser, yes: str, no: str) -> list[FieldRow]:
    task = _TASKS[line_kind(item.body)]
    head = (("label", item.label), ("task", task), *_fields(item.body, voice, yes, no))
    rows = [FieldRow(item.line_id, "pending", head)]
    if isinstance(item.body, PickRequest):
        rows += [
            FieldRow(item.line_id, "option", (("of", item.label), *_fields(option, voice, yes, no)))
            for option in item.body.options
        ]
    return rows


def _fields(line: object, voice: Phraser, yes: str, no: str) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    for field in dataclasses.fields(cast("Any", line)):
        value = getattr(line, field.name)
        if (
            field.name in _HIDDEN_FIELDS
            or field.name == "options"
            or value is None
            or (field.name == "traits" and not value)
        ):
            continue
        pairs.append((field.name, _written(line, field.name, value, voice, yes, no)))
    return tuple(pairs)


def _written(line: object, field: str, value: object, voice: Phraser, yes: str, no: str) -> str:
    if isinstance(value, bool):
        return yes if value else no
    if isinstance(value, dt.datetime):
        return voice.formats.moment(value)
    if isinstance(value, dt.date):
        return voice.date(value)
    if isinstance(value, tuple):
        members = cast("tuple[str, ...]", value)
        return _quoted(", ".join(members)) if field == "traits" else ", ".join(members) or "none"
    if isinstance(value, int):
        return _number(line, field, value, voice)
    text = str(value)
    return text if field in _PLAIN_TEXT else _quoted(text)


def _number(line: object, field: str, value: int, voice: Phraser) -> str:
    if field in _MONEY_FIELDS:
        return voice.cents(value)
    if field == "price_level":
        return "$" * value
    if field == "amount":
        return voice.dollars(value)
    if isinstance(line, QuietHours):
        return voice.formats.time(value)
    return str(value)


def _quoted(text: str) -> str:
    return '"' + " ".join(text.replace('"', "”").split()) + '"'


def structured_paragraphs(layout: str, rows: list[FieldRow], voice: Phraser) -> Paragraphs:
    """The rows in the notation of a layout, in paragraphs of a few rows, with the context text of every line.

    The first paragraph holds the time. Rows of one pending item stay together.
    """
    names = StructuredNames(voice)
    contexts: dict[str, str] = {}
    blocks: list[str] = []
    for row in rows:
        text = _NOTATIONS[layout](row, names)
        blocks.append(text)
        contexts[row.line_id] = f"{contexts[row.line_id]}\n{text}" if row.line_id in contexts else text
    return Paragraphs(_grouped(rows, blocks, voice), contexts)


def _grouped(rows: list[FieldRow], blocks: list[str], voice: Phraser) -> list[str]:
    paragraphs: list[list[str]] = []
    previous: FieldRow | None = None
    for row, block in zip(rows, blocks, strict=True):
        together = previous is not None and (row.line_id == previous.line_id or _same_group(previous, row))
        if not together or (len(paragraphs[-1]) > 7 and row.kind != "option" and voice.rng.random() < 0.5):
            paragraphs.append([])
        paragraphs[-1].append(block)
        previous = row
    return ["\n".join(paragraph) for paragraph in paragraphs]


def _same_group(previous: FieldRow, row: FieldRow) -> bool:
    return row.kind != "pending" and previous.kind not in ("now", "pending", "option")


def _key_value(row: FieldRow, names: StructuredNames) -> str:
    pairs = "; ".join(f"{names.name(f'field.{field}')}={value}" for field, value in row.fields)
    return f"{names.name(f'kind.{row.kind}')}: {pairs}"


def _card(row: FieldRow, names: StructuredNames) -> str:
    pairs = " · ".join(f"{names.name(f'field.{field}')}: {value}" for field, value in row.fields)
    return f"- **{names.name(f'kind.{row.kind}')}** · {pairs}"


def _json_line(row: FieldRow, names: StructuredNames) -> str:
    members = {"type": names.name(f"kind.{row.kind}")}
    for field, value in row.fields:
        bare = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
        members[names.name(f"field.{field}")] = bare
    return json.dumps(members, ensure_ascii=False)


def _yaml(row: FieldRow, names: StructuredNames) -> str:
    lines = [f"- {names.name(f'kind.{row.kind}')}:"]
    lines += [f"    {names.name(f'field.{field}')}: {value}" for field, value in row.fields]
    return "\n".join(lines)


def _table(row: FieldRow, names: StructuredNames) -> str:
    pairs = " | ".join(f"{names.name(f'field.{field}')} → {value}" for field, value in row.fields)
    return f"| {names.name(f'kind.{row.kind}')} | {pairs} |"


_NOTATIONS = {"key_value": _key_value, "card": _card, "json_lines": _json_line, "yaml": _yaml, "table": _table}
