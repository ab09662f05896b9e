"""Train a branch readout on the public tasks and measure it on tests of tasks it saw and of tasks it never saw.

One process, one GPU (or a CPU with --limit). Several recipes and seeds run one after another:

    python benchmarks/h200_train.py --model DIR --data DIR_OR_TAR --out DIR --recipe start variety --seed 1 2 3 --seconds 240

Settings can be changed for all recipes: --set optimisation.epochs=3 lora.rank=64. `--fold K` leaves every fifth task out of training,
from the K-th. Results go to standard output and, a line a run, to OUT/results.jsonl; answers to OUT/RECIPE-SEED.npz.

More data: `--train FILE…` adds records to every recipe (`--recipe none` then trains on them alone), `--eval NAME=FILE…` measures further
sets by family and keeps their answers as NAME/record, NAME/task, … in the .npz. `--init ADAPTER` starts from an adapter (a folder, or the
.safetensors file that `--save-adapter` wrote) of the same rank and targets; `--readout label` trains the label readout instead.
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np
import torch

from forthwith.metrics import ece
from forthwith.schema import Record, iter_records
from forthwith.training.adapters import adapter_state, load_adapter_weights, trainable_parameters
from forthwith.training.config import TrainingConfig, parse_config
from forthwith.training.planning import task_of
from forthwith.training.preparation import parameter_count, prepare
from forthwith.training.scoring import ScoredAnswer, TaskFigures, macro, task_figures
from forthwith.training.trainer import Trainer, TrainingData

WIDER = {
    "option_subset": 0.3, "rename_keys": 0.3, "letter_keys": 0.1, "drop_descriptions": 0.15, "drop_keys": 0.15, "reword": 0.4,
    "drop_instructions": 0.05, "distractors": 0.2, "none_of_these": 0.05,
}  # fmt: skip

OWN_SETS = ("tasks", "variety")

RECIPES: dict[str, dict[str, Any]] = {
    # The measured start: 25 tasks as they are, nothing else.
    "start": {"sources": ["tasks"], "objective.binary_weight": 0.0},
    "binary": {"sources": ["tasks"], "objective.binary_weight": 0.1},
    "longer": {"sources": ["tasks"], "lora.rank": 64, "lora.alpha": 128, "optimisation.epochs": 4, "objective.binary_weight": 0.0},
    "augmented": {"sources": ["tasks"], "augmentation": WIDER, "optimisation.epochs": 3},
    "variety": {"sources": ["tasks", "variety"]},
    "variety-augmented": {"sources": ["tasks", "variety"], "augmentation": WIDER, "optimisation.epochs": 3},
    "variety-balanced": {"sources": ["tasks", "variety"], "augmentation": WIDER, "optimisation.epochs": 3, "data.balance": 0.5},
    "variety-long": {
        "sources": ["tasks", "variety"], "augmentation": WIDER, "optimisation.epochs": 6, "lora.rank": 64, "lora.alpha": 128,
    },
    "variety-smooth": {"sources": ["tasks", "variety"], "augmentation": WIDER, "optimisation.epochs": 3, "objective.label_smoothing": 0.05},
    "variety-decay": {"sources": ["tasks", "variety"], "augmentation": WIDER, "optimisation.epochs": 3, "lora.dropout": 0.1},
    "none": {"sources": []},
}  # fmt: skip


def main() -> None:
    arguments = parse_arguments()
    torch.set_float32_matmul_precision("high")
    folder = unpacked(Path(arguments.data))
    out = Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    tasks = read_split(folder, "train", arguments.limit)
    variety = read_file(folder / "variety" / "train.jsonl.gz", arguments.limit)
    tests = read_split(folder, "test", arguments.limit)
    variety_tests = read_file(folder / "variety" / "test.jsonl.gz", arguments.limit)
    further = [record for path in arguments.train for record in read_file(path, arguments.limit)]
    named = named_sets(arguments.eval, arguments.limit)
    say(f"read {len(tasks)} + {len(variety)} + {len(further)} training records, {len(tests)} + {len(variety_tests)} test records"
        f" and {({name: len(records) for name, records in named.items()})} in {time.perf_counter() - began:.0f} s")  # fmt: skip
    sources = {"tasks": tasks, "variety": variety, "further": further}
    sets = {**({} if arguments.skip_tests else {"tasks": tests, "variety": variety_tests}), **named}
    for recipe in arguments.recipe:
        for seed in arguments.seed:
            run(arguments, recipe, seed, sources, sets, out)


def run(
    arguments: argparse.Namespace,
    recipe: str,
    seed: int,
    sources: dict[str, list[Record]],
    tests: dict[str, list[Record]],
    out: Path,
) -> None:
    config, names = configured(recipe, seed, arguments)
    left_out = left_out_tasks(sources["tasks"], arguments.fold, arguments.leave_out)
    train = [record for name in [*names, "further"] for record in sources[name] if task_of(record) not in left_out]
    prepared = prepare(config)
    if arguments.init is not None:
        load_adapter_weights(prepared.forward.model, arguments.init)
    say(f"== {recipe}, seed {seed}: {len(train)} records, {prepared.notes}")
    log = (out / f"{recipe}-{seed}.log.jsonl").open("w", encoding="utf-8")
    speeds: list[float] = []

    def report(event: dict[str, Any]) -> None:
        log.write(json.dumps(event) + "\n")
        if event["event"] == "step":
            speeds.append(event["tokens_per_s"])
            if event["step"] % arguments.log_every == 0 or event["step"] == 1:
                say(f"  step {event['step']:5d}  done {event['done']:.3f}  loss {event['loss']:.4f}"
                    f"  accuracy {event['accuracy']:.3f}  {event['tokens_per_s']:,.0f} tokens/s  {event['seconds']:.0f} s")  # fmt: skip

    trainer = Trainer(config, prepared, TrainingData(train), report=report, max_seconds=arguments.seconds, log_every=10)
    progress = trainer.run() if train else trainer.progress
    log.close()
    if arguments.save_adapter:  # first of all: what took long must not be lost with what follows
        save_parts(trainer, out, f"{recipe}-{seed}")
    seen = {task_of(record) for record in train}
    began = time.perf_counter()
    answers: dict[str, list[ScoredAnswer]] = {}
    timing: dict[str, float] = {}
    for name, records in tests.items():
        before = time.perf_counter()
        answers[name] = list(trainer.answers(records))
        timing[name] = round(time.perf_counter() - before, 1)
        say(f"  {name}: {len(answers[name])} questions of {len(records)} records in {timing[name]} s")
    result = {
        "recipe": recipe, "readout": config.readout, "seed": seed, "fold": arguments.fold, "left_out": sorted(left_out),
        "overrides": arguments.set, "train": [path.name for path in arguments.train],
        "init": None if arguments.init is None else arguments.init.name,
        "records": len(train), "steps": progress.step, "epochs": round(progress.epochs_done, 3), "tokens": progress.tokens,
        "seconds": round(progress.seconds, 1), **speed(trainer, speeds, arguments.peak_tflops),
        **summary(answers, seen), "evaluation_seconds": round(time.perf_counter() - began, 1), "set_seconds": timing,
        "notes": prepared.notes,
    }  # fmt: skip
    with (out / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")
    say(json.dumps({name: value for name, value in result.items() if name not in ("by_task", "left_out", "sets")}))
    say("  " + "  ".join(f"{name} {value:.3f}" for name, value in result["by_task"].items() if "/" not in name))
    for name, figures in result["sets"].items():
        say(
            f"  {name}: accuracy {figures['accuracy']:.4f}, pooled {figures['pooled_accuracy']:.4f}, ECE {figures['ece_pooled']:.4f}"
        )
        for family, one in figures["by_family"].items():
            say(
                f"    {family:44s} {one['questions']:6d}  accuracy {one['accuracy']:.4f}  nll {one['nll']:.4f}  ece {one['ece']:.4f}"
            )
    save_answers(out / f"{recipe}-{seed}.npz", answers)


def configured(recipe: str, seed: int, arguments: argparse.Namespace) -> tuple[TrainingConfig, list[str]]:
    settings = dict(RECIPES[recipe])
    names = settings.pop("sources")
    payload: dict[str, Any] = {
        "name": recipe, "seed": seed, "base": {"model": arguments.model},
        "batching": {"overlong": "skip", "workers": arguments.workers, "chunk_records": 2048},
        "readout": arguments.readout, "runtime": {},
    }  # fmt: skip
    given = {item.partition("=")[0]: parsed(item.partition("=")[2]) for item in arguments.set}
    for place, value in {**settings, **given}.items():
        section: Any = payload
        *parents, last = place.split(".")
        for parent in parents:
            section = section.setdefault(parent, {})
        section[last] = copy(value)
    if arguments.readout != "branch":  # "none of these" is judged option by option
        payload.setdefault("augmentation", {}).pop("none_of_these", None)
    return parse_config(payload), names


def summary(answers: dict[str, list[ScoredAnswer]], seen: set[str]) -> dict[str, Any]:
    figures = {name: task_figures(group) for name, group in answers.items()}
    tasks, variety = figures.get("tasks", []), figures.get("variety", [])
    groups: dict[str, list[TaskFigures]] = {
        "tasks_seen": [one for one in tasks if one.task in seen],
        "tasks_left_out": [one for one in tasks if one.task not in seen],
        "variety_seen": [one for one in variety if one.task in seen],
        "variety_left_out": [one for one in variety if one.task not in seen],
    }
    result: dict[str, Any] = {}
    everything = [answer for name in OWN_SETS for answer in answers.get(name, [])]
    for name, group in groups.items():
        if group:
            members = {one.task for one in group}
            result[name] = grouped(group, [answer for answer in everything if answer.family in members])
    result["by_task"] = {one.task: round(one.accuracy, 4) for one in [*tasks, *variety]}
    result["sets"] = {
        name: {**grouped(figures[name], group), "by_family": {one.task: family_figures(one) for one in figures[name]}}
        for name, group in answers.items()
        if name not in OWN_SETS and group
    }
    return result


def grouped(group: Sequence[TaskFigures], pooled: Sequence[ScoredAnswer]) -> dict[str, Any]:
    confidence = [answer.probabilities.max() for answer in pooled]
    right = [float(answer.is_right) for answer in pooled]
    return {
        "tasks": len(group), "questions": len(pooled), "accuracy": round(macro(group, "accuracy"), 4),
        "nll": round(macro(group, "nll"), 4), "ece_mean": round(macro(group, "ece"), 4),
        "pooled_accuracy": round(float(np.mean(right)), 4),
        "ece_pooled": round(ece(confidence, right, n_bins=15, closed="right"), 4),
    }  # fmt: skip


def family_figures(one: TaskFigures) -> dict[str, Any]:
    return {
        "questions": one.count, "accuracy": round(one.accuracy, 4), "nll": round(one.nll, 4), "ece": round(one.ece, 4),
    }  # fmt: skip


def speed(trainer: Trainer, speeds: Sequence[float], peak_tflops: float) -> dict[str, Any]:
    if not speeds:
        return {}
    steady = float(np.median(speeds[1:] or speeds))
    weights = parameter_count(trainer.prepared.forward)
    adapter = sum(parameter.numel() for parameter in trainable_parameters(trainer.prepared.forward))
    flops = (
        4 * (weights - adapter) + 6 * adapter
    )  # a token: forward and the gradient of activations; adapters also their own
    memory = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else 0.0
    return {
        "tokens_per_s": round(steady), "tflops": round(steady * flops / 1e12, 2),
        "share_of_peak": round(steady * flops / (peak_tflops * 1e12), 4), "memory_gib": round(memory, 2),
    }  # fmt: skip


def save_answers(path: Path, answers: dict[str, list[ScoredAnswer]]) -> None:
    """The public tasks' answers under plain names, those of every further set under NAME/."""
    own = [answer for name in OWN_SETS for answer in answers.get(name, [])]
    arrays = answer_arrays(own, "") if own else {}
    for name, group in answers.items():
        if name not in OWN_SETS and group:
            arrays |= answer_arrays(group, f"{name}/")
    np.savez_compressed(path, **arrays)  # pyright: ignore[reportArgumentType]


