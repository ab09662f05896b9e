"""Tiny runs for tests: a random model, a dozen hand-written records."""

import json
from pathlib import Path
from typing import Any

from forthwith.schema import Record, parse_record
from forthwith.testing import tiny_causal_model, tiny_tokenizer
from forthwith.training.checkpoint import Checkpoints
from forthwith.training.config import TrainingConfig, parse_config
from forthwith.training.preparation import Prepared, prepare
from forthwith.training.trainer import Trainer, TrainingData

WORDS = ("apple", "pear", "plum", "fig", "cart", "lorry", "tram", "bus", "oak", "elm", "ash", "fir")
KINDS = ("fruit", "vehicle", "tree")


def records() -> list[Record]:
    return [
        parse_record({
            "id": f"w{number}", "task": "kinds", "state": f"The word is {word}.",
            "questions": {
                "kind": {"type": "choice", "instructions": "What is it?", "criteria": dict.fromkeys(KINDS)},
                "edible": {"type": "noul", "instructions": "Can one eat it?"},
            },
            "targets": {"kind": {"label": KINDS[number // 4]}, "edible": {"label": "yes" if number < 4 else "no"}},
        })
        for number, word in enumerate(WORDS)
    ]  # fmt: skip


def held_back() -> list[Record]:
    """The same questions about states that no run here is trained on."""
    return [
        record.model_copy(update={"id": f"held-{record.id}", "state": f"Somebody wrote {word}."})
        for record, word in zip(records(), WORDS, strict=True)
    ]


def model_folder(place: Path, shape: str = "llama") -> Path:
    folder = place / f"base-{shape}"
    if not folder.exists():
        tiny_causal_model(shape, layers=2 if shape == "llama" else 4).save_pretrained(folder)
        tiny_tokenizer().save_pretrained(folder)
    return folder


def config_of(*, epochs: float = 1, every_steps: int | None = None, **sections: Any) -> TrainingConfig:
    return parse_config({
        "name": "tiny", "lora": {"rank": 8, "alpha": 16, "dropout": 0.1},
        "optimisation": {"epochs": epochs, "warmup_steps": 2, "learning_rate": 0.01},
        "batching": {"row_tokens": 512, "step_questions": 8, "chunk_records": 6},
        "selection": {"every_steps": every_steps},
        **sections,
    })  # fmt: skip


def prepared_tiny(place: Path, config: TrainingConfig | None = None, shape: str = "llama") -> Prepared:
    config = config or config_of()
    base = config.base.model_copy(update={"model": str(model_folder(place, shape))})
    return prepare(config.model_copy(update={"base": base}))


def trainer_of(config: TrainingConfig, prepared: Prepared, folder: Path) -> Trainer:
    checkpoints = Checkpoints(folder, config.fingerprints, "tiny")
    data = TrainingData(records(), records()[:4])
    return Trainer(config, prepared, data, checkpoints=checkpoints, log_every=1)


def write_records(path: Path, chosen: list[Record]) -> Path:
    """A file of records in our own layout."""
    lines = [
        json.dumps({
            "id": record.id, "task": record.meta["task"], "state": record.state,
            "questions": {qid: question.model_dump(exclude_none=True) | (
                {"criteria": dict(question.criteria)} if question.type == "choice" else {}
            ) for qid, question in record.questions.items()},
            "targets": {qid: target.model_dump(exclude_none=True) for qid, target in record.targets.items()},
        })
        for record in chosen
    ]  # fmt: skip
    path.write_text("".join(line + "\n" for line in lines))
    return path
