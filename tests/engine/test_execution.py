"""Every fast path equals one plain prompt a leaf, on attention-only and on recurrent models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from random_trees import random_tree

from forthwith.encoding import TokenTree, TreeBuilder
from forthwith.engine.execution import Executor, Findings
from forthwith.engine.packing import RowBuilder
from forthwith.testing import tiny_causal_model

ATTENTION_ONLY = ["llama", "qwen3", "gemma3"]
RECURRENT = ["qwen3_5", "qwen3_next"]
TOLERANCE = 1e-4  # in probability, float32

TREES = [random_tree(1), random_tree(2), random_tree(3, root_tokens=21, questions=1, options=6)]


def executor(shape: str) -> Executor:
    return Executor(tiny_causal_model(shape), has_recurrent_layers=shape in RECURRENT)


def plain(run: Executor, trees: list[TokenTree], batch_tokens: int = 1) -> Findings:
    findings: Findings = {}
    run.run_plain(trees, findings, batch_tokens)
    return findings


def largest_difference(found: Findings, expected: Findings) -> float:
    assert found.keys() == expected.keys()
    return max(float(np.abs(np.exp(found[key]) - np.exp(expected[key])).max()) for key in expected)


def packed_in_one_row(run: Executor, trees: list[TokenTree]) -> Findings:
    builder = RowBuilder()
    for index, tree in enumerate(trees):
        builder.add(index, tree)
    findings: Findings = {}
    run.run_rows(trees, [builder.build()], findings)
    return findings


def packed_in_padded_rows(run: Executor, trees: list[TokenTree]) -> Findings:
    rows = []
    for index, tree in enumerate(trees):
        builder = RowBuilder()
        builder.add(index, tree)
        rows.append(builder.build())
    findings: Findings = {}
    run.run_rows(trees, rows, findings)
    return findings


def forked(chunk_tokens: int) -> Callable[[Executor, list[TokenTree]], Findings]:
    def run_forked(run: Executor, trees: list[TokenTree]) -> Findings:
        findings: Findings = {}
        for index in range(len(trees)):
            cache = run.encode_root(index, trees, findings)
            run.run_forked([index], trees, cache, findings, chunk_tokens)
            run.run_forked([index], trees, cache, findings, chunk_tokens)  # a used cache gives the same again
        return findings

    return run_forked


@pytest.mark.parametrize("shape", ATTENTION_ONLY)
@pytest.mark.parametrize("path", [packed_in_one_row, packed_in_padded_rows, forked(1000), forked(20), forked(3)])
def test_fast_paths_equal_plain_prompts(shape: str, path: Callable[[Executor, list[TokenTree]], Findings]) -> None:
    run = executor(shape)
    assert largest_difference(path(run, TREES), plain(run, TREES)) < TOLERANCE


@pytest.mark.parametrize("shape", RECURRENT)
@pytest.mark.parametrize("path", [forked(1000), forked(4)])
def test_recurrent_models_fork_instead_of_masking(
    shape: str, path: Callable[[Executor, list[TokenTree]], Findings]
) -> None:
    run = executor(shape)
    assert largest_difference(path(run, TREES), plain(run, TREES)) < TOLERANCE


@pytest.mark.parametrize("shape", RECURRENT)
def test_a_mask_would_leak_between_siblings_in_recurrent_layers(shape: str) -> None:
    run = executor(shape)
    assert largest_difference(packed_in_one_row(run, TREES), plain(run, TREES)) > 100 * TOLERANCE


@pytest.mark.parametrize("shape", ATTENTION_ONLY + RECURRENT)
def test_padding_a_batch_changes_nothing(shape: str) -> None:
    run = executor(shape)
    assert largest_difference(plain(run, TREES, 4000), plain(run, TREES, 1)) < TOLERANCE


@pytest.mark.parametrize("shape", ATTENTION_ONLY + RECURRENT)
def test_candidate_values_are_the_full_softmax_restricted(shape: str) -> None:
    model = tiny_causal_model(shape)
    run = Executor(model, has_recurrent_layers=shape in RECURRENT)
    found = plain(run, TREES)
    with torch.inference_mode():
        for index, tree in enumerate(TREES):
            for number, read in enumerate(tree.reads):
                above = tree.segments[read.segment].parent
                ids = (tree.path(above) if above >= 0 else ()) + tree.segments[read.segment].ids[: read.offset + 1]
                full = torch.log_softmax(model(torch.tensor([ids])).logits[0, -1].double(), dim=-1)
                assert np.allclose(found[index, number], full[list(read.candidates)].numpy(), atol=1e-4)


def test_the_models_are_sharp_enough_to_notice_a_wrong_context() -> None:
    run = executor("llama")
    tree = random_tree(1)
    changed = TreeBuilder(tuple(token + 1 for token in tree.segments[0].ids))
    for segment in tree.segments[1:]:
        changed.add(segment.ids, segment.parent)
    for read in tree.reads:
        changed.read(read.segment, read.candidates, read.offset)
    assert largest_difference(plain(run, [tree]), plain(run, [changed.build()])) > 100 * TOLERANCE


def test_half_precision_keeps_what_is_between_its_steps() -> None:
    """Logits rounded to bfloat16 lie on a grid of 2^-8 of their size; the candidates' own must not."""
    model = tiny_causal_model("llama").to(torch.bfloat16)
    executor = Executor(model, has_recurrent_layers=False)
    findings: Findings = {}
    executor.run_plain(TREES[:2], findings, 2048)
    read = TREES[0].reads[0]
    prompt = torch.tensor([TREES[0].path(read.segment)[: TREES[0].starts[read.segment] + read.offset + 1]])
    candidates = list(read.candidates)
    with torch.no_grad():
        hidden = model.model(input_ids=prompt).last_hidden_state[0, -1].float()
        exact = (model.lm_head.weight[candidates].float() @ hidden).double().numpy()
    found = findings[(0, 0)]
    assert np.ptp((found - found[0]) - (exact - exact[0])) < 1e-3
    rounded = torch.tensor(exact).to(torch.bfloat16).double().numpy()
    assert np.ptp((found - found[0]) - (rounded - rounded[0])) > 1e-3
