"""Contact data and names in text: one set of rules, used alike to scan a benchmark and to release it.

Rule based, no model: e-mail addresses, telephone numbers, web addresses, street addresses, identity numbers and
person names, in English and Chinese text. Recall on names is limited: a name with neither a frequent given name nor a
title, an honorific or a mail header beside it is not found. What is protected (options, catalogue names, fictional
contacts) is protected in the scan and in the release by the same object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

from forthwith.personal.privacy_names import CJK_HONORIFICS, CJK_SURNAMES, FIRST_NAMES, NOT_A_SURNAME, TITLES

__all__ = [
    "KINDS",
    "PLACEHOLDERS",
    "Hit",
    "Kind",
    "Protected",
    "find_private",
    "option_texts",
    "redact",
    "scrub_contacts",
]

Kind = Literal["email", "phone", "url", "address", "id_number", "name"]
KINDS: tuple[Kind, ...] = ("email", "phone", "url", "address", "id_number", "name")
PLACEHOLDERS: dict[Kind, str] = {
    "email": "[EMAIL]",
    "phone": "[PHONE]",
    "url": "[URL]",
    "address": "[ADDRESS]",
    "id_number": "[ID]",
}


class Hit(NamedTuple):
    """One detection: `text[start:end]` is contact data or a name of `kind`."""

    kind: Kind
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Protected:
    """Strings that are no private data although they look like it.

    `phrases`: lower-cased word runs of catalogue names and fictional contacts; `inside`: texts (options) any part of
    which is protected.
    """

    phrases: frozenset[str] = frozenset()
    inside: tuple[str, ...] = field(default=())

    @staticmethod
    def of(names: Iterable[str], inside: Iterable[str] = ()) -> Protected:
        """Protect every run of 1 to 4 words of each name, and all parts of the texts `inside`."""
        return Protected(frozenset(run for name in names for run in _word_runs(name)), tuple(inside))

    def with_inside(self, texts: Iterable[str]) -> Protected:
        """The same names, with the options of one record."""
        return Protected(self.phrases, (*self.inside, *texts))

    def covers(self, text: str) -> bool:
        """Whether a detected string is protected."""
        lowered = " ".join(text.lower().split()).strip(".,;:")
        is_name = (
            lowered in self.phrases or lowered.lstrip("0123456789 ") in self.phrases
        )  # "3 Granite Lane" of a brand
        return is_name or any(text in option for option in self.inside)


_UPPER = "A-ZÀ-ÖØ-Þ"
_LOWER = "a-zß-öø-ÿ"
_WORD = rf"(?:[{_UPPER}]['’])?[{_UPPER}][{_LOWER}]+(?:['’-](?!s\b)[{_UPPER}]?[{_LOWER}]+)*"
_CAPS = rf"[{_UPPER}]{{2,}}(?:['’-](?!S\b)[{_UPPER}]+)*"
_ANY_WORD = rf"(?:{_WORD}|{_CAPS})"
_STREET = (
    r"(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Drive|Dr|Lane|Ln|Court|Ct|Place|Pl|Square|Sq|Terrace|Ter|Way|"
    r"Highway|Hwy|Parkway|Pkwy|Circle|Cir)"
)
_NOT_BEFORE = r"(?<![A-Za-z0-9])"
_NOT_AFTER = r"(?![A-Za-z0-9])"

_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "email",
        re.compile(rf"{_NOT_BEFORE}[A-Za-z0-9][A-Za-z0-9._%+'-]*@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{{2,}}{_NOT_AFTER}"),
    ),
    ("url", re.compile(r"(?<![A-Za-z0-9@.])(?:https?://|www\.)[A-Za-z0-9.\-_~:/?#\[\]@!$&'()*+,;=%]*[A-Za-z0-9/]")),
    (
        "url",
        re.compile(
            rf"(?<![A-Za-z0-9@.\-])(?:[A-Za-z0-9-]+\.)+(?:com|org|net|edu|gov|io|co\.uk|cn)(?:/(?:[A-Za-z0-9._~/?#=&%-]*[A-Za-z0-9/])?)?{_NOT_AFTER}"
        ),
    ),
    ("phone", re.compile(r"(?<![\w.$-])(?:\+?1[-. ]?)?(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}(?![\d-])")),
    ("phone", re.compile(r"(?<![\w.$-])\+\d{1,3}(?:[ -]?\(?\d{2,4}\)?){2,4}(?![\d-])")),
    ("phone", re.compile(r"(?<![0-9A-Za-z.$-])(?:1[3-9]\d[- ]?\d{4}[- ]?\d{4}|0\d{2,3}-\d{7,8})(?![0-9-])")),
    ("id_number", re.compile(r"(?<![0-9A-Za-z-])(?:\d{3}-\d{2}-\d{4}|\d{17}[0-9Xx])(?![0-9A-Za-z-])")),
    ("address", re.compile(rf"(?<![\w$.,-])\d{{1,5}} (?:{_WORD} ){{1,3}}{_STREET}\b\.?")),
    ("address", re.compile(r"[\u4e00-\u9fff]{2,6}(?:路|街|大道|巷|胡同)\d{1,5}(?:号|弄)(?:\d{1,4}(?:室|号楼?))?")),
    ("name", re.compile(rf"\b(?:{'|'.join(TITLES)})\.? {_ANY_WORD}(?: {_WORD})?")),
    ("name", re.compile(rf"(?<![{_UPPER}{_LOWER}.])({_WORD}) (?:[{_UPPER}]\. )?({_WORD})(?![{_LOWER}])")),
    ("name", re.compile(rf"(?<![{_UPPER}{_LOWER}.])({_CAPS}) (?:[{_UPPER}]\. )?({_CAPS})(?![{_UPPER}{_LOWER}])")),
    (
        "name",
        re.compile(
            rf"(?<![{_UPPER}{_LOWER}.])({_ANY_WORD}), ({_ANY_WORD})(?: [{_UPPER}]\.)?"
            rf"(?![{_UPPER}{_LOWER}]| [{_UPPER}][{_LOWER}]| \d)"
        ),
    ),
    ("name", re.compile(rf"\b{_WORD}(?: [{_UPPER}]\.?)? {_WORD}(?=/[A-Z]{{2,}})")),
    ("name", re.compile(rf"[{CJK_SURNAMES}][\u4e00-\u9fff]{{0,2}}(?=(?:{'|'.join(CJK_HONORIFICS)}))")),
)
_HEADER = re.compile(
    r"^[>\s]*(?:(?:From|To|Cc|CC|Bcc|发件人|收件人|抄送)[:：]|(?:Sent|Forwarded) by:?)[ \t]*(?P<people>[^\n]*)",
    re.MULTILINE,
)
_PERSON = re.compile(rf"{_WORD}(?: [{_UPPER}]\.)?(?: {_WORD}){{1,2}}")
_ORGANISATION = re.compile(
    r"\b(?:Inc|LLC|Corp|Corporation|Company|Group|Team|Department|Office|Services?|Support|Sales|Bank|University|Energy|"
    r"Trading|Operations|Communications|List|Distribution|Market|Restaurant|Grill|Kitchen|Cafe)\b"
)
_LOTUS_TAIL = re.compile(r"/(?:[A-Z][A-Za-z]*/)*[A-Z][A-Za-z]*(?:@[A-Za-z]+)?")
_RESERVED_MAIL = re.compile(r"@(?:[A-Za-z0-9-]+\.)*example\.(?:com|org|net)$", re.IGNORECASE)
_RESERVED_SITE = re.compile(
    r"^(?:https?://)?(?:www\.)?(?:[A-Za-z0-9-]+\.)*example\.(?:com|org|net)(?:/|$)", re.IGNORECASE
)


def find_private(text: str, protected: Protected | None = None) -> list[Hit]:
    """All detections in reading order without overlaps: leftmost first, then longest.

    Addresses at example.com, .org and .net are reserved for fiction and are no hits.
    """
    protected = protected or Protected()
    candidates = sorted(_candidates(text), key=lambda hit: (hit.start, -(hit.end - hit.start), KINDS.index(hit.kind)))
    hits: list[Hit] = []
    for hit in candidates:
        if (not hits or hit.start >= hits[-1].end) and not protected.covers(hit.text):
            hits.append(hit)
    return hits


def scrub_contacts(text: str) -> str:
    """The text with e-mail addresses, Lotus addresses, telephone numbers, web addresses replaced by placeholders.

    Names outside Lotus addresses stay; `[EMAIL]`, `[PHONE]`, `[URL]` stand for what went.
    """
    masked = _scrub_lotus(text)
    pieces: list[str] = []
    position = 0
    for hit in find_private(masked):
        if hit.kind in ("email", "phone", "url"):
            pieces += [masked[position : hit.start], PLACEHOLDERS[hit.kind]]
            position = hit.end
    return "".join([*pieces, masked[position:]])


def redact(text: str) -> str:
    """A detection as a report may show it: the first character of every word, the rest as dots."""
    return re.sub(r"\S+", lambda word: word[0][0] + "·" * (len(word[0]) - 1), text)


def option_texts(questions: Mapping[str, Any]) -> Iterator[str]:
    """Every option key and description of a record's questions (raw JSON members)."""
    for question in questions.values():
        criteria: object = question.get("criteria")
        if isinstance(criteria, Mapping):
            for key, description in cast("Mapping[str, object]", criteria).items():
                yield key
                if isinstance(description, str):
                    yield description
        elif isinstance(criteria, list):
            yield from (level for level in cast("list[object]", criteria) if isinstance(level, str))


