"""The training loop, whole and in the open: plan, pack, forward, loss, step, look, keep.

Runs in one process or in many (each takes its share of every step's batches; gradients are summed, so the loss curve is that of one
process up to rounding). Resumes a killed run at its last checkpoint to the same curve.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from forthwith.schema import Record
from forthwith.training.adapters import trainable_parameters
from forthwith.training.augmentation import OptionPool
from forthwith.training.batching import MicroBatch
from forthwith.training.checkpoint import Checkpoints, Progress
from forthwith.training.config import TrainingConfig
from forthwith.training.forward import DeviceTargets
from forthwith.training.objective import batch_loss
from forthwith.training.planning import Planner, task_weights
from forthwith.training.preparation import Prepared
from forthwith.training.processes import Processes
from forthwith.training.randomness import seed_torch, stream
from forthwith.training.row_cache import CachedRows
from forthwith.training.rows import RowRules
from forthwith.training.schedule import learning_rate, make_optimiser
from forthwith.training.scoring import (
    ScoredAnswer,
    macro,
    record_stream,
    score_batches,
    task_figures,
    validation_batches,
)
from forthwith.training.streaming import PlacedBatch, RowStream

__all__ = ["Trainer", "TrainingData"]

Event = dict[str, Any]


@dataclass(frozen=True)
class TrainingData:
    """Records by their part in a run.

    Attributes:
        train: what is learned.
        validation: what selects checkpoints; may be empty.
        general: mixed in so that other abilities stay.
        guard: what must not get worse; may be empty.
    """

    train: Sequence[Record]
    validation: Sequence[Record] = ()
    general: Sequence[Record] = ()
    guard: Sequence[Record] = ()


@dataclass
class _Window:
    """Sums since the last log line, kept on the device until they are read."""

    loss: Any = 0.0
    score: Any = 0.0
    right: Any = 0
    judged: Any = 0
    mass: Any = 0.0
    mass_questions: int = 0
    weight: float = 0.0
    tokens: int = 0
    steps: int = 0
    started: float = field(default_factory=time.perf_counter)


class Trainer:
    """One run.

    Args:
        config: what to do.
        prepared: the model and how rows are run.
        data: records.
        checkpoints: where state is kept; None keeps none.
        report: told every event (a flat dictionary with `event`) as it happens.
        cached: rows of the training records, built before; used where nothing alters them.
        max_seconds: training time after which the schedule has ended; None goes by epochs alone.
        log_every: steps between log lines.
    """

    def __init__(
        self,
        config: TrainingConfig,
        prepared: Prepared,
        data: TrainingData,
        *,
        checkpoints: Checkpoints | None = None,
        report: Callable[[Event], None] = lambda _event: None,
        cached: CachedRows | None = None,
        max_seconds: float | None = None,
        log_every: int = 10,
    ) -> None:
        self.config, self.prepared, self.data = config, prepared, data
        self.checkpoints, self.report = checkpoints, report
        self.max_seconds, self.log_every = max_seconds, log_every
        self.processes = Processes()
        self.parameters = trainable_parameters(prepared.forward)
        self.optimiser = make_optimiser(self.parameters, config.optimisation)
        self.stream = training_stream(config, prepared, data, cached)
        self.progress = Progress()

    def run(self) -> Progress:
        """Train to the end, from the last checkpoint if there is one."""
        if self.checkpoints is not None:
            self.progress = self.checkpoints.restore(self.prepared.forward, self.optimiser) or self.progress
        progress = self.progress
        if progress.step == 0 and progress.guard_start is None and self.data.guard:
            progress.guard_start = self._macro_accuracy(self.data.guard)
            self.report({"event": "guard", "step": 0, "accuracy": progress.guard_start})
        self.prepared.forward.train()
        window = _Window()
        started = time.perf_counter() - progress.seconds
        next_look = self._next_look(progress.epochs_done)
        for batches in self.steps():
            if self.done >= 1.0:
                break
            rate = learning_rate(self.config.optimisation, progress.step, self.done)
            norm = self._step(batches, rate, window)
            progress.step += 1
            progress.position = batches[-1].after
            progress.epochs_done = batches[-1].epochs_done
            progress.questions += sum(len(placed.batch.targets.kind) for placed in batches)
            progress.seconds = time.perf_counter() - started
            if progress.step % self.log_every == 0 or progress.step == 1:
                self._log(window, rate, norm)
                window = _Window()
            if self._looks_now(next_look):
                next_look = self._next_look(progress.epochs_done)
                before = time.perf_counter()
                if not self._look():
                    break
                started += time.perf_counter() - before
                window.started = time.perf_counter()
        if progress.last_validated != progress.step:
            self._look()
        return progress

    @property
    def done(self) -> float:
        """Share of the run that is behind: by data or, where it is limited, by time."""
        share = self.progress.epochs_done / self.config.optimisation.epochs
        if self.max_seconds is not None:
            share = max(share, self.progress.seconds / self.max_seconds)
        return share

    def answers(self, records: Sequence[Record]) -> Iterator[ScoredAnswer]:
        """The model's answers to records, as inference would give them, in an unspecified order."""
        source = record_stream(records, self.stream)
        planner = self.stream.planner
        rules = RowRules(soft_targets=True, label_smoothing=0.0, max_tokens=planner.rules.max_tokens)
        plain = Planner(planner.readout, planner.encoder, rules)
        source = RowStream(
            source.records, plain, source.shape, source.seed, source.chunk_records,
            workers=source.workers, overlong=source.overlong,
        )  # fmt: skip
        return score_batches(self.prepared.forward, validation_batches(source), self.prepared.autocast)

    def train_step(self, batches: Sequence[PlacedBatch]) -> None:
        """One optimiser step and nothing else, for measurements of speed."""
        self._step(batches, self.config.optimisation.learning_rate, _Window())
        self.progress.step += 1

    def steps(self) -> Iterator[list[PlacedBatch]]:
        """Batches of one optimiser step after another: as many as hold `step_questions` questions."""
        group: list[PlacedBatch] = []
        questions = 0
        for placed in self.stream.batches(self.progress.position):
            group.append(placed)
            questions += len(placed.batch.targets.kind)
            ends_epoch = placed.after.chunk == 0 and placed.after.batch == 0
            if questions >= self.config.batching.step_questions or ends_epoch:
                yield group
                group, questions = [], 0

    def _step(self, batches: Sequence[PlacedBatch], rate: float, window: _Window) -> Any:
        total = sum(placed.batch.weight for placed in batches)
        seed_torch(self.config.seed, "dropout", self.progress.step, self.processes.rank)
        if self.config.runtime.shard:
            for placed, factor in self.processes.equal_share(batches):
                self._accumulate(placed.batch, total, window, factor=factor)
        else:
            for placed in self.processes.share(batches):
                self._accumulate(placed.batch, total, window, factor=1.0)
            self.processes.sum_gradients(self.parameters)
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.optimisation.gradient_clip)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()  # pyright: ignore[reportUnknownMemberType]
        self.optimiser.zero_grad(set_to_none=True)
        window.weight += total
        window.steps += 1
        tokens = sum(placed.batch.tokens for placed in batches)
        window.tokens += tokens
        self.progress.tokens += tokens
        return norm

    def _accumulate(self, batch: MicroBatch, total: float, window: _Window, *, factor: float) -> None:
        forward = self.prepared.forward
        measures_mass = (self.progress.step + 1) % self.log_every == 0
        targets = DeviceTargets.of(batch, forward.device)
        with self.prepared.autocast():
            read = forward(
                batch,
                targets.tokens,
                over_vocabulary=self.config.objective.full_vocabulary,
                measures_mass=measures_mass,
            )
            loss = batch_loss(read, targets, self.config.objective, batch.links)
        (loss.total * (factor / total)).backward()  # pyright: ignore[reportUnknownMemberType]
        if factor == 0.0:
            return
        if loss.allowed_mass is not None:
            window.mass += loss.allowed_mass
            window.mass_questions += len(batch.targets.kind)
        window.loss += loss.total.detach()
        window.score += loss.score_sum
        window.right += loss.right
        window.judged += loss.judged

    def _log(self, window: _Window, rate: float, norm: Any) -> None:
        sums = (window.loss, window.score, window.right, window.judged, window.mass, window.mass_questions)
        loss, score, right, judged, mass, mass_questions = self.processes.sum_numbers([float(value) for value in sums])
        seconds = time.perf_counter() - window.started
        progress = self.progress
        self.report({
            "event": "step",
            "step": progress.step,
            "epoch": round(progress.epochs_done, 4),
            "done": round(min(1.0, self.done), 5),
            "loss": loss / window.weight,
            "score": score / window.weight,
            "accuracy": right / max(1.0, judged),
            "allowed_mass": mass / mass_questions if mass_questions else None,
            "learning_rate": rate,
            "gradient_norm": float(norm),
            "tokens_per_s": window.tokens / seconds,
            "seconds": progress.seconds,
        })  # fmt: skip

    def _next_look(self, epochs_done: float) -> float:
        """Where, in epochs, the next validation is due."""
        return min(float(int(epochs_done + 1e-9) + 1), self.config.optimisation.epochs)

    def _looks_now(self, due: float) -> bool:
        every = self.config.selection.every_steps
        if every is not None:
            return self.progress.step % every == 0
        return self.progress.epochs_done >= due - 1e-9

    def _look(self) -> bool:
        """Validate, keep what is best, save; gives whether to go on."""
        progress, selection = self.progress, self.config.selection
        progress.last_validated = progress.step
        if self.data.validation:
            figures = task_figures(list(self.answers(self.data.validation)))
            accuracy, nll = macro(figures, "accuracy"), macro(figures, "nll")
            value = accuracy if selection.metric == "accuracy" else -nll
            keeps_guard = self._keeps_guard()
            event: Event = {
                "event": "validation", "step": progress.step, "accuracy": accuracy, "nll": nll,
                "ece": macro(figures, "ece"), "keeps_guard": keeps_guard,
            }  # fmt: skip
            progress.validations.append(event)
            self.report(event)
            is_better = keeps_guard and (progress.best is None or value > progress.best)
            progress.stale = 0 if is_better else progress.stale + 1
            if is_better:
                progress.best, progress.best_step = value, progress.step
                self._save_best()
        else:
            progress.best_step = progress.step
            self._save_best()
        if self.checkpoints is not None:
            self.checkpoints.save(self.prepared.forward, self.optimiser, progress, is_writing=self.processes.is_first)
        self.processes.wait()
        self.prepared.forward.train()
        return selection.patience is None or progress.stale < selection.patience

    def _save_best(self) -> None:
        if self.checkpoints is not None:
            self.checkpoints.save_best(self.prepared.forward, self.progress, is_writing=self.processes.is_first)

    def _keeps_guard(self) -> bool:
        if not self.data.guard or self.progress.guard_start is None:
            return True
        accuracy = self._macro_accuracy(self.data.guard)
        self.report({"event": "guard", "step": self.progress.step, "accuracy": accuracy})
        return accuracy >= self.progress.guard_start - self.config.selection.guard_drop

    def _macro_accuracy(self, records: Sequence[Record]) -> float:
        return macro(task_figures(list(self.answers(records))), "accuracy")


def training_stream(
    config: TrainingConfig, prepared: Prepared, data: TrainingData, cached: CachedRows | None = None
) -> RowStream:
    """The stream of a run's batches."""
    rules = RowRules(config.objective.soft_targets, config.objective.label_smoothing, prepared.max_tokens)
    augments = not config.augmentation.is_off
    pool = (
        OptionPool.of(data.train, stream(config.seed, "option pool"))
        if config.augmentation.distractors
        else OptionPool()
    )
    planner = Planner(
        prepared.readout,
        prepared.encoder,
        rules,
        task_weights([*data.train, *data.general], config.data),
        config.augmentation if augments else None,
        pool,
        config.seed,
        asks_siblings=config.objective.coherence_siblings,
        supervises_siblings=config.objective.supervise_siblings,
    )
    return RowStream(
        data.train,
        planner,
        prepared.shape,
        config.seed,
        config.batching.chunk_records,
        data.general,
        config.data.general_share,
        config.batching.workers,
        config.batching.overlong,
        cached if planner.is_plain else None,
    )
