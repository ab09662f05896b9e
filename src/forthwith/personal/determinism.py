"""Named random streams: every random decision of the benchmark comes from a generator named by purpose and index."""

from __future__ import annotations

import hashlib
import random

import numpy as np

__all__ = ["seeded_numpy", "seeded_rng", "stable_hex", "stable_int"]


def _digest(parts: tuple[object, ...]) -> bytes:
    return hashlib.sha256(":".join(map(str, parts)).encode()).digest()


def stable_int(*parts: object) -> int:
    """The same integer in [0, 2**64) for the same parts, on every machine and in every process.

    First 8 bytes, big-endian, of the SHA-256 of the parts joined by ":".
    """
    return int.from_bytes(_digest(parts)[:8], "big")


def stable_hex(*parts: object, digits: int = 16) -> str:
    """The first `digits` hexadecimal digits of the SHA-256 of the parts joined by ":"."""
    return _digest(parts).hex()[:digits]


def seeded_rng(*parts: object) -> random.Random:
    """A Mersenne Twister seeded with `stable_int` of the parts."""
    return random.Random(stable_int(*parts))


def seeded_numpy(*parts: object) -> np.random.Generator:
    """A NumPy generator (PCG64) seeded with `stable_int` of the parts."""
    return np.random.Generator(np.random.PCG64(stable_int(*parts)))
