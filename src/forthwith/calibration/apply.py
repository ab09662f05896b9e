"""What a calibration is, and its one application: log-scores in, probabilities out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_validator

from forthwith.errors import ConfigError, ShapeError

__all__ = ["Binding", "Calibration", "FloatArray", "QuestionType", "Thresholds", "log_softmax", "softmax"]

FloatArray = NDArray[np.float64]

QuestionType = Literal["noul", "choice", "score"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Binding(_Frozen):
    """What log-scores depend on. A calibration is used only with log-scores of an equal binding."""

    weights_sha256: str
    adapter_sha256: str | None
    template_sha256: str
    readout: str
    precision: str

    def differences(self, other: Binding) -> tuple[str, ...]:
        """Names of the fields in which two bindings differ."""
        return tuple(name for name in type(self).model_fields if getattr(self, name) != getattr(other, name))


class Thresholds(_Frozen):
    """Least confidence (largest probability) at which an answer of a family may be acted on without asking.

    A family whose value is None, or that is not listed and has no value for its question type, is never automated.
    """

    error_budget: float
    confidence_level: float
    method: str
    by_family: dict[str, float | None] = Field(default_factory=dict)
    by_type: dict[str, float | None] = Field(default_factory=dict)
    details: dict[str, Any] = Field(default_factory=dict)

    def threshold(self, question_type: str, family: str | None) -> float | None:
        """The threshold in force for a family, else for its question type, else None (always ask)."""
        if family is not None and family in self.by_family:
            return self.by_family[family]
        return self.by_type.get(question_type)


class Calibration(_Frozen):
    """Temperatures, biases and thresholds, with the binding that they were fitted on.

    `temperature[type]` divides log-scores of that question type (1 where absent), `family_temperature` overrides it for
    a family; `noul_bias` is added to the log-score of yes before the division, `score_bias[family]` to the levels'.
    """

    format: Literal["forthwith-calibration/1"] = "forthwith-calibration/1"
    binding: Binding
    temperature: dict[QuestionType, float] = Field(default_factory=dict[QuestionType, float])
    family_temperature: dict[str, float] = Field(default_factory=dict)
    noul_bias: float = 0.0
    score_bias: dict[str, list[float]] = Field(default_factory=dict)
    none_of_these: dict[str, float] = Field(default_factory=dict)
    thresholds: Thresholds | None = None
    provenance: dict[str, Any] = Field(default_factory=dict)

    @field_validator("temperature", "family_temperature")
    @classmethod
    def _is_positive(cls, temperatures: dict[str, float]) -> dict[str, float]:
        for name, value in temperatures.items():
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"temperature {name!r} is {value!r}; it must be a positive number")
        return temperatures

    @property
    def applies_nothing(self) -> bool:
        """Whether it leaves every log-score as it is and promises no threshold: as good as no calibration."""
        thresholds = self.thresholds
        promised = thresholds is not None and any(
            value is not None for value in (*thresholds.by_family.values(), *thresholds.by_type.values())
        )
        changes = self.temperature or self.family_temperature or self.noul_bias or self.score_bias
        return not promised and not changes

    def with_families(self, other: Calibration, families: Mapping[str, QuestionType]) -> Calibration:
        """This calibration for everything, and another's for the families that it was fitted on.

        Args:
            other: fitted on the families' own questions, with the same binding.
            families: the families to take over, each with its question type.

        Raises:
            ConfigError: the two are bound to different models, promise different things, or add different biases to yes
                (which belongs to no family).
        """
        if differing := self.binding.differences(other.binding):
            raise ConfigError(f"the two calibrations differ in {', '.join(differing)}; fit both on one model", "onto")
        if self.noul_bias != other.noul_bias:
            biases = f"{self.noul_bias:g} and {other.noul_bias:g}"
            raise ConfigError(f"the two add different biases to yes ({biases}), which no family has of its own", "onto")
        temperature = {
            family: other.family_temperature.get(family, other.temperature.get(kind, 1.0))
            for family, kind in families.items()
        }
        score_bias = {family: bias for family, bias in self.score_bias.items() if family not in families}
        return self.model_copy(
            update={
                "family_temperature": self.family_temperature | temperature,
                "score_bias": score_bias | {name: bias for name, bias in other.score_bias.items() if name in families},
                "thresholds": _joined(self.thresholds, other.thresholds, frozenset(families)),
                "provenance": other.provenance | {"onto": self.provenance},
            }
        )

    def probabilities(self, log_scores: FloatArray, question_type: str, family: str | None = None) -> FloatArray:
        """Calibrated distribution over a question's options.

        Args:
            log_scores: shape (..., K), nats, in `option_keys` order, as the readout gives them.
            question_type: noul, choice or score.
            family: the family, where one is known.

        Returns:
            shape (..., K), sums to 1 along the last axis.

        Raises:
            ShapeError: a yes/no question without exactly two log-scores, or a score with other levels than its bias.

        References:
            Guo et al. (2017), On Calibration of Modern Neural Networks; Platt (1999) for the yes/no bias.
        """
        shifted = np.asarray(log_scores, dtype=np.float64)
        if question_type == "noul" and self.noul_bias:
            if shifted.shape[-1] != 2:
                raise ShapeError(f"a yes/no question has 2 log-scores (no, yes), found {shifted.shape[-1]}")
            shifted = shifted + np.array([0.0, self.noul_bias])
        if question_type == "score" and family in self.score_bias:
            bias = np.asarray(self.score_bias[family])
            if bias.size != shifted.shape[-1]:
                levels = shifted.shape[-1]
                raise ShapeError(f"score bias of {family!r} has {bias.size} levels, the question has {levels}")
            shifted = shifted + bias
        default = self.temperature.get(cast("QuestionType", question_type), 1.0)  # an unknown type has none
        temperature = default if family is None else self.family_temperature.get(family, default)
        return softmax(shifted / temperature)


def _joined(general: Thresholds | None, own: Thresholds | None, families: frozenset[str]) -> Thresholds | None:
    if general is None or own is None:
        return own or general
    if (general.error_budget, general.confidence_level) != (own.error_budget, own.confidence_level):
        raise ConfigError(
            f"the two promise different things: {general.error_budget:g} at {general.confidence_level:g} and"
            f" {own.error_budget:g} at {own.confidence_level:g}; use one --budget and one --confidence-level",
            "onto",
        )
    mine = {family: value for family, value in own.by_family.items() if family in families}
    told = general.details.get("families", {}) | own.details.get("families", {})
    return general.model_copy(
        update={"by_family": general.by_family | mine, "details": general.details | {"families": told}}
    )


def log_softmax(log_scores: FloatArray) -> FloatArray:
    """Log of `softmax`, along the last axis, without overflow."""
    shifted = log_scores - np.max(log_scores, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def softmax(log_scores: FloatArray) -> FloatArray:
    """Distribution proportional to `exp(log_scores)`, along the last axis; sums to 1 within rounding."""
    weights = np.exp(log_scores - np.max(log_scores, axis=-1, keepdims=True))
    return weights / np.sum(weights, axis=-1, keepdims=True)
