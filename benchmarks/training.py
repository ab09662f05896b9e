"""Training throughput: packed trees against one prompt a question and option, on the same records, model and device.

    python benchmarks/training.py --model DIR_OR_SHAPE --data FILE… [--steps 20] [--row-tokens N] [--peak-tflops 989]

The plain side is the usual fine-tuning loop: each leaf a padded prompt of its own. Both do the same work, counted in questions; tokens
are those each side runs. A shape (4b, 27b) has random weights: only its speed means anything.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import torch

from forthwith.schema import Record, iter_records
from forthwith.training.adapters import trainable_parameters
from forthwith.training.config import TrainingConfig, parse_config
from forthwith.training.preparation import Prepared, parameter_count, prepare
from forthwith.training.streaming import PlacedBatch
from forthwith.training.trainer import Trainer, TrainingData

SHAPES: dict[str, dict[str, Any]] = {
    "4b": {"hidden_size": 2560, "intermediate_size": 9216, "num_hidden_layers": 32, "num_attention_heads": 16,
           "num_key_value_heads": 4, "head_dim": 256},
    "27b": {"hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers": 64, "num_attention_heads": 24,
            "num_key_value_heads": 4, "head_dim": 256},
}  # fmt: skip
HYBRID = [
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "in_proj_qkv",
    "in_proj_z",
    "out_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="model folder, or 4b or 27b for random weights of that shape")
    parser.add_argument("--tokenizer", help="model folder whose tokenizer a random shape uses")
    parser.add_argument("--data", nargs="+", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--row-tokens", type=int)
    parser.add_argument("--step-questions", type=int, default=32)
    parser.add_argument("--limit", type=int, default=2000)
    parser.add_argument("--peak-tflops", type=float, default=989.0)
    arguments = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    place = shaped(arguments.model, arguments.tokenizer) if arguments.model in SHAPES else arguments.model
    records = [record for path in arguments.data for record in read(path, arguments.limit)]
    config = configured(place, arguments, is_shape=arguments.model in SHAPES)
    prepared = prepare(config)
    print(json.dumps(prepared.notes))
    sides = {"packed": prepared}
    if not prepared.shape.as_paths:
        paths = replace(prepared, shape=replace(prepared.shape, as_paths=True, is_padded=False))
        sides["plain"] = paths
    for name, side in sides.items():
        print(json.dumps({"side": name, **measured(config, side, records, arguments)}), flush=True)


def measured(
    config: TrainingConfig, prepared: Prepared, records: list[Record], arguments: argparse.Namespace
) -> dict[str, Any]:
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    trainer = Trainer(config, prepared, TrainingData(records), report=lambda _event: None, log_every=1_000_000)
    tokens = questions = 0
    started = time.perf_counter()
    for number, batches in enumerate(steps_of(trainer)):
        if number == 3:  # warm: compiled, allocated, cached
            synchronise()
            tokens = questions = 0
            started = time.perf_counter()
        if number == arguments.steps + 3:
            break
        trainer.train_step(batches)
        tokens += sum(placed.batch.tokens for placed in batches)
        questions += sum(len(placed.batch.targets.kind) for placed in batches)
    synchronise()
    seconds = time.perf_counter() - started
    adapter = sum(parameter.numel() for parameter in trainable_parameters(prepared.forward))
    flops = 4 * (parameter_count(prepared.forward) - adapter) + 6 * adapter
    memory = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else 0.0
    return {
        "questions_per_s": round(questions / seconds, 2), "tokens_per_s": round(tokens / seconds), "seconds": round(seconds, 2),
        "share_of_peak": round(tokens / seconds * flops / (arguments.peak_tflops * 1e12), 4), "memory_gib": round(memory, 2),
    }  # fmt: skip


def steps_of(trainer: Trainer) -> Iterator[list[PlacedBatch]]:
    return trainer.steps()


def synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def configured(place: str, arguments: argparse.Namespace, *, is_shape: bool) -> TrainingConfig:
    lora = {"rank": 16, "alpha": 32, "targets": HYBRID} if is_shape else {"rank": 32, "alpha": 64}
    return parse_config({
        "name": "speed", "base": {"model": place}, "lora": lora,
        "batching": {"row_tokens": arguments.row_tokens, "step_questions": arguments.step_questions, "overlong": "skip"},
        "runtime": {"gradient_checkpointing": is_shape},
    })  # fmt: skip


def shaped(name: str, tokenizer: str | None) -> str:
    """A folder with random weights of a shape, in bfloat16, on disk once."""
    import tempfile

    import transformers

    if tokenizer is None:
        raise SystemExit("--tokenizer: name a model folder whose tokenizer the random shape uses")
    chat = transformers.AutoTokenizer.from_pretrained(tokenizer)
    layers = SHAPES[name]["num_hidden_layers"]
    config = transformers.Qwen3_5TextConfig(
        **SHAPES[name], vocab_size=len(chat), tie_word_embeddings=True, max_position_embeddings=8192,
        layer_types=["full_attention" if index % 4 == 3 else "linear_attention" for index in range(layers)],
    )  # fmt: skip
    folder = Path(tempfile.gettempdir()) / f"forthwith-shape-{name}"
    if not folder.exists():
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            model = transformers.Qwen3_5ForCausalLM._from_config(config, dtype=torch.bfloat16)
        model.save_pretrained(folder)
        chat.save_pretrained(folder)
    return str(folder)


def read(path: Path, limit: int) -> list[Record]:
    found: list[Record] = []
    for item in iter_records(path):
        if not isinstance(item, Record):
            raise item.error
        found.append(item)
        if len(found) == limit:
            break
    return found


if __name__ == "__main__":
    main()