def answer_arrays(answers: Sequence[ScoredAnswer], prefix: str) -> dict[str, np.ndarray]:
    rows = sorted(answers, key=lambda answer: answer.record_id)  # stable: questions of a record keep their order
    return {
        f"{prefix}record": np.array([answer.record_id for answer in rows]),
        f"{prefix}task": np.array([answer.family for answer in rows]),
        f"{prefix}label": np.array([answer.label for answer in rows]),
        f"{prefix}count": np.array([len(answer.log_scores) for answer in rows]),
        f"{prefix}log_scores": np.concatenate([answer.log_scores for answer in rows]).astype(np.float32),
    }


def save_parts(trainer: Trainer, out: Path, name: str, part_bytes: int = 15_000_000) -> None:
    """The adapter in half precision, in parts small enough to be sent; `cat` them to one safetensors file."""
    from safetensors.torch import save

    state = {key: tensor.half() for key, tensor in adapter_state(trainer.prepared.forward.model).items()}
    data = save(state, metadata={"format": "pt"})
    for number, start in enumerate(range(0, len(data), part_bytes)):
        (out / f"{name}.safetensors.{number}").write_bytes(data[start : start + part_bytes])


def left_out_tasks(records: Sequence[Record], fold: int | None, named: Sequence[str]) -> set[str]:
    tasks = sorted({task_of(record) for record in records})
    return set(named) | (set() if fold is None else set(tasks[fold::5]))


