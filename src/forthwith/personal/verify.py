"""Checks that a rendered text says exactly what its snapshot says, and that its labels follow from it.

Six checks: required anchors with their role and company, forbidden values in any spelling, the inventory of values and
names, the phrases of the template renderer, the labels derived a second time, and the documents that were inserted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from forthwith.errors import DataError
from forthwith.personal.anchor_text import normalised
from forthwith.personal.cue_words import UNDATED_KINDS, cue_of, demands_approval, is_about_approval, word_pattern
from forthwith.personal.field_reader import Row, read_rows
from forthwith.personal.fragment import Anchor, DraftRecord, Fragment
from forthwith.personal.inventory import Holdings, holdings_of, strays
from forthwith.personal.lines import ApprovalRule
from forthwith.personal.rederive import derive_label, rows_from_payload
from forthwith.personal.render.rendered import RenderedRecord
from forthwith.personal.render.styles import style
from forthwith.personal.snapshot import line_kind, snapshot_payload
from forthwith.personal.standing import places_of, stands_alone
from forthwith.personal.text_units import TextUnit, UnitIndex
from forthwith.personal.text_values import read_values
from forthwith.personal.vocabulary import PRIVACY_LEVELS

__all__ = ["Problem", "ProblemKind", "Verdict", "verify_record"]

ProblemKind = Literal[
    "empty_render",
    "missing_required_anchor",
    "misplaced_anchor",
    "changed_phrase",
    "forbidden_anchor_present",
    "not_in_snapshot",
    "wrong_polarity",
    "label_disagrees",
    "unreadable_fields",
    "document_lost",
]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a rendered record, and what was found."""

    kind: ProblemKind
    detail: str
    qid: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a rendered record may be kept, and if not, why."""

    record_id: str
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """No problem was found."""
        return not self.problems


def verify_record(draft: DraftRecord, rendered: RenderedRecord) -> Verdict:
    """The verdict on a rendered draft. Reads draft and text only; calls no renderer and no rule."""
    if not rendered.unburied.strip():
        return Verdict(rendered.record_id, (Problem("empty_render", "the text is empty"),))
    payload = snapshot_payload(draft.snapshot)
    holdings = holdings_of(payload)
    labels = [item.label for item in draft.snapshot.pending]
    index = UnitIndex(rendered.unburied, labels, holdings.strings)
    problems = [
        *_anchor_problems(draft, index),
        *_polarity_problems(draft, rendered, index),
        *_phrase_problems(rendered),
        *_forbidden_problems(draft, rendered, holdings),
        *(Problem("not_in_snapshot", stray) for stray in strays(rendered.unburied, holdings, labels)),
        *_label_problems(draft, rendered, rows_from_payload(payload)),
        *_document_problems(draft, rendered),
    ]
    return Verdict(rendered.record_id, tuple(dict.fromkeys(problems)))


# ---- required anchors -----------------------------------------------------------------------------------------------


def _anchor_problems(draft: DraftRecord, index: UnitIndex) -> Iterator[Problem]:
    """Every line's anchors must stand together, in a sentence about that kind of line and about nobody else."""
    owners = {owner for line in draft.snapshot.lines() if isinstance(owner := getattr(line, "owner", None), str)}
    labels = {item.line_id: item.label for item in draft.snapshot.pending}
    kinds = {line.line_id: line_kind(line) for line in draft.snapshot.lines()}
    sentences = list(index.sentences())
    done: set[str] = set()
    for fragment in draft.fragments:
        groups: dict[str, list[Anchor]] = {}
        for anchor in fragment.required:
            groups.setdefault(anchor.line_id, []).append(anchor)
        for line_id, anchors in groups.items():
            key = f"{line_id} {[(anchor.role, anchor.text) for anchor in anchors]}"
            if key in done:
                continue
            done.add(key)
            if line_id in labels:
                units = [piece] if (piece := index.pending.get(labels[line_id])) else []
                problem = _missing(anchors, units, "pending", frozenset())
            else:
                others = owners - {anchor.text for anchor in anchors}
                problem = _missing(anchors, sentences, kinds.get(line_id, ""), frozenset(others))
            if problem is not None:
                yield Problem(problem.kind, problem.detail, fragment.qid)


