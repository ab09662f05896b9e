"""From a planned record to a draft: build its fragments, merge their lines into one snapshot, add memories and documents.

A draft is a pure function of the planned record and the knowledge base.
"""

from __future__ import annotations

import datetime as dt
import json
import zoneinfo
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from forthwith.errors import ArtifactError
from forthwith.personal.determinism import seeded_rng
from forthwith.personal.families.builders import BUILDERS
from forthwith.personal.families.context import FamilyContext, RankTally, memory_line
from forthwith.personal.fragment import DraftRecord, Fragment, PlannedFamily, PlannedRecord
from forthwith.personal.kb.knowledge import KnowledgeBase
from forthwith.personal.kb.profile import LaterChoice, UserProfile
from forthwith.personal.lines import HomeAirport, HomeCity, Line, MemoryFact
from forthwith.personal.snapshot import Snapshot, snapshot_payload

__all__ = ["CHARS_PER_TOKEN", "MEMORY_LINES", "build_fragment", "compose", "draft", "present"]

MEMORY_LINES = 12
"""Memory lines of a state when its questions need no more."""

CHARS_PER_TOKEN = 3
"""Of the documents: 3.25 with the default's tokenizer (numbers and names), so that a budget of 6,000 leaves room in 8,192."""

_LETTERS = "ABCDEFG"
_LINES = ("memory", "rules", "preference_updates", "forget_requests", "contacts", "calendar", "notes")
L = TypeVar("L", bound=Line)


def present(user: UserProfile, visit: int) -> tuple[LaterChoice, dt.datetime]:
    """The target choice of a visit and its naive local time, to the minute."""
    good = user.good_later
    target = good[visit % len(good)]
    local = target.when.astimezone(zoneinfo.ZoneInfo(user.time_zone))
    return target, local.replace(tzinfo=None, second=0, microsecond=0)


def build_fragment(
    kb: KnowledgeBase, record: PlannedRecord, place: int, slot: PlannedFamily, tally: RankTally | None = None
) -> Fragment | None:
    """One fragment of a record, or None when the user cannot give what the slot asks for."""
    user = kb.users[record.user_id]
    target, now = present(user, record.visit)
    name = (record.split, record.seed, record.index, slot.family, slot.attempt, record.user_id, record.visit)
    context = FamilyContext(kb, user, now, target, slot, _LETTERS[place], seeded_rng("pd-fragment", *name), tally)
    return BUILDERS[slot.family](context)


def draft(record: PlannedRecord, kb: KnowledgeBase) -> DraftRecord:
    """The draft of a planned record.

    Raises:
        ArtifactError: the plan was made for another knowledge base or by another version.
    """
    if record.user_id not in kb.users:
        raise ArtifactError(f"{record.record_id}: the user {record.user_id!r} is not in this split; plan again")
    fragments: list[Fragment] = []
    for place, slot in enumerate(record.families):
        fragment = build_fragment(kb, record, place, slot)
        if fragment is None:
            raise ArtifactError(f"{record.record_id}: {slot.family} cannot be realised as planned; plan again")
        fragments.append(fragment)
    if record.extent == "brief":
        fragments = _without_distractors(fragments)
    snapshot = compose(kb, record, fragments)
    if snapshot is None:
        raise ArtifactError(f"{record.record_id}: its fragments contradict each other; plan again")
    return DraftRecord(
        planned=record,
        snapshot=snapshot,
        fragments=tuple(fragments),
        documents=_documents(kb, record, fragments) if record.buried_tokens else (),
        is_synthetic=kb.is_synthetic,
    )


def compose(kb: KnowledgeBase, record: PlannedRecord, fragments: Sequence[Fragment]) -> Snapshot | None:
    """The merged snapshot, or None when one fragment needs what another withholds or states differently."""
    needed = frozenset[str]().union(*(fragment.needed_facts for fragment in fragments))
    withheld = frozenset[str]().union(*(fragment.withheld_facts for fragment in fragments))
    if needed & withheld:
        return None
    user = kb.users[record.user_id]
    _, now = present(user, record.visit)
    rng = seeded_rng("pd-compose", record.split, record.seed, record.index)
    memory = _merge(fragment.memory for fragment in fragments)
    rules = _merge(fragment.rules for fragment in fragments)
    notes = _merge(fragment.notes for fragment in fragments)
    contacts = _merge(fragment.contacts for fragment in fragments)
    updates = _merge(fragment.preference_updates for fragment in fragments)
    forgets = _merge(fragment.forget_requests for fragment in fragments)
    calendar = _merge(fragment.calendar for fragment in fragments)
    if memory is None or rules is None or notes is None or contacts is None or updates is None or forgets is None:
        return None
    if calendar is None or len({line.date for line in memory}) < len(memory):
        return None
    forbidden = [anchor.text for fragment in fragments for anchor in fragment.forbidden]
    if record.extent == "full":
        memory += _filler(kb, record, memory, withheld, forbidden)
    rng.shuffle(rules)
    rng.shuffle(contacts)
    snapshot = Snapshot(
        now=now,
        time_zone=user.time_zone,
        profile=(
            HomeCity("profile:city", user.home_city),
            HomeAirport("profile:airport", user.home_airport, user.home_city),
        ),
        memory=tuple(sorted(memory, key=lambda line: line.date)),
        rules=tuple(rules),
        preference_updates=tuple(sorted(updates, key=lambda line: line.since)),
        forget_requests=tuple(sorted(forgets, key=lambda line: line.date)),
        contacts=tuple(contacts),
        calendar=tuple(sorted(calendar, key=lambda line: line.start)),
        notes=tuple(notes),
        pending=tuple(fragment.pending for fragment in fragments),
    )
    return None if forbidden and _is_said(snapshot, forbidden) else snapshot


