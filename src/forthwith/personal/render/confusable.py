"""A document that looks like the user's rules and is not: what somebody else wrote to an assistant of their own."""

from __future__ import annotations

from forthwith.personal.fragment import DraftRecord
from forthwith.personal.lines import ApprovalRule, Clearance, MeetingCap, QuietHours, RuleLine, SpendLimit, TypeCap
from forthwith.personal.render.context_lines import line_sentence
from forthwith.personal.render.phraser import Phraser
from forthwith.personal.standing import stands_alone
from forthwith.personal.text_values import read_value_kinds
from forthwith.personal.vocabulary import EVENT_TYPES, NOTIFY_LEVELS, PRIVACY_LEVELS, RECIPIENT_TYPES

__all__ = ["confusable_document"]

_LIMITS = (25, 30, 40, 50, 60, 75, 80, 100, 120, 150, 200, 250, 300)


def confusable_document(draft: DraftRecord, voice: Phraser) -> str | None:
    """Rules of one of the user's contacts, in that contact's own words and under their name.

    None where the state names no contact, or where the document would say something that the draft forbids.
    """
    names = sorted({contact.name for contact in draft.snapshot.contacts})
    if not names:
        return None
    rng, name = voice.rng, voice.rng.choice(names)
    sentences = [line_sentence(voice, line) for line in rng.sample(_rules(voice), k=rng.randrange(3, 6))]
    head = (
        f"寄件人：{name}\n收件人：{name}自己的助手"
        if voice.language == "zh"
        else f"From: {name}\nTo: {name}'s own assistant"
    )
    text = "\n".join([head, *sentences])
    return None if _says_forbidden(draft, text) else text


def _rules(voice: Phraser) -> list[RuleLine]:
    rng = voice.rng
    start = rng.randrange(20, 24)
    return [
        SpendLimit("", rng.choice(_LIMITS)),
        QuietHours("", start, rng.randrange(5, 10)),
        MeetingCap("", rng.choice(NOTIFY_LEVELS)),
        TypeCap("", rng.choice(EVENT_TYPES), rng.choice(NOTIFY_LEVELS)),
        ApprovalRule("", "new_recipient", rng.random() < 0.5),
        ApprovalRule("", "irreversible", rng.random() < 0.5),
        Clearance("", rng.choice(RECIPIENT_TYPES), rng.choice(PRIVACY_LEVELS)),
    ]


def _says_forbidden(draft: DraftRecord, text: str) -> bool:
    said = set(read_value_kinds(text))
    return any(
        stands_alone(text, anchor.text) or bool(set(read_value_kinds(anchor.text)) & said)
        for fragment in draft.fragments
        for anchor in fragment.forbidden
    )
