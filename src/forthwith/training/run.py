"""A training run from files to a folder: everything is checked before the model computes, logged while it does, and kept after.

OUT holds `run.json` (what was run, on what, with what result), `trained_states.bin` (hashes of the states), `metrics.jsonl` (a line an
event), `last/` (state to resume from) and `best/` (the adapter that validation chose).
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from forthwith.default_model import default_cache_dir
from forthwith.default_model.source import file_sha256
from forthwith.engine.loading import LoadedModel
from forthwith.errors import ArtifactError, DataError
from forthwith.readout import Readout, readout_by_name
from forthwith.schema.trained_states import TRAINED_STATES_NAME, TrainedStates
from forthwith.training.adapters import trainable_parameters
from forthwith.training.checkpoint import Checkpoints, Progress
from forthwith.training.config import TrainingConfig
from forthwith.training.data_files import RecordFiles, check_disjoint, read_files
from forthwith.training.event_log import EventLog
from forthwith.training.planning import Planner
from forthwith.training.preparation import load_base, prepare
from forthwith.training.processes import Processes, join_processes
from forthwith.training.row_cache import CachedRows, build_rows, rows_key
from forthwith.training.rows import RowRules
from forthwith.training.trainer import Event, Trainer, TrainingData

__all__ = ["DataFiles", "RunResult", "check_room", "train"]

RUN_FILE = "run.json"
_ROOM_BYTES = 64 << 20


@dataclass(frozen=True)
class DataFiles:
    """Files of a run by their part in it."""

    train: tuple[Path, ...]
    validation: tuple[Path, ...] = ()
    general: tuple[Path, ...] = ()
    guard: tuple[Path, ...] = ()


@dataclass(frozen=True)
class RunResult:
    """A finished run: its folder, its progress record, and what `run.json` says."""

    folder: Path
    progress: Progress
    summary: dict[str, Any]


def train(
    config: TrainingConfig,
    files: DataFiles,
    out: str | Path,
    *,
    resume: bool = False,
    device: str | None = None,
    max_seconds: float | None = None,
    rows_cache: Path | None = None,
    log_every: int = 10,
    report: Callable[[Event], None] = lambda _event: None,
) -> RunResult:
    """Train an adapter.

    Args:
        config: what to do.
        files: record files.
        out: the run's folder; new, or with `resume` that of a run cut off.
        resume: go on with a run in `out`.
        device: cpu, cuda, …; None takes CUDA where there is one.
        max_seconds: end the schedule after this much training; None goes by epochs.
        rows_cache: where built rows are kept; None for the platform's cache.
        log_every: steps between log lines.
        report: told every event.

    Raises:
        DataError: a record is wrong, too long, or stands in training and validation data.
        ConfigError: a setting does not fit the base.
        ArtifactError: the folder holds something else, or the disk is full.
    """
    out = Path(out)
    device = join_processes(device)
    processes = Processes()
    data = {part: read_files(paths) for part, paths in asdict(files).items()}
    _check_data(data)
    if processes.is_first:
        _check_folder(out, resume=resume)
    processes.wait()
    loaded = load_base(config, device=device)
    readout = readout_by_name(config.readout)
    cached = _built_rows(config, data, loaded, readout, rows_cache, report)
    prepared = prepare(config, loaded=loaded)
    parts = TrainingData(**{part: found.records for part, found in data.items()})
    belongs_to = _belongs_to(config, data, loaded, readout)
    fingerprint = hashlib.sha256("".join(belongs_to.values()).encode()).hexdigest()
    checkpoints = Checkpoints(out, belongs_to, config.base.model)
    bytes_needed = sum(parameter.numel() for parameter in trainable_parameters(prepared.forward)) * 4 * 5
    check_room(out, bytes_needed)
    with EventLog(out, is_writing=processes.is_first) as log:

        def tell(event: Event) -> None:
            log.write(event)
            report(event)

        tell({"event": "start", "config": config.name, **prepared.notes, "rows": cached.manifest.rows})
        trainer = Trainer(
            config,
            prepared,
            parts,
            checkpoints=checkpoints,
            report=tell,
            cached=cached,
            max_seconds=max_seconds,
            log_every=log_every,
        )
        progress = trainer.run()
        summary = _summary(config, data, loaded, readout, cached, trainer, fingerprint, checkpoints)
        if processes.is_first:
            (out / TRAINED_STATES_NAME).write_bytes(TrainedStates.of([*parts.train, *parts.general]).to_bytes())
            (out / RUN_FILE).write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        tell({"event": "end", "step": progress.step, "best": progress.best, "best_step": progress.best_step})
    return RunResult(out, progress, summary)


def _check_data(data: dict[str, RecordFiles]) -> None:
    train_records = data["train"].records
    if not train_records:
        raise DataError("the training files hold no records; name files with at least one record")
    for part in ("validation", "guard"):
        check_disjoint(train_records, data[part].records, part)
        if data[part].records and not any(record.targets for record in data[part].records):
            raise DataError(f"no {part} record has a target; figures need them")


def _check_folder(out: Path, *, resume: bool) -> None:
    if out.exists() and not out.is_dir():
        raise ArtifactError(f"{out} is a file; name a folder for the run")
    if out.is_dir() and any(out.iterdir()) and not resume:
        raise ArtifactError(f"{out} is not empty; name a new folder, or resume the run in it")
    out.mkdir(parents=True, exist_ok=True)


def check_room(out: Path, needed: int) -> None:
    """Refuse a folder whose disk cannot hold `needed` bytes of checkpoints.

    Raises:
        ArtifactError: says how much there is and how much is needed.
    """
    free = shutil.disk_usage(out).free
    if free < needed + _ROOM_BYTES:
        raise ArtifactError(
            f"{out} has {free / 1e6:.0f} MB free and the checkpoints of this run need {(needed + _ROOM_BYTES) / 1e6:.0f} MB;"
            " free some space or name another folder"
        )


def _built_rows(
    config: TrainingConfig,
    data: dict[str, RecordFiles],
    loaded: LoadedModel,
    readout: Readout,
    cache: Path | None,
    report: Callable[[Event], None],
) -> CachedRows:
    limit = min(config.batching.max_tokens or loaded.max_tokens, loaded.max_tokens)
    rules = RowRules(config.objective.soft_targets, config.objective.label_smoothing, limit)
    planner = Planner(readout, loaded.encoder, rules)
    found: CachedRows | None = None
    for part in ("validation", "general", "guard", "train"):
        records, place = data[part].records, cache or default_cache_dir() / "rows"
        if records:
            key = rows_key(data[part].digest, planner)
            found = build_rows(records, planner, place, key, overlong=config.batching.overlong)
            report({"event": "rows", "part": part, **{k: v for k, v in asdict(found.manifest).items() if k != "skipped"},
                    "skipped": len(found.manifest.skipped)})  # fmt: skip
    if found is None:
        raise DataError("there are no training records")
    return found


def _belongs_to(
    config: TrainingConfig, data: dict[str, RecordFiles], loaded: LoadedModel, readout: Readout
) -> dict[str, str]:
    """Hashes of everything that the loss curve depends on, by a name that says what it is."""
    return {
        **config.fingerprints, "the base's weights": loaded.weights_sha256, "the tokenizer": loaded.encoder.fingerprint,
        "the prompt template": readout.template_sha256, **{f"the {part} data": found.digest for part, found in data.items()},
    }  # fmt: skip


def _summary(
    config: TrainingConfig,
    data: dict[str, RecordFiles],
    loaded: LoadedModel,
    readout: Readout,
    cached: CachedRows,
    trainer: Trainer,
    fingerprint: str,
    checkpoints: Checkpoints,
) -> dict[str, Any]:
    progress = trainer.progress
    best = checkpoints.best / "adapter_model.safetensors"
    return {
        "format": "forthwith-run/1",
        "config": config.model_dump(mode="json"),
        "fingerprint": fingerprint,
        "base": {
            "model": config.base.model, "revision": config.base.revision, "weights_sha256": loaded.weights_sha256,
            "encoder_sha256": loaded.encoder.fingerprint, "precision": loaded.precision,
        },
        "template_sha256": readout.template_sha256,
        "data": {part: found.sha256 for part, found in data.items()},
        "rows": asdict(cached.manifest),
        "trainable_parameters": sum(parameter.numel() for parameter in trainer.parameters),
        "progress": asdict(progress),
        "adapter_sha256": file_sha256(best) if best.is_file() else None,
        "notes": trainer.prepared.notes,
        "versions": {name: version(name) for name in ("forthwith", "torch", "transformers", "peft")},
    }  # fmt: skip
