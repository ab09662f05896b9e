"""What a training run is: one frozen, checked value read from TOML. Every default appears here and nowhere else."""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from forthwith.errors import ConfigError

__all__ = [
    "Augmentation",
    "BaseWeights",
    "Batching",
    "Data",
    "Lora",
    "Objective",
    "Optimisation",
    "Runtime",
    "Selection",
    "TrainingConfig",
    "load_config",
    "parse_config",
    "shipped_configs",
]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BaseWeights(_Section):
    """The base model: a name, folder, `.gguf` file or hub id."""

    model: str = "smollm2-135m-instruct"
    revision: str | None = None


class Lora(_Section):
    """The low-rank adapter. `alpha` / `rank` is its scale; targets are module name endings."""

    rank: int = Field(default=32, ge=1)
    alpha: float = Field(default=64.0, gt=0)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    use_rslora: bool = False
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class Objective(_Section):
    """What is minimised.

    Attributes:
        choice: cross-entropy on the restricted distribution.
        score: cross_entropy, ranked_probability, or both (their mean).
        full_vocabulary: normalise over the whole vocabulary instead of the legal answers (label and skeleton only).
        soft_targets: train on the gold shares where there are any; else on the label.
        label_smoothing: share of the target moved to the uniform distribution.
        binary_weight: weight of the yes/no term on each option of its own (branch only).
        score_weight: weight of score questions relative to the others.
        coherence_weight: beta of the coherence penalty; 0 for none.
        coherence_siblings: whether sibling questions are asked at all (with weight 0 they are only supervised).
        supervise_siblings: whether sibling questions carry targets derived from the primary's.
    """

    choice: Literal["cross_entropy"] = "cross_entropy"
    score: Literal["cross_entropy", "ranked_probability", "both"] = "cross_entropy"
    full_vocabulary: bool = False
    soft_targets: bool = True
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    binary_weight: float = Field(default=0.1, ge=0)
    score_weight: float = Field(default=1.0, gt=0)
    coherence_weight: float = Field(default=0.0, ge=0)
    coherence_siblings: bool = False
    supervise_siblings: bool = False


class Optimisation(_Section):
    """AdamW and its schedule over `epochs` passes."""

    learning_rate: float = Field(default=5e-4, gt=0)
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    final_share: float = Field(default=0.0, ge=0, le=1)
    warmup_steps: int = Field(default=50, ge=0)
    epochs: float = Field(default=2.0, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.999, ge=0, lt=1)
    gradient_clip: float = Field(default=1.0, gt=0)


class Batching(_Section):
    """Sizes in tokens; `step_questions` is what one optimiser step averages over.

    Attributes:
        row_tokens: one forward pass; None takes 16,384 on a GPU and 1,024 on a CPU. A larger record gets a row of its own.
        step_questions: questions an optimiser step.
        max_tokens: longest path from the state to a leaf; None takes the model's context.
        overlong: what to do with a record beyond it: refuse the data, or skip the record and count it.
        chunk_records: records that are planned, and packed, together.
        workers: processes that plan rows; 0 plans in the training process.
    """

    row_tokens: int | None = Field(default=None, ge=64)
    step_questions: int = Field(default=32, ge=1)
    max_tokens: int | None = Field(default=None, ge=16)
    overlong: Literal["refuse", "skip"] = "refuse"
    chunk_records: int = Field(default=512, ge=1)
    workers: int = Field(default=0, ge=0)


class Augmentation(_Section):
    """Shares (0 to 1) of questions that are altered, drawn anew each epoch from the run's seed.

    Attributes:
        option_order: options of a choice in a random order (the branch readout is order-free).
        option_subset: keep the right option and a random part of the others.
        fewest_options: a subset keeps at least this many options.
        rename_keys: option keys in another case or spelling.
        letter_keys: option keys replaced by letters, where every option is described.
        drop_descriptions: descriptions left out, where the key says enough.
        drop_keys: the description alone, its key replaced by itself.
        reword: the instruction put into another frame.
        drop_instructions: the instruction left out, where options are described.
        none_of_these: the right option taken away; every branch is then wrong (branch only).
        distractors: a few options of other questions added.
    """

    option_order: float = Field(default=0.0, ge=0, le=1)
    option_subset: float = Field(default=0.0, ge=0, le=1)
    fewest_options: int = Field(default=2, ge=2)
    rename_keys: float = Field(default=0.0, ge=0, le=1)
    letter_keys: float = Field(default=0.0, ge=0, le=1)
    drop_descriptions: float = Field(default=0.0, ge=0, le=1)
    drop_keys: float = Field(default=0.0, ge=0, le=1)
    reword: float = Field(default=0.0, ge=0, le=1)
    drop_instructions: float = Field(default=0.0, ge=0, le=1)
    none_of_these: float = Field(default=0.0, ge=0, le=1)
    distractors: float = Field(default=0.0, ge=0, le=1)

    @property
    def is_off(self) -> bool:
        """Whether nothing is ever altered."""
        return all(value == 0 for name, value in self if name != "fewest_options")