def _missing(anchors: list[Anchor], units: list[TextUnit], kind: str, others: frozenset[str]) -> Problem | None:
    longest_first = sorted(anchors, key=lambda anchor: -len(anchor.text))
    for unit in units:
        if _absent(unit, longest_first) is None and _is_about(unit, anchors, kind, others):
            return None
    roles = ", ".join(sorted({anchor.role for anchor in anchors}))
    for anchor in anchors:
        if all(_absent(unit, [anchor]) is not None for unit in units):
            return Problem("missing_required_anchor", f"{anchor.text!r} ({roles})")
    texts = ", ".join(repr(anchor.text) for anchor in anchors)
    return Problem("misplaced_anchor", f"{texts} do not stand together ({roles})")


def _is_about(unit: TextUnit, anchors: list[Anchor], kind: str, others: frozenset[str]) -> bool:
    """Whether a unit that says the anchors can be the line of this kind: by its cue, its company, and whose it is."""
    cue = cue_of(kind)
    if (cue is not None and not cue.search(unit.text)) or any(other in unit.text for other in others):
        return False
    if kind in ("clearance", "fact_marking") and all(word_pattern(level).search(unit.text) for level in PRIVACY_LEVELS):
        return False  # the order of the levels says every level
    is_undated = kind in UNDATED_KINDS and not any(anchor.kind == "date" for anchor in anchors)
    return not (is_undated and any(value == "date" for value, _ in unit.values))  # a dated line is another line


def _absent(unit: TextUnit, anchors: list[Anchor]) -> Anchor | None:
    """The first anchor that the unit does not say, each at a place of its own; None where it says all.

    Anchors come longest first: "Marlow" must not take the place of "Marlow Springs".
    """
    rest = unit.text
    values = Counter[tuple[str, str]]()
    for anchor in anchors:
        if anchor.kind in ("text", "level", "word"):
            span = _span(rest, anchor)
            if span is None:
                return anchor
            rest = f"{rest[: span[0]]}\x00{rest[span[1] :]}"
        else:
            values.update(_canonical(anchor.text, _spelling(anchor)))
            if any(unit.values[value] < (values[value] if value[0] != "date" else 1) for value in values):
                return anchor
    return None


def _span(text: str, anchor: Anchor) -> tuple[int, int] | None:
    if anchor.kind == "text":
        plain = _plain(anchor.text)
        place = next(places_of(text, plain), None)
        return None if place is None else (place, place + len(plain))
    match = word_pattern(anchor.text).search(text)
    return None if match is None else match.span()


def _spelling(anchor: Anchor) -> str:
    """The anchor's kind; the end of a calendar entry may be written without its day."""
    return "clock" if anchor.kind == "datetime" and anchor.role.endswith(".end") else anchor.kind


@lru_cache(maxsize=16_384)
def _plain(text: str) -> str:
    return normalised(text)


@lru_cache(maxsize=16_384)
def _canonical(text: str, spelling: str) -> tuple[tuple[str, str], ...]:
    """What `read_values` finds in a text that says the anchor."""
    if spelling == "datetime":
        return (("date", text[:10]), ("time", text[11:16]))
    if spelling == "clock":
        return (("time", text[11:16]),)
    if spelling == "date":
        return (("date", text),)
    if spelling == "hour":
        return (("time", text),)
    return tuple((value.kind, value.canonical) for value in read_values(text)) or (("text", text),)


