"""The card of a bundle: what it is, what it was trained on, and its figures, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from forthwith.calibration import Calibration, ScoredQuestion, ScoredQuestions
from forthwith.metrics import ece

__all__ = ["write_card"]


def write_card(
    name: str, summary: dict[str, Any], answers: Sequence[ScoredQuestion], calibration: Calibration | None
) -> str:
    """The card's text.

    Args:
        name: of the bundle.
        summary: the run's `run.json`.
        answers: validation answers; the calibration was fitted on them.
        calibration: the calibration.
    """
    config, progress, rows = summary["config"], summary["progress"], summary["rows"]
    lines = [
        f"# {name}", "",
        f"A LoRA adapter (rank {config['lora']['rank']}) on {summary['base']['model']} with the {config['readout']} readout.", "",
        "| | |", "| --- | --- |",
        f"| base weights | `{summary['base']['weights_sha256'][:16]}…` |",
        f"| trained on | {rows['rows']} records, {rows['questions']} questions, {progress['epochs_done']:.2f} epochs,"
        f" {progress['tokens']} tokens |",
        f"| left out | {len(rows['skipped'])} records |",
        f"| seed | {config['seed']} |",
        f"| steps | {progress['step']}, best at {progress['best_step']} |", "",
    ]  # fmt: skip
    if answers:
        lines += ["## Validation", "", "Accuracy and calibration error (15 bins) by family, on the records the calibration was"
                  " fitted on; measure on others before you rely on them.", "",
                  "| family | questions | accuracy | error before | error after |", "| --- | --- | --- | --- | --- |"]  # fmt: skip
        lines += _figures(answers, calibration)
    return "\n".join(lines) + "\n"


def _figures(answers: Sequence[ScoredQuestion], calibration: Calibration | None) -> list[str]:
    questions = ScoredQuestions.from_rows(answers)
    before, after = questions.probabilities(), questions.probabilities(calibration)
    lines: list[str] = []
    for family in questions.families:
        rows = [index for index, answer in enumerate(answers) if answer.family == family and not answer.is_ambiguous]
        if not rows:
            continue
        errors: list[float] = []
        right: list[float] = []
        for probabilities in (before, after):
            each = [probabilities[questions.starts[row] : questions.starts[row + 1]] for row in rows]
            right = [float(np.argmax(p) == answers[row].label) for p, row in zip(each, rows, strict=True)]
            errors.append(ece([float(p.max()) for p in each], right, n_bins=15, closed="right"))
        lines.append(f"| {family} | {len(rows)} | {np.mean(right):.3f} | {errors[0]:.3f} | {errors[1]:.3f} |")
    return lines
