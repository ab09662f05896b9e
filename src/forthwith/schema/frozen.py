"""The shape of every value that comes from outside: immutable, and nothing unknown in it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Frozen"]


class Frozen(BaseModel):
    """A Pydantic model that cannot be changed and refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")