def _polarity_problems(draft: DraftRecord, rendered: RenderedRecord, index: UnitIndex) -> Iterator[Problem]:
    """An approval rule of the user is on or off in words; the sentences about it must not only say the opposite."""
    rules = [rule for rule in draft.snapshot.rules if isinstance(rule, ApprovalRule) and rule.owner is None]
    if not rules or style(rendered.style_id).structured:
        return
    for about in ("new_recipient", "irreversible"):
        wanted = {rule.on for rule in rules if rule.about == about}
        said = {demands_approval(unit.text) for unit in index.sentences() if is_about_approval(unit.text, about)}
        if wanted and said and not wanted & said:
            on = "on" if True in wanted else "off"
            yield Problem("wrong_polarity", f"the {about} rule is {on}, the text says otherwise")


# ---- phrases, forbidden values, labels, documents -------------------------------------------------------------------


def _phrase_problems(rendered: RenderedRecord) -> Iterator[Problem]:
    """What the template renderer said about an anchor's line must still stand word for word."""
    text = normalised(rendered.unburied)
    for anchor in rendered.anchors:
        if rendered.renderer == "template" and anchor.context is None:
            yield Problem("missing_required_anchor", f"{anchor.text!r} ({anchor.anchor.role})", anchor.qid)
        elif anchor.context is not None and normalised(anchor.context) not in text:
            yield Problem("changed_phrase", f"{anchor.anchor.role}: {anchor.context[:80]!r}", anchor.qid)


def _forbidden_problems(draft: DraftRecord, rendered: RenderedRecord, holdings: Holdings) -> Iterator[Problem]:
    if not any(fragment.forbidden for fragment in draft.fragments):
        return
    found = {(value.kind, value.canonical) for value in read_values(rendered.unburied)}
    text = normalised(rendered.state)
    for fragment in draft.fragments:
        for anchor in fragment.forbidden:
            if anchor.kind in ("text", "word", "level"):
                is_said = stands_alone(text, normalised(anchor.text))
            else:
                values = set(_canonical(anchor.text, anchor.kind))
                is_said = values <= found and not values <= holdings.values
            if is_said:
                yield Problem("forbidden_anchor_present", f"{anchor.text!r} ({anchor.role})", fragment.qid)


def _label_problems(draft: DraftRecord, rendered: RenderedRecord, rows: list[Row]) -> Iterator[Problem]:
    sources = {"snapshot": rows}
    look = style(rendered.style_id)
    if look.structured and rendered.renderer == "template":
        try:
            sources["text"] = read_rows(rendered.unburied, look.layout)
        except DataError as error:
            yield Problem("unreadable_fields", str(error))
    for fragment in draft.fragments:
        for source, members in sources.items():
            if (problem := _disagreement(fragment, members, source)) is not None:
                yield problem


def _disagreement(fragment: Fragment, rows: list[Row], source: str) -> Problem | None:
    if fragment.family == "pick_option":
        label = fragment.pending.label
        listed = [str(row.get("option_id")) for row in rows if row.kind == "option" and row.get("of") == label]
        is_same = listed == [option.option_id for option in fragment.question.options] and fragment.label in listed
        return None if is_same else Problem("label_disagrees", f"{source}: options {listed}", fragment.qid)
    note = fragment.question.note_date
    derived = derive_label(rows, fragment.family, fragment.question.pending, None if note is None else note.isoformat())
    if not fragment.is_hard:
        return None
    if derived != fragment.label:
        return Problem("label_disagrees", f"{source}: {derived!r}, the label is {fragment.label!r}", fragment.qid)
    return None


def _document_problems(draft: DraftRecord, rendered: RenderedRecord) -> Iterator[Problem]:
    for kind, date, text in draft.documents:
        if text.strip() not in rendered.state:
            yield Problem("document_lost", f"the {kind} of {date.isoformat()}: {text.strip()[:60]!r}")
    for paragraph in rendered.unburied.split("\n\n"):
        if paragraph not in rendered.state:
            yield Problem("changed_phrase", f"lost between documents: {paragraph[:80]!r}")
