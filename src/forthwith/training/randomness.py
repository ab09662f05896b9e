"""Named random streams: each derived from a seed, a purpose and places, so that nothing depends on what was drawn before."""

from __future__ import annotations

import hashlib

import numpy as np
import torch

__all__ = ["seed_torch", "stream"]


def stream(seed: int, purpose: str, *places: object) -> np.random.Generator:
    """A generator that is the same on every machine for the same arguments."""
    return np.random.default_rng(_number(seed, purpose, *places))


def seed_torch(seed: int, purpose: str, *places: object) -> None:
    """Set torch's own generators, which dropout draws from and which cannot be passed."""
    torch.manual_seed(_number(seed, purpose, *places) % 2**63)  # pyright: ignore[reportUnknownMemberType]


def _number(*parts: object) -> int:
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
