"""One identity for a state, wherever it comes from: to keep data for training, calibration and tests apart."""

from __future__ import annotations

import hashlib
import json

from forthwith.schema.json_text import JsonValue

__all__ = ["state_sha256"]


def state_sha256(state: JsonValue) -> str:
    """SHA-256, in hex, of a state's JSON text with sorted members and no spaces: equal states have equal hashes."""
    text = json.dumps(state, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
