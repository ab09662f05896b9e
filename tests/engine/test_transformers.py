from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from random_trees import random_tree, tokens

from forthwith.encoding import TreeBuilder
from forthwith.engine.loading import LoadedModel
from forthwith.engine.transformers import ExecutionLimits, TransformersEngine
from forthwith.errors import ContextTooLongError, EngineError
from forthwith.testing import tiny_causal_model, tiny_encoder, tiny_tokenizer

TREES = [random_tree(seed, root_tokens=20 + 5 * (seed % 3)) for seed in range(7)]


def engine(
    shape: str = "llama", limits: ExecutionLimits | None = None, executor: str | None = None
) -> TransformersEngine:
    loaded = LoadedModel(
        model=tiny_causal_model(shape),
        encoder=tiny_encoder(),
        tokenizer=tiny_tokenizer(),
        weights_sha256="a" * 64,
        adapter_sha256=None,
        device="cpu",
        precision="float32",
        max_tokens=500,
        has_recurrent_layers=shape.startswith("qwen3_"),
    )
    return TransformersEngine(loaded, "tiny", limits, executor=executor)


def limits(**changes: int) -> ExecutionLimits:
    values = {"row": 256, "batch": 1024, "chunk": 1024, "prefix_cache_bytes": 1 << 24}
    return ExecutionLimits(**(values | changes))


def largest_difference(first: Any, second: Any) -> float:
    return max(
        float(np.abs(np.exp(a) - np.exp(b)).max())
        for one, other in zip(first, second, strict=True)
        for a, b in zip(one.log_probs, other.log_probs, strict=True)
    )


@pytest.mark.parametrize("shape", ["llama", "gemma3", "qwen3_5"])
@pytest.mark.parametrize("changes", [{}, {"row": 1}, {"row": 100, "batch": 100}, {"row": 1, "chunk": 8}])
def test_batch_and_limits_change_nothing(shape: str, changes: dict[str, int]) -> None:
    reference = engine(shape, executor="plain").evaluate(TREES)
    run = engine(shape, limits(**changes))
    assert largest_difference(run.evaluate(TREES), reference) < 1e-4
    assert largest_difference([run.evaluate([tree])[0] for tree in TREES], reference) < 1e-4


def test_a_state_is_encoded_once_and_its_cache_is_exact() -> None:
    run = engine(limits=limits(row=1))
    tree = random_tree(1)
    bare = TreeBuilder(tree.segments[0].ids)
    bare.read(bare.add((5, 6, 7)), (1, 2))
    first = run.evaluate([bare.build()])[0]
    again = run.evaluate([bare.build()])[0]
    assert (first.cached_tokens, again.cached_tokens) == (0, 30)
    assert largest_difference([first], [again]) < 1e-6
    other = TreeBuilder(tree.segments[0].ids)
    other.read(other.add((8, 9)), (1, 2))
    readings = run.evaluate([other.build(), bare.build()])
    assert [reading.cached_tokens for reading in readings] == [30, 30]
    assert largest_difference([readings[1]], [first]) < 1e-5


def test_states_shared_within_a_batch_are_paid_once() -> None:
    run = engine(limits=limits(row=1))
    trees = []
    for branch in range(3):
        tree = TreeBuilder(tokens(np.random.default_rng(1), 40))
        tree.read(tree.add((branch, 7)), (1, 2))
        trees.append(tree.build())
    assert [reading.cached_tokens for reading in run.evaluate(trees)] == [0, 40, 40]


def test_too_long_a_path_is_refused_with_numbers() -> None:
    tree = TreeBuilder(tuple(range(1, 500)))
    tree.read(tree.add((1, 2)), (3,))
    with pytest.raises(ContextTooLongError, match="needs 501 tokens and the model reads at most 500") as caught:
        engine().evaluate([tree.build()])
    assert (caught.value.tokens, caught.value.limit) == (501, 500)


def test_out_of_memory_halves_the_batch_and_goes_on() -> None:
    trees = [random_tree(seed, root_tokens=20 + seed) for seed in range(7)]
    run = engine(limits=limits(row=150, batch=10_000))
    forward = run.loaded.model.forward
    sizes: list[int] = []

    def stingy(*args: Any, **kwargs: Any) -> Any:
        rows = kwargs["input_ids"].shape[0]
        sizes.append(rows)
        if rows > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(*args, **kwargs)

    run.loaded.model.forward = stingy
    found = run.evaluate(trees)
    assert sizes == [4, 2, 2]
    run.loaded.model.forward = forward
    assert largest_difference(found, engine(executor="plain").evaluate(trees)) < 1e-4


def test_no_memory_at_all_and_other_failures_are_engine_errors() -> None:
    run = engine()

    def fail(*_args: Any, **_kwargs: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    run.loaded.model.forward = fail
    with pytest.raises(EngineError, match="out of memory even for the smallest batch"):
        run.evaluate(TREES)

    def break_down(*_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeError("device-side assert")

    run.loaded.model.forward = break_down
    with pytest.raises(EngineError, match="the model failed: device-side assert"):
        run.evaluate(TREES)


def test_identity_names_what_the_numbers_depend_on() -> None:
    identity = engine().identity
    assert (identity.engine, identity.weights_sha256, identity.precision) == ("transformers", "a" * 64, "float32")
    assert identity.versions.keys() == {"torch", "transformers", "tokenizers"}


@pytest.mark.parametrize("shape", ["llama", "gemma3", "qwen3_5"])
def test_one_question_takes_one_pass_and_leaves_its_state_for_the_next(shape: str) -> None:
    run = engine(shape, limits(row=1))
    chain = TreeBuilder(tokens(np.random.default_rng(1), 60))
    chain.read(
        chain.add(tokens(np.random.default_rng(2), 7), chain.add(tokens(np.random.default_rng(3), 9))), (1, 2, 3)
    )
    forward, passes = run.loaded.model.forward, []

    def counted(*args: Any, **kwargs: Any) -> Any:
        passes.append(kwargs["input_ids"].shape[1])
        return forward(*args, **kwargs)

    run.loaded.model.forward = counted
    first = run.evaluate([chain.build()])
    assert passes == ([76] if shape != "qwen3_5" else [60, 9, 7])
    again = run.evaluate([chain.build()])
    assert (first[0].cached_tokens, again[0].cached_tokens) == (0, 60)
    run.loaded.model.forward = forward
    reference = engine(shape, executor="plain").evaluate([chain.build()])
    assert largest_difference(first, reference) < 1e-4
    assert largest_difference(again, reference) < 1e-4


def test_no_memory_for_a_state_is_an_engine_error() -> None:
    run = engine(limits=limits(row=1))

    def fail(*_args: Any, **_kwargs: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    run.loaded.model.forward = fail
    with pytest.raises(EngineError, match="out of memory even for the smallest batch"):
        run.evaluate(TREES)
