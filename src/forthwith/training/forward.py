"""Token rows through a model: hidden states at the reads alone, times the output embedding of the candidates alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from numpy.typing import NDArray
from torch import Tensor, nn

from forthwith.errors import ConfigError
from forthwith.training.attention import BlockMasks, dense_mask
from forthwith.training.batching import MicroBatch

__all__ = ["DeviceTargets", "ReadLogits", "TreeForward", "check_logits", "option_values"]

Attention = Literal["flex", "dense", "paths"]


@dataclass(frozen=True)
class DeviceTargets:
    """`Targets` as tensors; see there."""

    value_read: Tensor
    plus: Tensor
    minus: Tensor
    tokens: Tensor
    options: Tensor
    target: Tensor
    label: Tensor
    kind: Tensor
    is_branched: Tensor
    weight: Tensor

    @staticmethod
    def of(batch: MicroBatch, device: torch.device) -> DeviceTargets:
        """The batch's targets on a device."""
        arrays = vars(batch.targets)
        return DeviceTargets(**{name: on_device(array, device) for name, array in arrays.items()})


class ReadLogits(NamedTuple):
    """Candidate logits, shape (R, U), and the log of the whole vocabulary's sum at each read, shape (R,), where it is known."""

    logits: Tensor
    normaliser: Tensor | None


class TreeForward(nn.Module):
    """A causal language model that reads rows of token trees.

    Args:
        model: a Transformers causal model, bare or with a PEFT adapter.
        attention: flex or dense for packed rows; paths for models with recurrent layers.
    """

    def __init__(self, model: Any, attention: Attention) -> None:
        super().__init__()
        self.model = model
        self.attention: Attention = attention
        causal = model.get_base_model() if hasattr(model, "peft_config") else model
        self._causal = [causal]  # in a list: not a second registration of the same parameters
        config = causal.config.get_text_config()
        types = set(getattr(config, "layer_types", None) or ())
        window = getattr(config, "sliding_window", None)
        self._windows = {name: int(window) for name in types if name == "sliding_attention" and window}
        self._block_masks = BlockMasks()
        self._scale, self._cap = _logit_rule(config)

    @property
    def causal(self) -> Any:
        """The causal language model, adapter layers inside."""
        return self._causal[0]

    @property
    def body(self) -> Any:
        """The decoder without its output embedding."""
        return getattr(self.causal, self.causal.base_model_prefix)

    @property
    def head(self) -> Any:
        """The output embedding."""
        return self.causal.get_output_embeddings()

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    def forward(
        self, batch: MicroBatch, tokens: Tensor, *, over_vocabulary: bool = False, measures_mass: bool = False
    ) -> ReadLogits:
        """Logits of candidate tokens at the batch's reads.

        Args:
            batch: rows.
            tokens: shape (U,), the candidates of all reads.
            over_vocabulary: give log-probabilities over the whole vocabulary instead, differentiably.
            measures_mass: find the normaliser too, without gradient.
        """
        hidden = self.hidden_at_reads(batch)
        if over_vocabulary:
            everything = self.all_logits(hidden)
            normaliser = torch.logsumexp(everything, dim=1)
            return ReadLogits(everything[:, tokens] - normaliser[:, None], torch.zeros_like(normaliser))
        if not measures_mass:
            return ReadLogits(self.candidate_logits(hidden, tokens), None)
        with torch.no_grad():
            normaliser = torch.logsumexp(self.all_logits(hidden), dim=1)
        return ReadLogits(self.candidate_logits(hidden, tokens), normaliser)

    def hidden_at_reads(self, batch: MicroBatch) -> Tensor:
        """Hidden states at the batch's reads, shape (R, D)."""
        device = self.device
        inputs: dict[str, Any] = {"input_ids": on_device(batch.ids, device), "use_cache": False}
        if batch.ends is not None:
            positions = on_device(batch.positions, device)
            inputs["position_ids"] = positions
            inputs["attention_mask"] = self._masks(on_device(batch.ends, device), positions[0])
        hidden = self.body(**inputs).last_hidden_state  # (B, T, D)
        return hidden.reshape(-1, hidden.shape[-1])[on_device(batch.places, device)]

    def candidate_logits(self, hidden: Tensor, tokens: Tensor) -> Tensor:
        """Logits of some tokens, float32, shape (R, U)."""
        if type(self.head) is not nn.Linear:  # an adapted output embedding has no rows of its own to take
            return self.all_logits(hidden)[:, tokens]
        head = self.head
        bias: Any = head.bias
        bias = None if bias is None else bias[tokens]
        return self._finish(F.linear(hidden, head.weight[tokens].to(hidden.dtype), bias))

    def all_logits(self, hidden: Tensor) -> Tensor:
        """Logits of the whole vocabulary, float32, shape (R, V)."""
        return self._finish(self.head(hidden))

    def _finish(self, logits: Tensor) -> Tensor:
        logits = logits.float() * self._scale
        return logits if self._cap is None else torch.tanh(logits / self._cap) * self._cap

    def _masks(self, ends: Tensor, positions: Tensor) -> Any:
        build: Any = self._block_masks if self.attention == "flex" else dense_mask
        full = build(ends)
        if not self._windows:
            return full
        near = {name: build(ends, positions, window) for name, window in self._windows.items()}
        return {"full_attention": full, **near}


def option_values(logits: Tensor, targets: DeviceTargets) -> Tensor:
    """The value of every option: a candidate's logit, or the difference of yes and no; shape (V,)."""
    plus = logits[targets.value_read, targets.plus]
    minus = logits[targets.value_read, targets.minus.clamp(min=0)]
    return plus - torch.where(targets.minus >= 0, minus, torch.zeros_like(minus))


def _logit_rule(config: Any) -> tuple[float, float | None]:
    """Factor and soft cap that the model applies to its logits."""
    scale = 1.0
    if getattr(config, "logits_scaling", None):
        scale /= float(config.logits_scaling)
    if getattr(config, "logit_scale", None):
        scale *= float(config.logit_scale)
    cap = getattr(config, "final_logit_softcapping", None)
    return scale, float(cap) if cap else None


def check_logits(forward: TreeForward) -> None:
    """Compare the candidate logits with the model's own on a probe.

    Raises:
        ConfigError: the model does something else to its logits.
    """
    ids = torch.arange(1, 9, device=forward.device)[None]
    with torch.no_grad():
        own = forward.model(input_ids=ids, use_cache=False).logits[0].float()
        hidden = forward.body(input_ids=ids, use_cache=False).last_hidden_state[0]
        found = forward.all_logits(hidden)
    if not torch.allclose(own, found, rtol=1e-2, atol=1e-2 * float(own.abs().max())):
        raise ConfigError(
            "this model scales its logits in a way that is not known here; it cannot be trained", "base.model"
        )


def on_device(array: NDArray[Any], device: torch.device) -> Tensor:
    """An array as a tensor on a device; the copy to a GPU does not wait."""
    tensor: Tensor = torch.from_numpy(array)  # pyright: ignore[reportUnknownMemberType]
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor
