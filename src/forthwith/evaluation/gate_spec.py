"""A gate as data: pre-registered checks in a TOML file. The reference benchmark's seven ship as the example."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from forthwith.errors import ConfigError

__all__ = [
    "Check",
    "CoverageCheck",
    "DifferenceCheck",
    "FamiliesCheck",
    "GateSpec",
    "GuardCheck",
    "IntervalCheck",
    "PValueCheck",
    "SafetyCheck",
    "example_gate",
    "read_gate",
]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DifferenceCheck(_Frozen):
    """Macro accuracy of the candidate less that of the baseline is at least so much."""

    kind: Literal["difference"]
    name: str
    at_least: float


class IntervalCheck(_Frozen):
    """The lower end of the 95 % interval of the macro difference lies above (a negative value: non-inferiority)."""

    kind: Literal["interval"]
    name: str
    low_above: float


class FamiliesCheck(_Frozen):
    """Every family: the interval's upper end and the difference are at least so much. Families without answers pass."""

    kind: Literal["families"]
    name: str
    difference_at_least: float
    high_at_least: float


class SafetyCheck(_Frozen):
    """For every safety rate, the lower end of the interval of its rise is at most so much. No one at risk passes."""

    kind: Literal["safety"]
    name: str
    low_at_most: float


class GuardCheck(_Frozen):
    """On the guard set, the macro difference (or the lower end of its interval) is at least so much; a guard is due."""

    kind: Literal["guard"]
    name: str
    at_least: float | None = None
    low_at_least: float | None = None


class PValueCheck(_Frozen):
    """The one-sided p-value of the macro difference is below."""

    kind: Literal["p_value"]
    name: str
    below: float


class CoverageCheck(_Frozen):
    """Macro coverage at own thresholds exceeds the baseline's by more than so much."""

    kind: Literal["coverage"]
    name: str
    above_baseline_by: float


_KINDS = ("difference", "interval", "families", "safety", "guard", "p_value", "coverage")

Check = Annotated[
    DifferenceCheck | IntervalCheck | FamiliesCheck | SafetyCheck | GuardCheck | PValueCheck | CoverageCheck,
    Field(discriminator="kind"),
]


class GateSpec(_Frozen):
    """A gate: its checks, and how the statistics are made. `tolerance` forgives rounding in every comparison."""

    format: Literal["forthwith-gate/1"]
    name: str
    one_shot: bool = False
    resamples: int = Field(default=10_000, ge=100)
    seed: int = 20260930
    tolerance: float = 1e-12
    checks: list[Check] = Field(min_length=1)

    @field_validator("checks")
    @classmethod
    def _has_distinct_names(cls, checks: list[Check]) -> list[Check]:
        names = [check.name for check in checks]
        if len(set(names)) < len(names):
            raise ValueError(f"check names must differ, found {names}")
        return checks


def read_gate(path: str | Path) -> GateSpec:
    """A gate from its TOML file.

    Raises:
        ConfigError: not TOML, or an unknown, missing or impossible field; names it.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"gate {path} cannot be read: {error.strerror}") from error
    return _parse(text, str(path))


def example_gate() -> GateSpec:
    """The seven checks of the reference benchmark, as shipped in the package."""
    return _parse(
        resources.files("forthwith.evaluation").joinpath("gate_specs/pev.toml").read_text("utf-8"), "pev.toml"
    )


def _parse(text: str, where: str) -> GateSpec:
    try:
        return GateSpec.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"gate {where} is not TOML: {error}") from error
    except ValidationError as error:
        faults = error.errors(include_url=False)
        strange = [
            fault for fault in faults if fault["type"] == "extra_forbidden"
        ]  # a misspelt key also leaves one missing
        first = (strange or faults)[0]
        place = [str(part) for part in first["loc"] if part not in _KINDS]
        raise ConfigError(f"gate {where}: {'.'.join(place)}: {_said(first, faults)}", ".".join(place)) from error


def _said(fault: ErrorDetails, faults: Sequence[ErrorDetails]) -> str:
    """What is wrong and what to do, in words."""
    if fault["type"] == "missing":
        return "is missing; " + ('write format = "forthwith-gate/1"' if fault["loc"] == ("format",) else "add it")
    if fault["type"] != "extra_forbidden":
        return f"{fault['msg']}, found {fault['input']!r:.60}"
    absent = [str(other["loc"][-1]) for other in faults if other["type"] == "missing"]
    near = difflib.get_close_matches(str(fault["loc"][-1]), [*absent, *GateSpec.model_fields], n=1, cutoff=0.5)
    return "unknown key; " + (f"did you mean {near[0]!r}?" if near else "take it out")
