"""`make train-demo`: fine-tune the default model on short hand-written records, and compare it with itself on held-back ones.

Sized for two CPU cores and under eight minutes, the schedule ending on time on slower ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest  # pyright: ignore[reportUnknownVariableType]

from forthwith.training.config import TrainingConfig, parse_config
from forthwith.training.demo_records import demo_records
from forthwith.training.preparation import prepare
from forthwith.training.scoring import ScoredAnswer
from forthwith.training.trainer import Trainer, TrainingData

__all__ = ["DemoResult", "run_demo"]

_TRAIN, _HELD_BACK = 300, 90
_SECONDS = 320.0


@dataclass(frozen=True)
class DemoResult:
    """Held-back questions before and after.

    Attributes:
        questions: how many.
        before: accuracy of the base.
        after: accuracy of the adapted model.
        gained: wrong before, right after.
        lost: right before, wrong after.
        p_value: of the exact sign test that gains and losses are equally likely.
        seconds: of training.
    """

    questions: int
    before: float
    after: float
    gained: int
    lost: int
    p_value: float
    seconds: float


def demo_config(model: str = "smollm2-135m-instruct") -> TrainingConfig:
    """The demonstration's configuration."""
    return parse_config({
        "name": "demo",
        "base": {"model": model},
        "lora": {"rank": 8, "alpha": 16},
        "optimisation": {"learning_rate": 2e-3, "epochs": 2, "warmup_steps": 3},
        "batching": {"row_tokens": 512, "step_questions": 12, "chunk_records": 300},
    })  # fmt: skip


def run_demo(
    *, model: str = "smollm2-135m-instruct", train: int = _TRAIN, held_back: int = _HELD_BACK, seconds: float = _SECONDS
) -> DemoResult:
    """Train and compare, printing progress.

    Args:
        model: the base.
        train: training records.
        held_back: records of other phrases and things, to measure on.
        seconds: training time at most.
    """
    from rich.console import Console

    console = Console(highlight=False)
    config = demo_config(model)
    test = demo_records(held_back, unseen=True)
    trainer = Trainer(
        config,
        prepare(config),
        TrainingData(demo_records(train)),
        report=lambda event: _show(console, event),
        max_seconds=seconds,
        log_every=5,
    )
    console.print(f"the base answers {held_back} held-back records …")
    before = list(trainer.answers(test))
    console.print(f"training on {train} records …")
    progress = trainer.run()
    result = _compare(before, list(trainer.answers(test)), progress.seconds)
    console.print(
        f"\n{result.questions} questions on phrases and things never trained on: {result.before:.1%} right before,"
        f" {result.after:.1%} after\n{result.gained} gained, {result.lost} lost, p = {result.p_value:.1g} (exact sign test);"
        f" {result.seconds:.0f} s of training, {progress.tokens / max(1e-9, progress.seconds):.0f} tokens/s"
    )
    return result


def _compare(before: Sequence[ScoredAnswer], after: Sequence[ScoredAnswer], seconds: float) -> DemoResult:
    was, now = (np.array([answer.is_right for answer in _ordered(answers)]) for answers in (before, after))
    gained, lost = int(np.sum(now & ~was)), int(np.sum(was & ~now))
    p_value = float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    return DemoResult(len(was), float(was.mean()), float(now.mean()), gained, lost, p_value, seconds)


def _ordered(answers: Sequence[ScoredAnswer]) -> list[ScoredAnswer]:
    return sorted(answers, key=lambda answer: (answer.record_id, answer.family))


def _show(console: Any, event: dict[str, Any]) -> None:
    if event["event"] == "step":
        console.print(
            f"step {event['step']:4d}  {event['done']:4.0%}  loss {event['loss']:.3f}  accuracy {event['accuracy']:.2f}"
            f"  {event['tokens_per_s']:.0f} tokens/s"
        )


if __name__ == "__main__":
    run_demo()
