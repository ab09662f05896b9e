"""The packed loss is the sum of plain one-prompt-a-leaf losses, for every objective and shape."""

import numpy as np
import pytest
import torch

from forthwith.readout import readout_by_name
from forthwith.schema import parse_record
from forthwith.testing import tiny_causal_model, tiny_encoder
from forthwith.training.attention import BlockMasks, dense_mask
from forthwith.training.batching import packed_batch, path_batch
from forthwith.training.config import Objective
from forthwith.training.forward import DeviceTargets, TreeForward, check_logits
from forthwith.training.objective import batch_loss
from forthwith.training.rows import RowRules, TrainingRow, training_row

RECORDS = [
    parse_record({
        "id": f"r{number}", "task": "t", "state": {"text": "The kettle is broken. " * (number + 1), "stars": number},
        "questions": {
            "kind": {"type": "choice", "instructions": "What is it?", "criteria":
                     {"fault": "something broke", "praise": None, "other": "else"}},
            "angry": {"type": "noul", "instructions": "Is the writer angry?"},
            "mood": {"type": "score", "instructions": "How glad?", "criteria": ["not", "a little", "much"]},
        },
        "targets": {"kind": {"label": "fault", "distribution": {"fault": 0.7, "other": 0.3}},
                    "angry": {"label": "yes"}, "mood": {"label": number}},
    })
    for number in range(3)
]  # fmt: skip

OBJECTIVES = {
    "branch": Objective(),
    "label": Objective(full_vocabulary=True),
    "skeleton": Objective(score="ranked_probability"),
    "label(orders=2,log)": Objective(score="both", soft_targets=False),
}


def rows_of(readout_name: str, objective: Objective) -> list[TrainingRow]:
    rules = RowRules(objective.soft_targets)
    encoder = tiny_encoder()
    rows = [training_row(record, readout_by_name(readout_name), encoder, rules) for record in RECORDS]
    return [row for row in rows if isinstance(row, TrainingRow)]


def plain_loss(model: torch.nn.Module, rows: list[TrainingRow], objective: Objective) -> torch.Tensor:
    """Every leaf as a prompt of its own, the loss written out with no shared code."""
    total = torch.zeros(())
    for row in rows:
        for question in row.questions:
            logs = []
            for index in question.reads:
                read = row.tree.reads[index]
                start = row.tree.starts[read.segment]
                path = row.tree.path(read.segment)[: start + read.offset + 1]
                logits = model(input_ids=torch.tensor([path])).logits[0, -1]
                chosen = torch.log_softmax(logits, -1)[list(read.candidates)]
                logs.append(chosen)
            target = torch.tensor(question.target)
            values = torch.stack([log[1] - log[0] for log in logs]) if question.is_branched else logs[0]
            log_p = values if objective.full_vocabulary else torch.log_softmax(values, 0)
            loss = -(target * log_p).sum()
            if question.type == "score" and objective.score != "cross_entropy":
                gap = torch.cumsum(torch.softmax(values, 0) - target, 0)[:-1]
                ranked = (gap**2).sum() / (len(target) - 1)
                loss = ranked if objective.score == "ranked_probability" else (ranked + loss) / 2
            if question.is_branched and objective.binary_weight:
                binary = -(
                    target * torch.nn.functional.logsigmoid(values)
                    + (1 - target) * torch.nn.functional.logsigmoid(-values)
                )
                loss = loss + objective.binary_weight * binary.mean()
            total = total + question.weight * loss
    return total


@pytest.mark.parametrize("readout", list(OBJECTIVES))
@pytest.mark.parametrize("shape", ["llama", "gemma3", "qwen3_5"])
def test_packed_loss_is_the_sum_of_plain_leaf_losses(readout: str, shape: str) -> None:
    objective = OBJECTIVES[readout]
    rows = rows_of(readout, objective)
    model = tiny_causal_model(shape)
    is_recurrent = shape.startswith("qwen3_5")
    forward = TreeForward(model, "paths" if is_recurrent else "dense")
    check_logits(forward)
    batch = path_batch(rows) if is_recurrent else packed_batch(rows, 2048)
    targets = DeviceTargets.of(batch, forward.device)
    read = forward(batch, targets.tokens, over_vocabulary=objective.full_vocabulary)
    loss = batch_loss(read, targets, objective).total
    expected = plain_loss(model, rows, objective)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    ours = torch.autograd.grad(loss, model.get_input_embeddings().weight)[0]
    theirs = torch.autograd.grad(expected, model.get_input_embeddings().weight)[0]
    assert float((ours - theirs).norm() / theirs.norm()) < 1e-4


@pytest.mark.slow  # compiles C++: needs a compiler
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_block_mask_reads_what_the_dense_mask_reads() -> None:
    rows = rows_of("branch", Objective())
    model = tiny_causal_model("llama")
    forward = TreeForward(model, "dense")
    batch = packed_batch(rows, 1792)
    with torch.no_grad():
        dense = forward.hidden_at_reads(batch)
        model.set_attn_implementation("flex_attention")
        forward.attention = "flex"
        flex = forward.hidden_at_reads(batch)
    assert torch.allclose(dense, flex, atol=1e-4)


def test_block_mask_covers_every_pair_that_the_rule_allows() -> None:
    draw = np.random.default_rng(3)
    rows = rows_of("branch", Objective())
    batch = packed_batch([rows[index] for index in draw.integers(3, size=4)], 3072)
    ends = torch.from_numpy(batch.ends)
    dense = dense_mask(ends)[0, 0]
    blocks = BlockMasks()(ends).to_dense()[0, 0].bool()
    covered = blocks.repeat_interleave(128, 0).repeat_interleave(128, 1)
    assert not (dense & ~covered).any()
    assert blocks.float().mean() < 0.5


def test_allowed_mass_is_the_probability_of_legal_answers() -> None:
    rows = rows_of("branch", Objective())[:1]
    model = tiny_causal_model("llama")
    forward = TreeForward(model, "dense")
    batch = packed_batch(rows)
    targets = DeviceTargets.of(batch, forward.device)
    with torch.no_grad():
        loss = batch_loss(forward(batch, targets.tokens, measures_mass=True), targets, Objective())
        by_question = []
        for question in rows[0].questions:
            masses = []
            for index in question.reads:
                read = rows[0].tree.reads[index]
                logits = model(input_ids=torch.tensor([rows[0].tree.path(read.segment)])).logits[0, -1]
                masses.append(torch.softmax(logits, 0)[list(read.candidates)].sum().item())
            by_question.append(np.mean(masses))
    assert loss.allowed_mass.item() == pytest.approx(sum(by_question), rel=1e-4)