class Data(_Section):
    """How sources mix.

    Attributes:
        task_weights: loss weight by task (or by `prefix*`); 1 for those not named. Families of questions can be named, too.
        balance: 0 weights every question alike; 1 every task alike; between, tasks by size to the power 1 - balance.
        general_share: share of general rows (`--general`) in an epoch; 0 for none.
    """

    task_weights: dict[str, float] = Field(default_factory=dict[str, float])
    balance: float = Field(default=0.0, ge=0, le=1)
    general_share: float = Field(default=0.0, ge=0, lt=1)


class Selection(_Section):
    """When to validate, when to stop, and which checkpoint wins.

    Attributes:
        every_steps: steps between validations and checkpoints; None for once an epoch.
        metric: what is compared, macro over tasks.
        patience: validations without a gain before stopping; None never stops early.
        guard_drop: largest fall of accuracy on the guard set, against the base, that a checkpoint may show.
    """

    every_steps: int | None = Field(default=None, ge=1)
    metric: Literal["accuracy", "negative_log_likelihood"] = "accuracy"
    patience: int | None = Field(default=None, ge=1)
    guard_drop: float = Field(default=0.02, ge=0)


class Runtime(_Section):
    """How the run computes; results depend on it only up to rounding.

    Attributes:
        precision: of the base weights and activations; None takes bfloat16 on CUDA and float32 on a CPU.
        attention: flex (block-sparse tree masks), dense, or None to choose by what works.
        compile: compile the layers; None does so on CUDA where all layers are attention.
        autotune: let the compiler time several kernels for each product (minutes before the first step).
        gradient_checkpointing: recompute activations.
        shard: spread the weights over the processes (FSDP), for bases that one device does not hold.
    """

    precision: Literal["float32", "bfloat16"] | None = None
    attention: Literal["flex", "dense"] | None = None
    compile: bool | None = None
    autotune: bool = False
    gradient_checkpointing: bool = False
    shard: bool = False


class TrainingConfig(_Section):
    """One run."""

    name: str
    readout: str = "branch"
    seed: int = 20260930
    base: BaseWeights = BaseWeights()
    lora: Lora = Lora()
    objective: Objective = Objective()
    optimisation: Optimisation = Optimisation()
    batching: Batching = Batching()
    augmentation: Augmentation = Augmentation()
    data: Data = Data()
    selection: Selection = Selection()
    runtime: Runtime = Runtime()

    @model_validator(mode="after")
    def _readout_fits_objective(self) -> TrainingConfig:
        objective = self.objective
        if objective.full_vocabulary and self.readout == "branch":
            raise ValueError("objective.full_vocabulary is for label and skeleton; the branch readout reads yes and no")
        if self.readout == "text":
            raise ValueError("readout: text reads whole options and is not trained; use branch, label or skeleton")
        if self.readout != "branch" and self.augmentation.none_of_these > 0:
            raise ValueError("augmentation.none_of_these needs the branch readout, which judges every option alone")
        return self

    @property
    def fingerprints(self) -> dict[str, str]:
        """Hash of each setting, or section of settings, that the loss curve depends on; `[name]` is a section."""
        how = {
            "runtime": {"attention", "compile", "autotune", "gradient_checkpointing", "shard"},
            "batching": {"workers"},
        }
        told = self.model_dump(mode="json", exclude=how)
        return {
            f"[{name}]" if isinstance(value, dict) else name: hashlib.sha256(
                json.dumps(value, sort_keys=True).encode()
            ).hexdigest()
            for name, value in told.items()
        }


def parse_config(payload: dict[str, Any]) -> TrainingConfig:
    """A checked configuration from plain values.

    Raises:
        ConfigError: names the setting, what was found, and the nearest known name for an unknown one.
    """
    try:
        return TrainingConfig.model_validate(payload)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigError(_message(dict(first), place), place or None) from error


def load_config(path: str | Path) -> TrainingConfig:
    """A configuration from a TOML file, or from a shipped one by name.

    Raises:
        ConfigError: not there, not TOML, or a setting is wrong.
    """
    shipped = shipped_configs()
    text = shipped.get(str(path))
    if text is None:
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            near = difflib.get_close_matches(str(path), shipped, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; shipped ones are {', '.join(sorted(shipped))}"
            raise ConfigError(f"no training configuration {str(path)!r}{hint}") from error
    try:
        payload = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    return parse_config(payload)


def shipped_configs() -> dict[str, str]:
    """Text of the configurations that come with the package, by name."""
    folder = resources.files("forthwith.training") / "configs"
    return {
        file.name.removesuffix(".toml"): file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    }


def _message(problem: dict[str, Any], place: str) -> str:
    if problem["type"] != "extra_forbidden":
        reason = str(problem["msg"]).removeprefix("Value error, ")
        return f"{place}: {reason}" if place else reason
    *section, name = place.split(".")
    known = _names(section)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    return f"{place}: unknown setting, found {problem['input']!r}; {hint}"


def _names(section: list[str]) -> list[str]:
    model: Any = TrainingConfig
    for part in section:
        annotation = model.model_fields[part].annotation
        model = next((arg for arg in get_args(annotation) if isinstance(arg, type)), annotation)
    return sorted(model.model_fields)
