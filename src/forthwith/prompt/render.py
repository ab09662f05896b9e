"""Requests to exact text. Templates are files known by their SHA-256; nested JSON is written as indented lines.

Caller text is neutralised, never trusted: it can neither close the state's fence nor form a chat control token.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, cast

from forthwith.errors import ArtifactError
from forthwith.schema import Choice, Noul, Score, option_descriptions, option_keys

__all__ = [
    "CONTENT_FREE_STATE",
    "Template",
    "instructions_text",
    "load_template",
    "noul_criteria",
    "option_text",
    "render_content",
]

CONTENT_FREE_STATE = "N/A"
"""The state that prior corrections are measured under."""

_CONTROL_TOKEN = re.compile(r"<\|([^|<>\s]{1,40})\|>")
_FENCE = re.compile(r"<(/?state)>", re.IGNORECASE)
_SECTION = re.compile(r"^\[([a-z]+)\]\n", re.MULTILINE)
_DEFAULT_INSTRUCTIONS = {
    "noul": "Does the description of yes fit the state?",
    "choice": "Which option fits the state?",
    "score": "Which level fits the state?",
}


@dataclass(frozen=True)
class Template:
    """A prompt template: named sections with `{place}` marks, known by the SHA-256 of its file."""

    name: str
    sha256: str
    sections: Mapping[str, str]

    def fill(self, section: str, **values: str) -> str:
        """The section's text with its marks replaced by neutralised values; the last line break is dropped."""
        text = self.sections[section].removesuffix("\n")
        return re.sub(r"\{([a-z]+)\}", lambda mark: values[mark.group(1)], text)


@cache
def load_template(name: str) -> Template:
    """A shipped template by name (branch, label, skeleton, text)."""
    file = resources.files("forthwith.prompt") / "templates" / f"{name}.txt"
    try:
        data = file.read_bytes()
    except (FileNotFoundError, OSError) as error:
        raise ArtifactError(f"there is no template {name!r}; use branch, label, skeleton or text") from error
    parts = _SECTION.split(data.decode("utf-8"))
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    return Template(name, hashlib.sha256(data).hexdigest(), sections)


def render_content(content: object) -> str:
    """JSON content as text: objects as `key: value` lines, arrays as `- ` bullets, two spaces an inner level, null as nothing."""
    return _neutral("\n".join(_lines(content)))


def instructions_text(question: Noul | Choice | Score) -> str:
    """The question's instructions, or a plain default where it has none."""
    if question.instructions is None:
        return _DEFAULT_INSTRUCTIONS[question.type]
    return render_content(question.instructions)


def option_text(key: str, description: object, *, show_key: bool = True) -> str:
    """One option as the model reads it: `key: description`, the key alone where nothing describes it."""
    if description is None:
        return _neutral(key)
    text = render_content(description)
    if not show_key or text == key:
        return text
    separator = ":\n" if "\n" in text else ": "
    return f"{_neutral(key)}{separator}{text}"


def noul_criteria(question: Noul) -> str:
    """What yes and no mean, a line each, yes first; empty where neither is described."""
    no, yes = option_descriptions(question)
    lines = [f"{word}: {render_content(text)}\n" for word, text in (("Yes", yes), ("No", no)) if text is not None]
    return "".join(lines)


def options_of(question: Choice | Score) -> list[str]:
    """The options of a choice or score as the model reads them, in `option_keys` order."""
    descriptions = option_descriptions(question)
    is_choice = isinstance(question, Choice)
    return [
        option_text(key, description, show_key=is_choice)
        for key, description in zip(option_keys(question), descriptions, strict=True)
    ]


def _neutral(text: str) -> str:
    if "<" not in text:
        return text
    return _FENCE.sub(r"‹\1›", _CONTROL_TOKEN.sub(r"<¦\1¦>", text))


def _lines(content: object, indent: str = "") -> list[str]:
    if isinstance(content, dict):
        lines: list[str] = []
        for key, value in cast("dict[str, Any]", content).items():
            lines.extend(_member(f"{indent}{key}:", value, indent))
        return lines
    if isinstance(content, list):
        lines = []
        for value in cast("list[Any]", content):
            lines.extend(_member(f"{indent}-", value, indent))
        return lines
    return [f"{indent}{_scalar(content)}"]


def _member(head: str, value: object, indent: str) -> list[str]:
    if isinstance(value, dict | list) and value:
        return [head, *_lines(cast("object", value), indent + "  ")]
    text = "" if isinstance(value, dict | list) else _scalar(value)
    if "\n" in text:
        return [head, *(f"{indent}  {line}" for line in text.split("\n"))]
    return [f"{head} {text}".rstrip()]


def _scalar(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
