"""The mean of several adapters of one base, as one adapter: what runs of different seeds have in common, at the cost of one.

What is averaged is the weight change B·A of each module, not A and B, whose bases turn from run to run; the mean is cut to the
adapters' own rank by singular values (Eckart and Young 1936). Averaging fine-tuned weights: Wortsman et al. 2022, "Model soups".
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from forthwith.errors import ArtifactError, ConfigError

__all__ = ["AveragedAdapter", "average_adapters"]

_MUST_AGREE = (
    "base_model_name_or_path",
    "r",
    "lora_alpha",
    "use_rslora",
    "target_modules",
    "rank_pattern",
    "alpha_pattern",
)
_DOWN, _UP = "lora_A", "lora_B"


@dataclass(frozen=True, slots=True)
class AveragedAdapter:
    """Where the mean lies, and what its rank could not hold.

    Attributes:
        place: folder of the adapter.
        modules: how many modules it changes.
        lost: share of the mean's squared norm that was cut, of the worst module, 0 to 1.
    """

    place: Path
    modules: int
    lost: float


def average_adapters(
    folders: Sequence[str | Path], out: str | Path, weights: Sequence[float] | None = None
) -> AveragedAdapter:
    """Write the weighted mean of LoRA adapters.

    Args:
        folders: at least two; adapters of one base with equal rank, scale and targets, or runs, whose best adapter is taken.
        out: a new folder.
        weights: one for each, not negative; made to sum to 1. Default: all alike.

    Raises:
        ConfigError: fewer than two adapters, or weights that do not fit them.
        ArtifactError: no adapter there, adapters that differ in more than their weights, or `out` exists.
    """
    places = [_adapter_folder(Path(folder)) for folder in folders]
    shares = _shares(len(places), weights)
    out = Path(out)
    if out.exists():
        raise ArtifactError(f"{out} exists already; name a new folder")
    _check_alike(places)
    states = [_tensors(place) for place in places]
    _check_names(states, places)
    merged: dict[str, Tensor] = {}
    lost = 0.0
    for name in states[0]:
        if _DOWN in name:
            partner = name.replace(_DOWN, _UP)
            ups, downs = ([state[key].float() for state in states] for key in (partner, name))
            up, down, cut = _mean_change(ups, downs, shares)
            merged[name], merged[partner] = (value.to(states[0][name].dtype).contiguous() for value in (down, up))
            lost = max(lost, cut)
        elif _UP not in name:
            mean = sum(share * state[name].float() for share, state in zip(shares, states, strict=True))
            merged[name] = torch.as_tensor(mean).to(states[0][name].dtype).contiguous()
    _write(out, merged, places[0])
    return AveragedAdapter(out, sum(_DOWN in name for name in merged), lost)


def _mean_change(
    ups: Sequence[Tensor], downs: Sequence[Tensor], shares: Sequence[float]
) -> tuple[Tensor, Tensor, float]:
    """The mean of B·A as one pair of the rank of the first, and the share of its squared norm that was cut.

    Args:
        ups: B of each adapter, (out, r).
        downs: A of each, (r, in).
        shares: of each, summing to 1.
    """
    rank = downs[0].shape[0]
    linalg: Any = torch.linalg
    left, left_rest = linalg.qr(torch.cat([share * up for share, up in zip(shares, ups, strict=True)], dim=1))
    right, right_rest = linalg.qr(torch.cat(list(downs), dim=0).T)
    inner, sizes, outer = linalg.svd(left_rest @ right_rest.T)
    root = sizes[:rank].sqrt()
    energy = float((sizes**2).sum())
    cut = float((sizes[rank:] ** 2).sum()) / energy if energy else 0.0
    return (left @ inner)[:, :rank] * root, ((right @ outer.T)[:, :rank] * root).T, cut


def _adapter_folder(folder: Path) -> Path:
    """The folder itself, or the best adapter of a run."""
    for place in (folder, folder / "best"):
        if (place / "adapter_model.safetensors").is_file() and (place / "adapter_config.json").is_file():
            return place
    raise ArtifactError(
        f"no adapter in {folder}: adapter_model.safetensors or adapter_config.json is missing; name an adapter's folder or a run's"
    )


def _shares(count: int, weights: Sequence[float] | None) -> list[float]:
    if count < 2:
        raise ConfigError(f"a mean takes at least two adapters, found {count}", "folders")
    chosen = [1.0] * count if weights is None else list(weights)
    if len(chosen) != count or min(chosen) < 0 or not 0 < sum(chosen) < float("inf"):
        raise ConfigError(
            f"weights: {count} numbers of 0 or more are needed, one an adapter; found {chosen}", "weights"
        )
    return [weight / sum(chosen) for weight in chosen]


def _check_alike(places: Sequence[Path]) -> None:
    configs = [_config(place) for place in places]
    for place, config in zip(places[1:], configs[1:], strict=True):
        for key in _MUST_AGREE:
            if config.get(key) != configs[0].get(key):
                raise ArtifactError(
                    f"{place} and {places[0]} differ in {key}; only adapters of one recipe have a mean",
                    configs[0].get(key),
                    config.get(key),
                )


def _config(place: Path) -> dict[str, Any]:
    file = place / "adapter_config.json"
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{file} cannot be read: {error}") from error
    if config.get("peft_type", "LORA") != "LORA" or config.get("use_dora"):
        raise ArtifactError(
            f"{file}: only LoRA adapters have a mean of their weight changes", "LORA", config.get("peft_type")
        )
    targets: Any = config.get("target_modules")
    return {**config, "target_modules": sorted(targets) if isinstance(targets, list) else targets}  # pyright: ignore[reportUnknownArgumentType]


def _tensors(place: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file  # pyright: ignore[reportUnknownVariableType]

    file = place / "adapter_model.safetensors"
    try:
        return load_file(str(file))
    except (OSError, SafetensorError) as error:
        raise ArtifactError(f"{file} is no whole safetensors file ({error})") from error


def _check_names(states: Sequence[dict[str, Tensor]], places: Sequence[Path]) -> None:
    for place, state in zip(places[1:], states[1:], strict=True):
        if stray := sorted(set(state) ^ set(states[0])):
            raise ArtifactError(f"{place} and {places[0]} change other modules; first difference {stray[0]!r}")
        for name, tensor in state.items():
            if tensor.shape != states[0][name].shape:
                raise ArtifactError(
                    f"{name} has another shape in {place}", tuple(states[0][name].shape), tuple(tensor.shape)
                )


def _write(out: Path, tensors: dict[str, Tensor], like: Path) -> None:
    from safetensors.torch import save_file  # pyright: ignore[reportUnknownVariableType]

    out.mkdir(parents=True)
    save_file(tensors, str(out / "adapter_model.safetensors"), metadata={"format": "pt"})
    shutil.copyfile(like / "adapter_config.json", out / "adapter_config.json")
