"""What every `forthwith personal` command prints at its end: one JSON line of counts and hashes, never contents."""

from __future__ import annotations

import dataclasses
import json

import typer
from pydantic import BaseModel

from forthwith.errors import ConfigError

__all__ = ["counts_by_name", "print_receipt"]


def print_receipt(receipt: object) -> None:
    """Print a receipt (a dataclass, a pydantic model or plain values) as one JSON line on standard output."""
    plain: object = receipt
    if dataclasses.is_dataclass(receipt) and not isinstance(receipt, type):
        plain = dataclasses.asdict(receipt)
    elif isinstance(receipt, BaseModel):
        plain = receipt.model_dump(mode="json")
    typer.echo(json.dumps(plain, ensure_ascii=False, default=str))


def counts_by_name(text: str, known: tuple[str, ...], option: str) -> dict[str, int]:
    """`product=10,restaurant=20` as a mapping.

    Raises:
        ConfigError: an unknown name, or something that is no count.
    """
    counts: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, count = part.partition("=")
        if name.strip() not in known or not count.strip().isdigit():
            raise ConfigError(f"{option}: {part!r} is not NAME=COUNT; names are {', '.join(known)}", option)
        counts[name.strip()] = int(count)
    return counts
