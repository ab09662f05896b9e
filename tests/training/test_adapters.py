"""Which modules are adapted."""

import pytest
import torch
import transformers

from forthwith.errors import ConfigError
from forthwith.testing import tiny_causal_model
from forthwith.training.adapters import adapted_modules, adapter_state, attach_adapter, trainable_parameters
from forthwith.training.config import Lora, load_config


def pev_shape() -> torch.nn.Module:
    """64 layers, every fourth with full attention, as Qwen3.8-27B; small otherwise, on no device."""
    kinds = ["full_attention" if index % 4 == 3 else "linear_attention" for index in range(64)]
    config = transformers.Qwen3_5TextConfig(
        vocab_size=256, hidden_size=64, intermediate_size=96, num_hidden_layers=64, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, layer_types=kinds, linear_key_head_dim=16, linear_value_head_dim=16,
        linear_num_key_heads=2, linear_num_value_heads=4,
    )  # fmt: skip
    with torch.device("meta"):
        return transformers.Qwen3_5ForCausalLM(config)


def test_the_label_recipe_adapts_496_modules_with_992_tensors() -> None:
    targets = load_config("qwen3.8-27b-label").lora.targets
    found = adapted_modules(pev_shape(), targets)
    assert sum(found[name] for name in ("q_proj", "k_proj", "v_proj", "o_proj")) == 16 * 4
    assert sum(count for name, count in found.items() if name.startswith("in_proj") or name == "out_proj") == 48 * 5
    assert sum(found[name] for name in ("gate_proj", "up_proj", "down_proj")) == 64 * 3
    assert sum(found.values()) == 496


def test_the_adapter_of_a_hybrid_has_two_tensors_a_module() -> None:
    model = tiny_causal_model("qwen3_5")
    targets = load_config("qwen3.8-27b-label").lora.targets
    modules = sum(adapted_modules(model, targets).values())
    adapted = attach_adapter(model, Lora(rank=2, targets=targets), seed=1)
    assert modules == 1 * 4 + 3 * 5 + 4 * 3
    assert len(adapter_state(adapted)) == 2 * modules
    assert all(parameter.dtype == torch.float32 for parameter in trainable_parameters(adapted))


def test_an_adapter_depends_on_its_seed_alone() -> None:
    first, again, other = (adapter_state(attach_adapter(tiny_causal_model(), Lora(rank=2), seed)) for seed in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_a_target_that_selects_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="no linear module 'qproj'; it has down_proj, gate_proj"):
        adapted_modules(tiny_causal_model(), ("qproj",))
