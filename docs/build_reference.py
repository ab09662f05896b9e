"""Writes the reference pages from the code: commands from their help, Python names from their docstrings, errors from their tree.

`python docs/build_reference.py` writes them; with `--check` nothing is written, and a page that the code has left behind is an error.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import forthwith
from forthwith import errors
from forthwith.cli.main import EXIT_CODES, app

HELP_WIDTH = 100
GENERATED = "<!-- Written by docs/build_reference.py from the code; change it there. -->"
_SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|References|Example):$")
_ENTRY = re.compile(r"^    (\*{0,2}[\w, ]+): (.*)$")


class Page(NamedTuple):
    """One page: its place below `docs/`, and its text."""

    path: str
    text: str


def build() -> list[Page]:
    """All pages, as the code now is."""
    return [
        Page("reference/cli.md", cli_page()),
        Page("reference/python.md", python_page()),
        Page("errors.md", errors_page()),
    ]


def cli_page() -> str:
    """Every command with its help, in the order of `forthwith --help`."""
    parts = [GENERATED, "# Commands"]
    for name, text in _helps(typer.main.get_command(app), "forthwith", None):
        parts.append(f"{'##' if name.count(' ') < 2 else '###'} {name}\n\n```text\n{text}\n```")
    return _page(parts)


def _helps(command: Any, name: str, parent: Any) -> Iterator[tuple[str, str]]:
    command.rich_markup_mode = None  # plain text: no boxes, no colours, whatever the terminal
    context = command.make_context(
        name.split()[-1], [], parent=parent, resilient_parsing=True,
        terminal_width=HELP_WIDTH, max_content_width=HELP_WIDTH, help_option_names=["-h", "--help"],
    )  # fmt: skip
    yield name, "\n".join(line.rstrip() for line in command.get_help(context).splitlines()).strip()
    for child_name, child in getattr(command, "commands", {}).items():
        yield from _helps(child, f"{name} {child_name}", context)


def python_page() -> str:
    """Every public name with its signature and docstring."""
    package = inspect.getdoc(forthwith) or ""
    parts = [GENERATED, "# Python", docstring_markdown(package)]
    for name in forthwith.__all__:
        value: Any = getattr(forthwith, name)
        parts += [f"## {name}", f"`from forthwith import {name}`", _signature_block(name, value)]
        parts.append(docstring_markdown(inspect.getdoc(value) or ""))
        if inspect.isclass(value):
            parts += _members(name, value)
    return _page(parts)


def _members(owner: str, cls: type) -> Iterator[str]:
    for name, value in vars(cls).items():
        member: Any = getattr(value, "__func__", value)
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        if name.startswith("model_") or not inspect.getdoc(member):
            continue
        yield f"### {owner}.{name}"
        if not isinstance(member, property):
            yield _signature_block(name, member)
        yield docstring_markdown(inspect.getdoc(member) or "")


def _signature_block(name: str, value: Any) -> str:
    if inspect.isclass(value) and issubclass(value, BaseModel):
        fields = [_field(field, value) for field in value.model_fields]
        shown = ", ".join(["*", *fields])
    elif inspect.isclass(value) and value.__init__ in (Exception.__init__, ValueError.__init__):
        shown = "message: str"
    else:
        signature = inspect.signature(value)
        kept = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
        returns = "" if inspect.isclass(value) else f" -> {_annotation(signature.return_annotation)}"
        return f"```python\n{name}{_joined(kept)}{returns}\n```"
    return f"```python\n{name}({shown})\n```"


def _joined(parameters: list[inspect.Parameter]) -> str:
    parts: list[str] = []
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        prefix = "**" if parameter.kind is inspect.Parameter.VAR_KEYWORD else ""
        text = prefix + parameter.name
        if parameter.annotation is not inspect.Parameter.empty:
            text += f": {_annotation(parameter.annotation)}"
        if parameter.default is not inspect.Parameter.empty:
            text += f" = {_default(parameter.default)}"
        parts.append(text)
    return f"({', '.join(parts)})"


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", repr(annotation))


def _default(value: object) -> str:
    plain = value is None or isinstance(value, bool | int | float | str | tuple)
    return repr(value) if plain else "…"


def _field(name: str, cls: type[BaseModel]) -> str:
    field = cls.model_fields[name]
    owner = next(parent for parent in cls.__mro__ if name in inspect.get_annotations(parent))
    annotation = inspect.get_annotations(owner)[name]
    text = f"{name}: {_annotation(annotation)}"
    if field.default is not PydanticUndefined:
        return f"{text} = {_default(field.default)}"
    return text if field.is_required() else f"{text} = …"


def errors_page() -> str:
    """The tree of exceptions, and each one with its attributes and what the command line makes of it."""
    doc = inspect.getdoc(errors) or ""
    opening, tree, closing = doc.split("\n\n", 2)
    parts = [GENERATED, "# Errors", opening, f"```text\n{tree}\n```", closing]
    parts.append("The `forthwith` command prints the message on standard error and ends with the exit code named here.")
    for name in errors.__all__:
        cls: Any = getattr(errors, name)
        parts += [f"## {name}", _signature_block(name, cls), docstring_markdown(inspect.getdoc(cls) or "")]
        if issubclass(cls, errors.ForthwithError):
            code = next((code for kind, code in EXIT_CODES.items() if issubclass(cls, kind)), 1)
            parts.append(f"Exit code {code}.")
    return _page(parts)


def docstring_markdown(doc: str) -> str:
    """A Google-style docstring as Markdown: sections become bold words with lists, examples become code."""
    lines: list[str] = []
    section = ""
    for line in doc.splitlines():
        if found := _SECTION.match(line):
            lines += [*_closing(section), "", f"**{found.group(1)}**", ""]
            section = found.group(1)
            lines += ["```python"] if section == "Example" else []
        elif section and (line.startswith("    ") or not line):
            lines.append(line[4:] if section == "Example" else _entry(line))
        else:
            lines += _closing(section)
            section = ""
            lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join([*lines, *_closing(section)])).strip()


def _closing(section: str) -> list[str]:
    return ["```", ""] if section == "Example" else []


def _entry(line: str) -> str:
    if found := _ENTRY.match(line):
        return f"- `{found.group(1)}`: {found.group(2)}"
    if not line:
        return ""
    return f"  {line.strip()}" if line.startswith("     ") else f"- {line.strip()}"


def _page(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def stale(folder: Path) -> list[str]:
    """For each page that differs from the code, its place and the first lines of the difference."""
    found: list[str] = []
    for page in build():
        path = folder / page.path
        there = path.read_text(encoding="utf-8") if path.is_file() else ""
        if there != page.text:
            changes = difflib.unified_diff(
                there.splitlines(), page.text.splitlines(), page.path, "the code", lineterm="", n=0
            )
            found.append("\n".join(list(changes)[:12]))
    return found


def write(folder: Path) -> None:
    """Write every page below a folder."""
    for page in build():
        path = folder / page.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Command line; gives the exit code."""
    parser = argparse.ArgumentParser(description="Write the reference pages from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a page is stale")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent, help="the docs folder")
    chosen = parser.parse_args(arguments)
    if not chosen.check:
        write(chosen.folder)
        return 0
    differences = stale(chosen.folder)
    for difference in differences:
        sys.stderr.write(f"{difference}\n")
    if differences:
        sys.stderr.write("reference pages are behind the code; run: python docs/build_reference.py\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
