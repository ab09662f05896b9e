"""Forthwith: an open, self-hosted engine for decision models.

Example:
    from forthwith import Choice, Model, Noul

    model = Model.load()
    decision = model.decide("My parcel has not moved for nine days.", {"lost": Noul(instructions="Is the parcel lost?")})
    decision["lost"].value  # P(yes)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forthwith.bundle import Bundle, load_bundle
    from forthwith.calibration import Calibration
    from forthwith.decision import Answer, Decision
    from forthwith.errors import (
        ArtifactError,
        ContextTooLongError,
        DataError,
        EngineError,
        ForthwithError,
        RequestError,
    )
    from forthwith.model import Model
    from forthwith.schema import Choice, Noul, Record, Request, Score, Target, read_records

__version__ = "0.1.0.dev0"

__all__ = [
    "Answer",
    "ArtifactError",
    "Bundle",
    "Calibration",
    "Choice",
    "ContextTooLongError",
    "DataError",
    "Decision",
    "EngineError",
    "ForthwithError",
    "Model",
    "Noul",
    "Record",
    "Request",
    "RequestError",
    "Score",
    "Target",
    "load_bundle",
    "read_records",
]

_HOMES = {
    "forthwith.bundle": ("Bundle", "load_bundle"),
    "forthwith.calibration": ("Calibration",),
    "forthwith.decision": ("Answer", "Decision"),
    "forthwith.errors": (
        "ArtifactError",
        "ContextTooLongError",
        "DataError",
        "EngineError",
        "ForthwithError",
        "RequestError",
    ),
    "forthwith.model": ("Model",),
    "forthwith.schema": ("Choice", "Noul", "Record", "Request", "Score", "Target", "read_records"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Public names load on first use, so that importing the package stays fast."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'forthwith' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
