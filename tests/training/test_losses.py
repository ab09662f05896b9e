"""Objectives against hand-worked numbers and finite differences."""

import numpy as np
import pytest
import torch

from forthwith.coherence import build_family, sure_loss
from forthwith.schema import Choice, Noul, Score
from forthwith.training.losses import (
    PlacedFamily,
    binary_term,
    coherence_penalty,
    listwise_cross_entropy,
    ranked_probability,
)


def table(*rows: list[float]) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(len(row) for row in rows)
    values = torch.tensor([row + [0.0] * (width - len(row)) for row in rows], dtype=torch.float64)
    used = torch.tensor([[column < len(row) for column in range(width)] for row in rows])
    return values, used


def test_ranked_probability_of_the_worked_example() -> None:
    logits, used = table(np.log([0.1, 0.2, 0.4, 0.2, 0.1]).tolist())
    target = torch.tensor([[0.0, 0, 0, 1, 0]], dtype=torch.float64)
    assert ranked_probability(logits, used, target).item() == pytest.approx(0.150)


def test_ranked_probability_counts_each_questions_own_levels() -> None:
    logits, used = table([0.0, 0.0], np.log([0.1, 0.2, 0.4, 0.2, 0.1]).tolist())
    target = torch.zeros(2, 5, dtype=torch.float64)
    target[0, 1], target[1, 3] = 1, 1
    assert ranked_probability(logits, used, target).tolist() == pytest.approx([0.25, 0.150])


def test_listwise_cross_entropy_ignores_places_without_an_option() -> None:
    logits, used = table([0.0, np.log(3)], [1.0, 1.0, 1.0])
    target = torch.tensor([[0.0, 1, 0], [0.5, 0.5, 0]], dtype=torch.float64)
    assert listwise_cross_entropy(logits, used, target).tolist() == pytest.approx([-np.log(0.75), np.log(3)])


def test_binary_term_averages_over_a_questions_options() -> None:
    logits, used = table([0.0, 0.0], [0.0, 0.0, 0.0])
    target = torch.tensor([[0.0, 1, 0], [0, 0, 0]], dtype=torch.float64)
    assert binary_term(logits, used, target).tolist() == pytest.approx([np.log(2), np.log(2)])


@pytest.mark.parametrize("loss", [listwise_cross_entropy, binary_term, ranked_probability])
def test_gradients_agree_with_finite_differences(loss) -> None:
    logits, used = table([0.3, -1.2, 0.7, 2.0], [1.1, -0.4])
    target = torch.tensor([[0.1, 0.2, 0.3, 0.4], [1.0, 0, 0, 0]], dtype=torch.float64)
    logits.requires_grad_(True)
    assert torch.autograd.gradcheck(lambda values: loss(values, used, target), (logits,))


CHOICE = build_family(Choice(criteria={"a": None, "b": None, "c": None}), seed="s")
NOUL = build_family(Noul(instructions="so?"), seed="s")
SCORE = build_family(Score(criteria=["low", "mid", "high"]), seed="s")


def placed(family, start: int) -> PlacedFamily:
    if family.type == "noul":
        return PlacedFamily(family, (start, start + 1, start + 2, start + 2), (1, 1, 0, 1), 1.0)
    siblings = len(family.siblings)
    rows = (start,) * family.options + tuple(range(start + 1, start + 1 + siblings))
    return PlacedFamily(family, rows, (*range(family.options), *([1] * siblings)), 1.0)


def test_sure_loss_of_the_worked_choice() -> None:
    probabilities = torch.tensor([[0.6, 0.3, 0.1], [0.1, 0.9, 0], [0.5, 0.5, 0], [0.8, 0.2, 0]], dtype=torch.float64)
    assert coherence_penalty(probabilities, [placed(CHOICE, 0)]).item() == pytest.approx(0.130)


def test_sure_loss_gradient_agrees_with_finite_differences_of_the_whole_projection() -> None:
    draw = torch.Generator().manual_seed(4)
    logits = torch.randn(4 + 3 + 3, 3, generator=draw, dtype=torch.float64)
    families = [placed(CHOICE, 0), placed(NOUL, 4), placed(SCORE, 7)]
    two = [1, 2, 3, 4, 5, 6, 8, 9]

    def probabilities(values: torch.Tensor) -> torch.Tensor:
        masked = values.clone()
        masked[two, 2] = -torch.inf
        return torch.softmax(masked, dim=1)

    def exact(values: torch.Tensor) -> float:
        p = probabilities(values).numpy()
        return sum(sure_loss(f.family, p[list(f.rows), list(f.columns)]) for f in families)

    leaf = logits.clone().requires_grad_(True)
    coherence_penalty(probabilities(leaf), families).sum().backward()
    step = 1e-6
    for row in range(10):
        for column in range(2):
            shift = torch.zeros_like(logits)
            shift[row, column] = step
            slope = (exact(logits + shift) - exact(logits - shift)) / (2 * step)
            assert leaf.grad[row, column].item() == pytest.approx(slope, abs=1e-6)
