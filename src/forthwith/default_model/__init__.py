"""The embedded default model: taken once, checked by hash, converted to a plain model folder, and offline from then on.

Takes nothing but a cache folder; gives a folder that any Transformers program can load. Knows no engine and no bundle.
"""

from forthwith.default_model.cache import PulledModel, default_cache_dir, ensure_default_model, is_cached, pull
from forthwith.default_model.source import SMOLLM2, ModelSource, SourceRecord

__all__ = [
    "SMOLLM2",
    "ModelSource",
    "PulledModel",
    "SourceRecord",
    "default_cache_dir",
    "ensure_default_model",
    "is_cached",
    "pull",
]
