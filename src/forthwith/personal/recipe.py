"""What the making of records depends on beside plan and knowledge base: the code, phrases and styles of this package."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

__all__ = ["recipe_hash"]

_ENDINGS = frozenset({".py", ".txt", ".toml"})


@cache
def recipe_hash() -> str:
    """32 hexadecimal digits of the SHA-256 over every source, phrase and style file of the benchmark."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.suffix in _ENDINGS):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:32]
