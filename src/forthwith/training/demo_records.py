"""Short records for a demonstration on a CPU: messages to a small shop, written out of phrases, with answers known by construction."""

from __future__ import annotations

from typing import Any

import numpy as np

from forthwith.schema import Record, parse_record
from forthwith.training.randomness import stream

__all__ = ["demo_records"]

_TOPICS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "delivery": (
        "a parcel that is late, lost or went elsewhere",
        ("My {item} was due {day} and is not here.", "Tracking for the {item} has not moved since {day}.",
         "The driver left my {item} at another house."),
        ("Nobody has seen the van with my {item} since {day}.", "The {item} went to my old street."),
    ),
    "fault": (
        "something that is broken or does not work",
        ("The {item} stopped working {day}.", "My new {item} has a crack in it.", "The {item} makes a loud noise and gets hot."),
        ("Since {day} the {item} will not switch on.", "A part of the {item} fell off."),
    ),
    "refund": (
        "money that should be paid back",
        ("I was charged twice for the {item}.", "Please pay me back for the {item} I returned {day}.",
         "The price of the {item} on my bill is too high."),
        ("The money for the returned {item} has not reached my bank since {day}.", "You took payment for a {item} I cancelled."),
    ),
    "advice": (
        "a question before buying",
        ("Does the {item} fit a small kitchen?", "Which {item} would you take for a family of five?",
         "Is the {item} in stock {day}?"),
        ("Can the {item} be had in blue?", "How long is the guarantee on the {item}?"),
    ),
}  # fmt: skip
_ITEMS = ("kettle", "lamp", "chair", "radio", "blender", "coat", "printer", "bicycle")
_UNSEEN_ITEMS = ("toaster", "drill", "mirror", "tent")
_DAYS = ("on Monday", "on Friday", "last week", "yesterday", "two weeks ago")
_TONES: tuple[tuple[int, tuple[str, ...], tuple[str, ...]], ...] = (
    (0, ("Thanks in advance!", "No hurry.", "Have a nice day."), ("Take your time.", "Kind regards and many thanks.")),
    (1, ("Please let me know.", "I look forward to your answer.", ""), ("Please write back.", "Tell me what you find.")),
    (2, ("This is not acceptable!", "I am very angry.", "Worst shop ever, act now!"),
     ("I have had enough of this!", "Shame on you, fix it today!")),
)  # fmt: skip
_INSTRUCTIONS = {
    "topic": "What is the message about?",
    "angry": "Is the writer angry?",
    "mood": "How does the writer sound?",
}


def demo_records(count: int, *, seed: int = 1, unseen: bool = False) -> list[Record]:
    """Records with one question each: a choice, a noul and a score in turn.

    Args:
        count: how many.
        seed: of the draw.
        unseen: take other phrases and other things than the training records do.
    """
    draw = stream(seed, "demo", unseen)
    return [_record(draw, number, unseen=unseen) for number in range(count)]


def _record(draw: np.random.Generator, number: int, *, unseen: bool) -> Record:
    topic = _one(draw, tuple(_TOPICS))
    _, seen_lines, unseen_lines = _TOPICS[topic]
    level, seen_tones, unseen_tones = _TONES[int(draw.integers(len(_TONES)))]
    line = _one(draw, unseen_lines if unseen else seen_lines)
    text = line.format(item=_one(draw, _UNSEEN_ITEMS if unseen else _ITEMS), day=_one(draw, _DAYS))
    tone = _one(draw, unseen_tones if unseen else seen_tones)
    asked = tuple(_INSTRUCTIONS)[number % len(_INSTRUCTIONS)]
    payload: dict[str, Any] = {
        "id": f"demo-{'unseen' if unseen else 'train'}-{number}",
        "task": "shop",
        "state": f"{text} {tone}".strip(),
        "questions": {
            "topic": {
                "type": "choice", "instructions": _INSTRUCTIONS["topic"],
                "criteria": {name: meaning for name, (meaning, _, _) in _TOPICS.items()},
            },
            "angry": {"type": "noul", "instructions": _INSTRUCTIONS["angry"]},
            "mood": {"type": "score", "instructions": _INSTRUCTIONS["mood"], "criteria": ["friendly", "neutral", "angry"]},
        },
        "targets": {
            "topic": {"label": topic},
            "angry": {"label": "yes" if level == 2 else "no"},
            "mood": {"label": level},
        },
        "meta": {"families": {qid: f"shop_{qid}" for qid in _INSTRUCTIONS}},
    }  # fmt: skip
    for part in ("questions", "targets"):
        payload[part] = {asked: payload[part][asked]}
    return parse_record(payload)


def _one(draw: np.random.Generator, choices: tuple[str, ...]) -> str:
    return choices[int(draw.integers(len(choices)))]