def read_split(folder: Path, split: str, limit: int | None) -> list[Record]:
    files = sorted(path for path in folder.glob(f"*/{split}.jsonl*") if path.parent.name not in ("variety", "sources"))
    return [record for path in files for record in read_file(path, limit)]


def named_sets(given: Sequence[str], limit: int | None) -> dict[str, list[Record]]:
    """Evaluation sets from NAME=FILE; a name given twice is one set."""
    sets: dict[str, list[Record]] = {}
    for item in given:
        name, sign, path = item.partition("=")
        if not (name and sign and path) or name in OWN_SETS or "/" in name:
            raise SystemExit(f"--eval takes NAME=FILE with a name of your own, found {item!r}")
        sets.setdefault(name, []).extend(read_file(Path(path), limit))
    return sets


def read_file(path: Path, limit: int | None) -> list[Record]:
    records: list[Record] = []
    for item in iter_records(path):
        if limit is not None and len(records) == limit:
            break
        if not isinstance(item, Record):
            raise item.error
        records.append(item)
    return records


def unpacked(path: Path) -> Path:
    if path.is_dir():
        return path
    place = Path(tempfile.mkdtemp(prefix="forthwith-data-"))
    with tarfile.open(path) as archive:
        archive.extractall(place, filter="data")
    inner = [child for child in place.iterdir() if child.is_dir()]
    return inner[0] if len(inner) == 1 and not (place / "variety").exists() else place


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def say(text: str) -> None:
    print(text, flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="model folder or .gguf file")
    parser.add_argument("--data", required=True, help="folder with one folder a task, or a tar of it")
    parser.add_argument("--out", required=True)
    parser.add_argument("--recipe", nargs="+", default=["start"], choices=sorted(RECIPES))
    parser.add_argument("--seed", nargs="+", type=int, default=[1])
    parser.add_argument("--seconds", type=float, help="training time a run; the schedule ends with it")
    parser.add_argument(
        "--fold", type=int, choices=range(5), help="leave every fifth of the tasks out, from this one on"
    )
    parser.add_argument("--leave-out", nargs="*", default=[], help="tasks left out of training")
    parser.add_argument("--set", nargs="*", default=[], help="settings for all recipes, section.name=value")
    parser.add_argument("--limit", type=int, help="records a file, for a dry run")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--log-every", type=int, default=100)
    parser.add_argument("--peak-tflops", type=float, default=989.0, help="dense bfloat16 peak of the device")
    parser.add_argument("--save-adapter", action="store_true")
    parser.add_argument("--readout", default="branch", choices=("branch", "label", "skeleton"))
    parser.add_argument("--train", nargs="+", type=Path, default=[], help="further training files for every recipe")
    parser.add_argument("--eval", nargs="+", default=[], help="further evaluation sets, NAME=FILE")
    parser.add_argument("--init", type=Path, help="adapter folder or .safetensors file to start from")
    parser.add_argument("--skip-tests", action="store_true", help="measure the --eval sets alone")
    return parser.parse_args()


if __name__ == "__main__":
    main()