def _without_distractors(fragments: Sequence[Fragment]) -> list[Fragment]:
    """The fragments without the lines that must not change an answer, unless another fragment needs them."""
    needed = {
        anchor.line_id
        for fragment in fragments
        for anchor in fragment.required
        if anchor.line_id not in fragment.distractors
    }
    idle = frozenset[str]().union(*(fragment.distractors for fragment in fragments)) - needed
    return [_without_lines(fragment, idle) for fragment in fragments]


def _without_lines(fragment: Fragment, idle: frozenset[str]) -> Fragment:
    lines = {name: tuple(line for line in getattr(fragment, name) if line.line_id not in idle) for name in _LINES}
    anchors = tuple(anchor for anchor in fragment.required if anchor.line_id not in idle)
    return replace(fragment, required=anchors, distractors=fragment.distractors - idle, **lines)


def _merge(parts: Iterable[Sequence[L]]) -> list[L] | None:
    """The lines of all parts, each once; None when two of one id differ."""
    merged: dict[str, L] = {}
    for part in parts:
        for line in part:
            if merged.setdefault(line.line_id, line) != line:
                return None
    return list(merged.values())


def _is_said(snapshot: Snapshot, texts: Iterable[str]) -> bool:
    said = json.dumps(snapshot_payload(snapshot), ensure_ascii=False)
    return any(text in said or (text.startswith("$") and f'"amount": {text[1:]}' in said) for text in texts)


def _filler(
    kb: KnowledgeBase,
    record: PlannedRecord,
    memory: Sequence[MemoryFact],
    withheld: frozenset[str],
    forbidden: Sequence[str],
) -> list[MemoryFact]:
    """Random further facts, never forgotten or withheld ones, one a day."""
    user = kb.users[record.user_id]
    rng = seeded_rng("pd-filler", record.split, record.seed, record.index)
    forgotten = {user.facts[forget.fact_index].fact_id for forget in user.forgets}
    excluded = forgotten | withheld | {line.fact_id for line in memory}
    days = {line.date for line in memory}
    pool = [fact for fact in user.facts if fact.fact_id not in excluded and fact.date not in days]
    rng.shuffle(pool)
    lines: list[MemoryFact] = []
    for fact in pool:
        if len(memory) + len(lines) >= MEMORY_LINES:
            break
        if fact.date not in days and not any(text in fact.evidence for text in forbidden):
            days.add(fact.date)
            lines.append(memory_line(fact))
    return lines


def _documents(
    kb: KnowledgeBase, record: PlannedRecord, fragments: Sequence[Fragment]
) -> tuple[tuple[str, dt.date, str], ...]:
    """Mails and reviews of other users up to the budget, none of which holds a name or a quote that matters."""
    rng = seeded_rng("pd-buried", record.split, record.seed, record.index)
    watched = [
        anchor.text
        for fragment in fragments
        for anchor in (*fragment.required, *fragment.forbidden)
        if anchor.kind == "text" and len(anchor.text) >= 6 and not anchor.role.endswith("label")
    ]
    budget = record.buried_tokens * CHARS_PER_TOKEN
    chosen: dict[str, tuple[str, dt.date, str]] = {}
    for _ in range(400):
        if budget < 400:
            break
        pool = kb.mails if (rng.random() < 0.5 and kb.mails) or not kb.reviews else kb.reviews
        if not pool:
            break
        document = rng.choice(pool)
        text = document.text[:budget]
        if document.author == record.user_id or text in chosen or any(word in text for word in watched):
            continue
        chosen[text] = (document.kind, document.date, text)
        budget -= len(text)
    return tuple(chosen.values())


def with_slot(record: PlannedRecord, place: int, slot: PlannedFamily) -> PlannedRecord:
    """The record with one family's slot replaced."""
    return replace(record, families=(*record.families[:place], slot, *record.families[place + 1 :]))
