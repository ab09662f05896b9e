"""Sentence patterns with interchangeable parts: how they are written, compiled, shared out to splits and expanded.

A pattern file holds sections (`== name`) of one pattern a line. In a pattern, `{slot}` takes a value, `(a|b)` is one of
its parts (an empty part makes it optional), `<a|b>` is a in the first and b in the third person, and `@I`, `@me`, `@my`
and the like name the user. Brackets without a bar stand for themselves. Files are read on first use and kept.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from forthwith.errors import ArtifactError
from forthwith.personal.determinism import stable_int
from forthwith.personal.render.rendered import Wording

__all__ = [
    "HELD_OUT_SHARE",
    "Language",
    "Pattern",
    "count_surfaces",
    "expand",
    "patterns",
    "section_names",
    "wording_share",
]

Language = Literal["en", "zh"]

HELD_OUT_SHARE = 0.25
"""Share of every section's patterns that only HIDDEN and TEST may use."""

_ALWAYS_SHARED = 4
"""Sections with fewer patterns than this are words, not phrasings, and are not shared out."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a value."""

    name: str


@dataclass(frozen=True, slots=True)
class Branch:
    """One of several parts; `by_voice` picks by person instead of by chance."""

    parts: tuple[tuple[Node, ...], ...]
    by_voice: bool = False


Node = str | Slot | Branch
Pattern = tuple[Node, ...]

_MACROS: dict[Language, dict[str, str]] = {
    "en": {
        "cIm": "<I'm|{The} is>",
        "cMy": "<My|{The}'s>",
        "cI": "<I|{The}>",
        "Ive": "<I've|{the} has>",
        "Im": "<I'm|{the} is>",
        "I": "<I|{the}>",
        "me": "<me|{the}>",
        "my": "<my|{the}'s>",
        "want": "<want|wants>",
    },
    "zh": {"I": "<我|{the}>", "my": "<我的|{the}的>"},
}
_MACRO = re.compile(r"@(cIm|cMy|cI|Ive|Im|I|me|my|want)(?![A-Za-z])")
_CLOSING = {"(": ")", "<": ">"}
_WIDE = {"(": "\uff08", ")": "\uff09", ",": "\uff0c", ":": "\uff1a", ";": "\uff1b", "?": "\uff1f"}
"""Chinese text has full-width punctuation; the pattern files are written with the plain kind."""


@cache
def _sections(language: Language, file: str) -> Mapping[str, tuple[str, ...]]:
    path = resources.files("forthwith.personal.render").joinpath("phrases", language, f"{file}.txt")
    sections: dict[str, list[str]] = {}
    current: list[str] | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("== "):
            name = line[3:].strip()
            if name in sections:
                raise ArtifactError(f"{language}/{file}.txt:{number}: the section {name!r} appears twice; merge them")
            current = sections[name] = []
        elif line.strip() and not line.startswith("#"):
            if current is None:
                raise ArtifactError(f"{language}/{file}.txt:{number}: a pattern before any section; add `== name`")
            current.append(line.rstrip("\n"))
    return {name: tuple(lines) for name, lines in sections.items()}


def section_names(language: Language, file: str) -> tuple[str, ...]:
    """The sections of a pattern file, in order."""
    return tuple(_sections(language, file))


@cache
def wording_share(language: Language, file: str, section: str) -> dict[Wording, tuple[str, ...]]:
    """The patterns of a section as written, dealt into those of training and those held out.

    Lines are ordered by a stable hash of their text; the first `HELD_OUT_SHARE` of them (rounded) are held out.

    Raises:
        ArtifactError: no such section.
    """
    lines = _sections(language, file).get(section)
    if lines is None:
        raise ArtifactError(f"{language}/{file}.txt has no section {section!r}; add it")
    if len(lines) < _ALWAYS_SHARED:
        return {"seen": lines, "held_out": lines}
    ranked = sorted(lines, key=lambda line: stable_int("wording-share", language, section, line))
    held = set(ranked[: max(1, round(HELD_OUT_SHARE * len(ranked)))])
    return {
        "seen": tuple(line for line in lines if line not in held),
        "held_out": tuple(line for line in lines if line in held),
    }


@cache
def patterns(language: Language, file: str, section: str, wording: Wording) -> tuple[Pattern, ...]:
    """The compiled patterns of a section that a wording may use.

    Raises:
        ArtifactError: no such section, or a bracket is not closed.
    """
    return tuple(compile_pattern(line, language) for line in wording_share(language, file, section)[wording])


def compile_pattern(line: str, language: Language = "en") -> Pattern:
    """A pattern line as nodes.

    Raises:
        ArtifactError: a bracket is not closed.
    """
    macros = _MACROS[language]
    text = _MACRO.sub(lambda match: macros[match.group(1)], line)
    return _parse(text, line, language)


def _parse(text: str, line: str, language: Language) -> Pattern:
    nodes: list[Node] = []
    literal: list[str] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character == "{":
            end = text.index("}", at)
            _flush(literal, nodes)
            nodes.append(Slot(text[at + 1 : end]))
            at = end + 1
        elif character in _CLOSING and (span := _bracket(text, at, line)) is not None:
            _flush(literal, nodes)
            end, parts = span
            nodes.append(Branch(tuple(_parse(part, line, language) for part in parts), by_voice=character == "<"))
            at = end + 1
        else:
            literal.append(_WIDE.get(character, character) if language == "zh" else character)
            at += 1
    _flush(literal, nodes)
    return tuple(nodes)


def _flush(literal: list[str], nodes: list[Node]) -> None:
    if literal:
        nodes.append("".join(literal))
        literal.clear()


def _bracket(text: str, at: int, line: str) -> tuple[int, list[str]] | None:
    """The end of the bracket that opens at `at` and its parts; None where it holds no bar and stands for itself."""
    stack = [_CLOSING[text[at]]]
    parts, start = list[str](), at + 1
    for index in range(at + 1, len(text)):
        character = text[index]
        if character in _CLOSING:
            stack.append(_CLOSING[character])
        elif character == stack[-1]:
            stack.pop()
            if not stack:
                return (index, [*parts, text[start:index]]) if parts else None
        elif character == "|" and len(stack) == 1:
            parts.append(text[start:index])
            start = index + 1
    raise ArtifactError(f"the bracket at {text[at : at + 20]!r} is never closed in the pattern {line!r}; close it")


def expand(pattern: Pattern, rng: random.Random, values: Mapping[str, str], *, first_person: bool) -> str:
    """A sentence of a pattern: parts by chance, person by voice, slots from `values`.

    Raises:
        KeyError: a slot has no value.
    """
    out: list[str] = []
    for node in pattern:
        if isinstance(node, str):
            out.append(node)
            continue
        if isinstance(node, Slot):
            piece = values[node.name]
        else:
            index = (0 if first_person else 1) if node.by_voice else int(rng.random() * len(node.parts))
            piece = expand(node.parts[index], rng, values, first_person=first_person)
        # Chinese puts no spaces; two values of Latin letters or digits side by side still need one.
        out.append(f" {piece}" if out and _runs_together(out[-1], piece) else piece)
    return "".join(out)


def _runs_together(left: str, right: str) -> bool:
    return left[-1:].isalnum() and left[-1:].isascii() and right[:1].isalnum() and right[:1].isascii()


def count_surfaces(pattern: Pattern) -> int:
    """How many different sentences a pattern gives for the same values and voice."""
    total = 1
    for node in pattern:
        if isinstance(node, Branch) and not node.by_voice:
            total *= sum(count_surfaces(part) for part in node.parts)
        elif isinstance(node, Branch):
            total *= count_surfaces(node.parts[0])
    return total
