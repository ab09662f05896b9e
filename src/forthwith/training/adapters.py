"""LoRA on a base model: which modules are adapted, in float32, and how the adapter is read back."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from forthwith.errors import ArtifactError, ConfigError
from forthwith.training.config import Lora

__all__ = ["adapted_modules", "attach_adapter", "load_adapter_weights", "save_adapter", "trainable_parameters"]


def adapted_modules(model: nn.Module, targets: Sequence[str]) -> dict[str, int]:
    """How many linear modules each target name selects.

    Raises:
        ConfigError: a target selects none; lists the linear modules there are.
    """
    found: Counter[str] = Counter()
    linear: Counter[str] = Counter()
    modules: Any = model.named_modules()  # pyright: ignore[reportUnknownVariableType]
    for name, module in modules:
        if isinstance(module, nn.Linear):
            ending = str(name).rpartition(".")[2]
            linear[ending] += 1
            if ending in targets:
                found[ending] += 1
    if missing := [target for target in targets if not found[target]]:
        raise ConfigError(
            f"lora.targets: the base has no linear module {missing[0]!r}; it has {', '.join(sorted(linear))}",
            "lora.targets",
        )
    return dict(found)


def attach_adapter(model: Any, config: Lora, seed: int) -> Any:
    """The model with a fresh adapter, whose weights alone are trained, in float32.

    Raises:
        ConfigError: a target name selects no module.
    """
    from peft import LoraConfig, get_peft_model

    adapted_modules(model, config.targets)
    lora = LoraConfig(
        r=config.rank,
        lora_alpha=config.alpha,  # pyright: ignore[reportArgumentType] - PEFT takes fractions too
        lora_dropout=config.dropout,
        use_rslora=config.use_rslora,
        target_modules=list(config.targets),
        bias="none",
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(), warnings.catch_warnings():  # pyright: ignore[reportUnknownMemberType]
        warnings.simplefilter("ignore")  # tied embeddings: the merged export unties them
        torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]
        adapted: Any = get_peft_model(model, lora)
    for parameter in trainable_parameters(adapted):
        parameter.data = parameter.data.float()
    return adapted


def trainable_parameters(model: nn.Module) -> list[nn.Parameter]:
    """Parameters that receive gradients, in a fixed order."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def adapter_state(model: Any) -> dict[str, Tensor]:
    """The adapter's tensors by the names PEFT stores them under; where weights are spread over processes, all must call."""
    return {name: _whole(tensor.detach()).cpu().contiguous() for name, tensor in _own_state(model).items()}


def _own_state(model: Any) -> dict[str, Tensor]:
    from peft import get_peft_model_state_dict  # pyright: ignore[reportUnknownVariableType]

    return get_peft_model_state_dict(model, save_embedding_layers=False)


def _whole(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def save_adapter(model: Any, folder: Path, base: str, state: dict[str, Tensor] | None = None) -> None:
    """Write `adapter_model.safetensors` and `adapter_config.json`, as PEFT, vLLM and `Model.load` read them.

    Args:
        model: the adapted model.
        folder: where to.
        base: how the configuration names the base.
        state: the tensors, where they have been collected already.
    """
    from safetensors.torch import save_file  # pyright: ignore[reportUnknownVariableType]

    folder.mkdir(parents=True, exist_ok=True)
    tensors = adapter_state(model) if state is None else state
    save_file(tensors, str(folder / "adapter_model.safetensors"), metadata={"format": "pt"})
    config = model.peft_config["default"]
    before = config.base_model_name_or_path
    was_inference = config.inference_mode
    config.base_model_name_or_path, config.inference_mode = base, True
    try:
        config.save_pretrained(str(folder))
    finally:
        config.base_model_name_or_path, config.inference_mode = before, was_inference


def load_adapter_weights(model: Any, folder: Path) -> None:
    """Read a saved adapter's tensors into an adapted model.

    Args:
        model: the adapted model.
        folder: of the adapter, or its safetensors file.

    Raises:
        ArtifactError: the tensors are not those of this model's adapter.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file  # pyright: ignore[reportUnknownVariableType]

    file = folder if folder.is_file() else folder / "adapter_model.safetensors"
    if not file.is_file():
        raise ArtifactError(
            f"no adapter in {folder}: adapter_model.safetensors is missing; name the adapter's own folder"
        )
    try:
        stored = load_file(str(file))
    except (OSError, SafetensorError) as error:
        raise ArtifactError(f"{file} is no whole safetensors file ({error}); parts must be joined first") from error
    own = _own_state(model)
    if set(stored) != set(own):
        stray = sorted(set(stored) ^ set(own))
        raise ArtifactError(
            f"the adapter in {folder} was made for another base or other targets; first difference {stray[0]!r}"
        )
    wrong = [name for name, tensor in stored.items() if tensor.shape != own[name].shape]
    if wrong:
        name = wrong[0]
        raise ArtifactError(f"{name} has another shape in {folder}", tuple(own[name].shape), tuple(stored[name].shape))
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(_placed_like(stored[name], tensor))


def _placed_like(value: Tensor, tensor: Tensor) -> Tensor:
    if not isinstance(tensor, DTensor):
        return value.to(tensor)
    return distribute_tensor(value.to(tensor.device), tensor.device_mesh, tensor.placements)
