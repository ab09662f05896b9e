"""The rendering styles and which split may use them."""

from __future__ import annotations

import random
import tomllib
from functools import lru_cache
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict

from forthwith.errors import ConfigError
from forthwith.personal.render.formats import ClockFormat, DateFormat, Formats, MoneyFormat
from forthwith.personal.vocabulary import Split

__all__ = ["Style", "public_style_ids", "reserved_style_ids", "style", "style_ids"]


class Style(BaseModel):
    """One way to write a state: language, voice, layout and the spellings to draw from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    style_id: str
    language: Literal["en", "zh", "mixed"]
    voice: Literal["first", "third"]
    layout: str
    dates: tuple[DateFormat, ...]
    clocks: tuple[ClockFormat, ...]
    monies: tuple[MoneyFormat, ...]
    structured: bool = False
    reserved: bool = False

    def formats(self, rng: random.Random) -> Formats:
        """The spellings of one record."""
        return Formats(rng.choice(self.dates), rng.choice(self.clocks), rng.choice(self.monies))


@lru_cache(maxsize=1)
def _styles() -> dict[str, Style]:
    text = resources.files("forthwith.personal.render").joinpath("styles.toml").read_text(encoding="utf-8")
    return {name: Style(style_id=name, **members) for name, members in tomllib.loads(text).items()}


def style(style_id: str) -> Style:
    """The style of that id.

    Raises:
        ConfigError: there is none.
    """
    found = _styles().get(style_id)
    if found is None:
        raise ConfigError(f"unknown style {style_id!r}; styles are {', '.join(_styles())}", "style_id")
    return found


def public_style_ids() -> tuple[str, ...]:
    """Styles that every split may use."""
    return tuple(name for name, member in _styles().items() if not member.reserved)


def reserved_style_ids() -> tuple[str, ...]:
    """Styles that only HIDDEN and TEST may use."""
    return tuple(name for name, member in _styles().items() if member.reserved)


def style_ids(split: Split) -> tuple[str, ...]:
    """The styles of a split: the public ones, and for HIDDEN and TEST the reserved ones, too."""
    if split in ("hidden", "test"):
        return public_style_ids() + reserved_style_ids()
    return public_style_ids()