def _candidates(text: str) -> Iterator[Hit]:
    for kind, pattern in _PATTERNS:
        position = 0
        while (match := pattern.search(text, position)) is not None:
            is_real = _is_real(kind, match)
            if is_real:
                yield Hit(kind, match.start(), match.end(), match.group())
            # Of two words that are no person, the second may be the given name of one.
            position = match.end(1) if match.lastindex == 2 and not is_real else match.end()
    for header in _HEADER.finditer(text):
        for person in _PERSON.finditer(header.group("people")):
            if not _ORGANISATION.search(person.group()):
                start = header.start("people") + person.start()
                yield Hit("name", start, start + len(person.group()), person.group())


def _is_real(kind: Kind, match: re.Match[str]) -> bool:
    """What a pattern alone cannot say: reserved domains, and whether two capitalised words are a person."""
    found = match.group()
    if kind == "email":
        return not _RESERVED_MAIL.search(found)
    if kind == "url":
        return not _RESERVED_SITE.search(found)
    if kind != "name" or match.lastindex != 2:
        return True
    first, last = match.group(1).lower(), match.group(2).lower()
    if "," in found:
        first, last = last, first
    return first in FIRST_NAMES and last not in NOT_A_SURNAME and (", " not in found or last not in FIRST_NAMES)


def _scrub_lotus(text: str) -> str:
    """Lotus Notes addresses (`First Last/ORG/UNIT@ORG`) as `[EMAIL]`."""
    return re.sub(rf"\b{_WORD}(?: [{_UPPER}]\.?)? {_WORD}{_LOTUS_TAIL.pattern}", "[EMAIL]", text)


def _word_runs(name: str) -> Iterator[str]:
    words = name.lower().replace(",", " ").split()
    for size in range(1, 5):
        for start in range(len(words) - size + 1):
            yield " ".join(words[start : start + size]).strip(".,;:")
