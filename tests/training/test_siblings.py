"""Sibling questions: asked, supervised by what follows from the primary, and penalised where they disagree."""

import numpy as np
import pytest
import torch

from forthwith.coherence import family_vector, sure_loss
from forthwith.readout import readout_by_name
from forthwith.schema import parse_record
from forthwith.testing import tiny_causal_model, tiny_encoder
from forthwith.training.batching import packed_batch
from forthwith.training.config import Objective
from forthwith.training.forward import DeviceTargets, TreeForward
from forthwith.training.objective import batch_loss
from forthwith.training.planning import Planner
from forthwith.training.rows import RowRules, TrainingRow
from forthwith.training.siblings import with_siblings

RECORD = parse_record({
    "id": "r", "task": "t", "state": "The kettle is broken.",
    "questions": {
        "kind": {"type": "choice", "instructions": "What is it?", "criteria": {"fault": None, "praise": None, "other": None}},
        "angry": {"type": "noul", "instructions": "Is the writer angry?"},
        "mood": {"type": "score", "instructions": "How glad?", "criteria": ["not", "a little", "much"]},
    },
    "targets": {"kind": {"label": "fault", "distribution": {"fault": 0.7, "other": 0.3}}, "angry": {"label": "no"},
                "mood": {"label": 1}},
})  # fmt: skip


def test_sibling_targets_follow_from_the_primary() -> None:
    record, linked = with_siblings(RECORD, "s", supervise=True)
    yes = {name: target.distribution["true"] for name, target in record.targets.items() if "~" in name}
    assert yes == pytest.approx({
        "kind~is:fault": 0.7, "kind~is:praise": 0.0, "kind~is:other": 0.3, "angry~not": 1.0, "angry~true_or_false": 0.0,
        "mood~at_least:1": 1.0, "mood~at_least:2": 0.0,
    })  # fmt: skip
    assert [link.primary for link in linked] == ["kind", "angry", "mood"]


def row(*, supervise: bool) -> TrainingRow:
    planner = Planner(
        readout_by_name("branch"), tiny_encoder(), RowRules(), asks_siblings=True, supervises_siblings=supervise
    )
    found = planner.row(RECORD, 0)
    assert isinstance(found, TrainingRow)
    return found


def total(forward: TreeForward, one: TrainingRow, objective: Objective) -> float:
    batch = packed_batch([one])
    targets = DeviceTargets.of(batch, forward.device)
    with torch.no_grad():
        return batch_loss(forward(batch, targets.tokens), targets, objective, batch.links).total.item()


def test_the_four_arms_differ_by_what_they_say() -> None:
    forward = TreeForward(tiny_causal_model(), "dense")
    plain, penalty = Objective(binary_weight=0.0), Objective(binary_weight=0.0, coherence_weight=1.0)
    alone, supervised = row(supervise=False), row(supervise=True)
    assert sum(question.weight for question in alone.questions) == pytest.approx(3.0)
    assert sum(question.weight for question in supervised.questions) == pytest.approx(6.0)
    primary, siblings = total(forward, alone, plain), total(forward, supervised, plain)
    assert siblings > primary
    both = total(forward, supervised, penalty)
    assert both - siblings == pytest.approx(total(forward, alone, penalty) - primary, rel=1e-4)


def test_the_penalty_is_the_sure_loss_of_plain_answers() -> None:
    model = tiny_causal_model()
    forward = TreeForward(model, "dense")
    one = row(supervise=False)

    def distribution(number: int) -> np.ndarray:
        question = one.questions[number]
        reads = [one.tree.reads[index] for index in question.reads]
        logs = [
            torch.log_softmax(model(input_ids=torch.tensor([one.tree.path(read.segment)])).logits[0, -1], -1)[
                list(read.candidates)
            ]
            for read in reads
        ]
        values = torch.stack([log[1] - log[0] for log in logs]) if question.is_branched else logs[0]
        return torch.softmax(values, 0).double().numpy()

    with torch.no_grad():
        expected = 0.0
        for link in one.links:
            numbers = list(dict.fromkeys(question for question, _ in link.entries))
            siblings = dict(zip(link.family.siblings, (distribution(n) for n in numbers[1:]), strict=True))
            expected += sure_loss(link.family, family_vector(link.family, distribution(numbers[0]), siblings))
    found = total(forward, one, Objective(binary_weight=0.0, coherence_weight=1.0)) - total(
        forward, one, Objective(binary_weight=0.0)
    )
    assert found == pytest.approx(expected, rel=1e-3)
