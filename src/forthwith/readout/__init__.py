"""Readouts: what was read at the leaves to one log-score an option."""

from forthwith.errors import ConfigError
from forthwith.readout.branch import BranchReadout
from forthwith.readout.label import LabelReadout
from forthwith.readout.protocol import Plan, Readout, Scores
from forthwith.readout.skeleton import SkeletonReadout
from forthwith.readout.text import TextReadout

__all__ = [
    "BranchReadout",
    "LabelReadout",
    "Plan",
    "Readout",
    "Scores",
    "SkeletonReadout",
    "TextReadout",
    "readout_by_name",
]


def readout_by_name(name: str) -> Readout:
    """The readout that a name stands for, settings included.

    Raises:
        ConfigError: no such readout.
    """
    named: dict[str, Readout] = {
        readout.name: readout for readout in (BranchReadout(), SkeletonReadout(), TextReadout(), LabelReadout())
    }
    if name in named:
        return named[name]
    label = _label_by_name(name)
    if label is None:
        known = "branch, label, label(orders=R,probability|log,prior), skeleton, text"
        raise ConfigError(f"unknown readout {name!r}; use one of {known}", "readout")
    return label


def _label_by_name(name: str) -> LabelReadout | None:
    if not (name.startswith("label(") and name.endswith(")")):
        return None
    orders, average, prior = 1, "probability", False
    for part in name[len("label(") : -1].split(","):
        if part.startswith("orders=") and part[7:].isdigit() and int(part[7:]) > 0:
            orders = int(part[7:])
        elif part in ("probability", "log"):
            average = part
        elif part == "prior":
            prior = True
        else:
            return None
    return LabelReadout(orders, "log" if average == "log" else "probability", divide_prior=prior)
