"""How often automated answers break their error budget, in simulated worlds where the true error is known.

    python benchmarks/guarantee.py [--worlds 1000] [--users 120] [--per-user 3] [--spread 1.0]

Each world has users with a competence of their own, who each bring a few questions of seven families; one family is as
hard as picking among near-equal options. Calibration is fitted on one sample of users, temperatures included, and the
true error is that of a second, large sample. Printed per family: the share of worlds in which the error of automated
answers exceeds the budget, and the mean share automated, for thresholds with a guarantee and for the pooled plain rule.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from forthwith.calibration import Binding, FitConfig, ScoredQuestions, fit_calibration
from forthwith.evaluation.selective import SelectiveAnswers, ThresholdConfig, fit_thresholds, selective_answers

FAMILIES = (("apply", 2, 4.6), ("forgotten", 2, 5.0), ("approval", 2, 4.2), ("share", 2, 3.4), ("route", 5, 5.0),
            ("notify", 4, 3.8), ("pick", 4, 0.5))  # fmt: skip
"""Name, options, strength of the evidence for the right one."""
BINDING = Binding(weights_sha256="", adapter_sha256=None, template_sha256="", readout="", precision="")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--users", type=int, default=120)
    parser.add_argument("--per-user", type=int, default=3)
    parser.add_argument("--spread", type=float, default=1.0)
    parser.add_argument("--budget", type=float, default=0.05)
    arguments = parser.parse_args()
    began = time.perf_counter()
    config = ThresholdConfig(error_budget=arguments.budget)
    independent = ThresholdConfig(error_budget=arguments.budget, clusters="independent")
    names = [name for name, _, _ in FAMILIES]
    tallies = {rule: Tally(len(names)) for rule in ("guarantee", "no cluster correction", "pooled plain")}
    for world in range(arguments.worlds):
        rng = np.random.default_rng([20260930, world])
        calibration_sample = sample(rng, arguments.users, arguments)
        fitted = fit_calibration(calibration_sample, BINDING, FitConfig(fits_families=False, folds=2, min_rows=30))
        future = sample(rng, 6000 // arguments.per_user, arguments)
        answers = selective_answers(future, fitted)
        promised = fit_thresholds(calibration_sample, fitted, config)
        naive = fit_thresholds(calibration_sample, fitted, independent)
        plain = promised.details["pooled_plain_threshold"]
        for place, name in enumerate(names):
            mine = answers.take(future.family == place)
            tallies["guarantee"].add(place, mine, promised.by_family[name], arguments.budget)
            tallies["no cluster correction"].add(place, mine, naive.by_family[name], arguments.budget)
            tallies["pooled plain"].add(place, mine, plain, arguments.budget)
    seconds = time.perf_counter() - began
    print(f"{arguments.worlds} worlds of {arguments.users} users, {arguments.per_user} questions each per family, "
          f"budget {arguments.budget:.0%}, confidence {config.confidence_level:.0%}, {seconds:.0f} s")  # fmt: skip
    print(f"{'family':<12}" + "".join(f"{rule:>34}" for rule in tallies))
    print(f"{'':<12}" + f"{'breaks':>12}{'automated':>11}{'error':>11}" * len(tallies))
    for place, name in enumerate(names):
        cells = "".join(tally.row(place, arguments.worlds) for tally in tallies.values())
        print(f"{name:<12}{cells}")


class Tally:
    """Breaches, coverage and error of one rule, by family."""

    def __init__(self, n_families: int) -> None:
        self.breaches, self.coverage = np.zeros(n_families), np.zeros(n_families)
        self.errors, self.automated = np.zeros(n_families), np.zeros(n_families)

    def add(self, place: int, answers: SelectiveAnswers, threshold: float | None, budget: float) -> None:
        """Count one world."""
        if threshold is None:
            return
        kept = answers.confidence >= threshold
        self.coverage[place] += kept.mean()
        if kept.any():
            self.breaches[place] += answers.is_wrong[kept].mean() > budget
            self.errors[place] += answers.is_wrong[kept].sum()
            self.automated[place] += kept.sum()

    def row(self, place: int, worlds: int) -> str:
        """Share of worlds that break the budget, mean share automated, error of all automated answers."""
        error = self.errors[place] / self.automated[place] if self.automated[place] else 0.0
        return f"{self.breaches[place] / worlds:>12.1%}{self.coverage[place] / worlds:>11.1%}{error:>11.1%}"


def sample(rng: np.random.Generator, n_users: int, arguments: argparse.Namespace) -> ScoredQuestions:
    """Questions of so many new users; a user's competence shifts the evidence in all of their questions."""
    user = np.repeat(np.arange(n_users), arguments.per_user)
    shift = rng.normal(0, arguments.spread, n_users)[user]
    scores, targets, sizes, labels = [], [], [], []
    for _, options, strength in FAMILIES:
        z = rng.normal(0, 1.5, (user.size, options))
        label = rng.integers(0, options, user.size)
        z[np.arange(user.size), label] += strength + shift * (0.5 if strength < 1 else 1.0)
        scores.append((1.6 * z).ravel())  # over-confident, so that a temperature is due
        targets.append(np.eye(options)[label].ravel())
        sizes.append(np.full(user.size, options))
        labels.append(label)
    n = user.size
    return ScoredQuestions(
        log_scores=np.concatenate(scores),
        target=np.concatenate(targets),
        starts=np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64),
        types=np.repeat([0 if options == 2 else 1 for _, options, _ in FAMILIES], n),
        family=np.repeat(np.arange(len(FAMILIES)), n),
        cluster=np.tile(user, len(FAMILIES)),
        label=np.concatenate(labels),
        is_ambiguous=np.zeros(n * len(FAMILIES), dtype=np.bool_),
        families=tuple(name for name, _, _ in FAMILIES),
    )


if __name__ == "__main__":
    main()
