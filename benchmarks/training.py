"""Training speed in one run: packed rows with compiled and plain layers, a one-question-a-row loop, and two large random shapes.

    python benchmarks/training.py --model DIR --data FILE… --out speed.jsonl [--seconds 60] [--row-tokens 49152] [--workers 8]

Every entry runs in a process of its own, so that one which fails (out of memory, no compiler) is reported and the others still run.

- `compiled`, `uncompiled`: our loop, a state encoded once for all of its questions and options.
- `one-question`: the usual fine-tuning loop on the same questions: Transformers and PEFT, a padded prompt a question that ends in a
  label, the model's own loss; it repeats the state, so compare questions/s, not only tokens/s.
- `trl`: the same prompts through TRL's SFTTrainer, where TRL is installed.
- `4b`, `27b`: our loop on random weights in the shapes of Qwen3.5 (recurrent layers, a prompt a leaf): only their speed means anything.

Tokens are real ones, padding never counted. Share of peak counts 4 operations a frozen weight and token and 6 an adapter's, without
attention and without recomputation. `--tiny` runs every entry on tiny random models, to try the script out on a CPU.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np
import torch

from forthwith.encoding import Encoder
from forthwith.engine.loading import LoadedModel
from forthwith.readout import readout_by_name
from forthwith.schema import Record, iter_records
from forthwith.training.adapters import attach_adapter, trainable_parameters
from forthwith.training.config import TrainingConfig, parse_config
from forthwith.training.forward import TreeForward
from forthwith.training.preparation import load_base, parameter_count, prepare
from forthwith.training.rows import RowRules, TrainingRow, training_row
from forthwith.training.schedule import make_optimiser
from forthwith.training.trainer import Trainer, TrainingData

ENTRIES = ("compiled", "uncompiled", "one-question", "trl", "4b", "27b")
SHAPES: dict[str, dict[str, Any]] = {
    "4b": {"hidden_size": 2560, "intermediate_size": 9216, "num_hidden_layers": 32, "num_attention_heads": 16,
           "num_key_value_heads": 4, "head_dim": 256, "linear_num_value_heads": 32},
    "27b": {"hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers": 64, "num_attention_heads": 24,
            "num_key_value_heads": 4, "head_dim": 256, "linear_num_value_heads": 48},
}  # fmt: skip
TINY: dict[str, Any] = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4,
                        "num_key_value_heads": 2, "head_dim": 16, "linear_num_value_heads": 4, "linear_num_key_heads": 2,
                        "linear_key_head_dim": 16, "linear_value_head_dim": 16}  # fmt: skip
HYBRID = ["q_proj", "k_proj", "v_proj", "o_proj", "in_proj_qkv", "in_proj_z", "out_proj", "gate_proj", "up_proj", "down_proj"]  # fmt: skip
WARM_STEPS = 3


def main() -> None:
    arguments = parse_arguments()
    torch.set_float32_matmul_precision("high")
    if arguments.entry is not None:
        append(arguments, run_entry(arguments.entry, arguments))
        return
    for entry in arguments.entries:
        if entry == "trl" and importlib.util.find_spec("trl") is None:
            append(arguments, {"entry": entry, "error": "TRL is not installed here"})
            continue
        limit = arguments.seconds + arguments.grace
        try:
            done = subprocess.run(
                [sys.executable, __file__, *sys.argv[1:], "--entry", entry], timeout=limit, check=False
            )
            failure = f"the process ended with {done.returncode}" if done.returncode else None
        except subprocess.TimeoutExpired:
            failure = f"not done after {limit:.0f} s"
        if failure is not None:
            append(arguments, {"entry": entry, "error": failure})


def run_entry(entry: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of an entry, or why it failed."""
    try:
        records = [record for path in arguments.data for record in read(path, arguments.limit)]
        measure = one_question if entry in ("one-question", "trl") else packed
        figures = measure(entry, records, arguments)
    except Exception as error:
        figures = {"error": f"{type(error).__name__}: {error}"[:1000]}
    versions = {name: version(name) for name in ("torch", "transformers", "peft")}
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return {"entry": entry, **figures, "device": device, "versions": versions}


def packed(entry: str, records: list[Record], arguments: argparse.Namespace) -> dict[str, Any]:
    """Our loop."""
    config = configured(entry, arguments)
    began = time.perf_counter()
    loaded = random_base(entry, arguments) if entry in SHAPES else base(config, arguments)
    prepared = prepare(config, loaded=loaded)
    prepare_seconds = time.perf_counter() - began
    trainer = Trainer(config, prepared, TrainingData(records), log_every=1_000_000)
    prepared.forward.train()
    meter = Meter(prepared.forward, arguments)
    steps = trainer.steps()
    while meter.goes_on():
        with meter.waiting():
            batches = next(steps)
        trainer.train_step(batches)
        meter.count(
            sum(placed.batch.tokens for placed in batches),
            sum(placed.batch.ids.size for placed in batches),
            sum(len(placed.batch.targets.kind) for placed in batches),
        )
    figures = meter.figures()
    if arguments.profile:
        profile(trainer, steps)
    return {**figures, "prepare_seconds": round(prepare_seconds, 1), "notes": prepared.notes}


def one_question(entry: str, records: list[Record], arguments: argparse.Namespace) -> dict[str, Any]:
    """The plain loop: a prompt a question, padded, the loss over the whole vocabulary at the label."""
    config = configured(entry, arguments)
    loaded = base(config, arguments)
    prompts = label_prompts(records, loaded.encoder, loaded.max_tokens)
    model = attach_adapter(loaded.model, config.lora, config.seed).train()
    if entry == "trl":
        return with_trl(model, loaded, prompts, arguments)
    meter = Meter(TreeForward(model, "dense"), arguments)
    optimiser = make_optimiser(trainable_parameters(model), config.optimisation)
    autocast = torch.autocast(loaded.device, torch.bfloat16, enabled=loaded.precision == "bfloat16")
    draw = np.random.default_rng(1)
    while meter.goes_on():
        chosen = [prompts[index] for index in draw.integers(len(prompts), size=arguments.plain_batch)]
        batch = {name: value.to(loaded.device) for name, value in padded(chosen).items()}
        with autocast:
            loss = model(**batch, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trainable_parameters(model), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        meter.count(sum(map(len, chosen)), batch["input_ids"].numel(), len(chosen))
    return {
        **meter.figures(),
        "notes": {"batch": arguments.plain_batch, "attention": model.config._attn_implementation},
    }


def with_trl(
    model: Any, loaded: LoadedModel, prompts: list[list[int]], arguments: argparse.Namespace
) -> dict[str, Any]:
    """The same prompts through TRL's trainer; its own clock, from its second logging step on."""
    import datasets  # pyright: ignore[reportMissingImports]
    import trl  # pyright: ignore[reportMissingImports]
    from transformers import TrainerCallback

    meter = Meter(TreeForward(model, "dense"), arguments)

    made: list[tuple[int, int, int]] = []  # tokens, slots and prompts of each batch put together and not yet run

    class Counts(TrainerCallback):
        def on_step_end(self, _args: Any, _state: Any, control: Any, **_rest: Any) -> Any:
            meter.count(*made.pop(0))
            control.should_training_stop = not meter.goes_on()
            return control

    rows = [{"input_ids": ids, "completion_mask": [0] * (len(ids) - 1) + [1]} for ids in prompts]
    with tempfile.TemporaryDirectory() as place:
        settings = trl.SFTConfig(
            place, per_device_train_batch_size=arguments.plain_batch, max_steps=1_000_000, bf16=loaded.precision == "bfloat16",
            use_cpu=loaded.device == "cpu", max_length=None, completion_only_loss=True, report_to=[], save_strategy="no",
            logging_strategy="no", gradient_checkpointing=False, disable_tqdm=True,
        )  # fmt: skip
        trainer = trl.SFTTrainer(
            model, settings, train_dataset=datasets.Dataset.from_list(rows), processing_class=loaded.tokenizer,
            callbacks=[Counts()],
        )  # fmt: skip
        collate = trainer.data_collator

        def counted(features: list[dict[str, Any]]) -> Any:
            batch = collate(features)
            made.append((sum(len(one["input_ids"]) for one in features), batch["input_ids"].numel(), len(features)))
            return batch

        trainer.data_collator = counted
        trainer.train()
    return {**meter.figures(), "notes": {"batch": arguments.plain_batch, "trl": version("trl")}}


class Meter:
    """Counts from the fourth step on, until the time or the steps are up."""

    def __init__(self, forward: TreeForward, arguments: argparse.Namespace) -> None:
        adapter = sum(parameter.numel() for parameter in trainable_parameters(forward))
        self._operations = 4 * (parameter_count(forward) - adapter) + 6 * adapter
        self._arguments = arguments
        self._began = self._started = time.perf_counter()
        self._steps = self._tokens = self._slots = self._questions = 0
        self._waited = 0.0
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()

    def goes_on(self) -> bool:
        """Whether another step is due; ask before each."""
        if self._steps == WARM_STEPS:  # compiled, allocated, cached
            synchronise()
            self._tokens = self._slots = self._questions = 0
            self._waited, self._started = 0.0, time.perf_counter()
        if self._steps % 4 == 0:
            synchronise()
        is_late = time.perf_counter() - self._began > self._arguments.seconds and self._steps > WARM_STEPS
        return not is_late and self._steps < self._arguments.steps + WARM_STEPS

    def waiting(self) -> Waiting:
        """Times what lies inside as waiting for a batch."""
        return Waiting(self)

    def waited(self, seconds: float) -> None:
        """Add time without a batch."""
        self._waited += seconds

    def count(self, tokens: int, slots: int, questions: int) -> None:
        """Note a step: real tokens, tokens with padding, questions."""
        self._steps += 1
        self._tokens += tokens
        self._slots += slots
        self._questions += questions

    def figures(self) -> dict[str, Any]:
        """Speeds, share of peak and memory."""
        synchronise()
        seconds = time.perf_counter() - self._started
        rate = self._tokens / seconds
        memory = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else 0.0
        return {
            "steps": self._steps - WARM_STEPS, "seconds": round(seconds, 2), "tokens_per_s": round(rate),
            "questions_per_s": round(self._questions / seconds, 2),
            "share_of_peak": round(rate * self._operations / (self._arguments.peak_tflops * 1e12), 4),
            "memory_gib": round(memory, 2), "padding": round(1 - self._tokens / max(1, self._slots), 3),
            "batch_wait_seconds": round(self._waited, 2),
        }  # fmt: skip


class Waiting:
    """Time in which no batch was ready."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_error: object) -> None:
        self._meter.waited(time.perf_counter() - self._started)


def profile(trainer: Trainer, steps: Iterator[Any]) -> None:
    """Two further steps by kernel, the slowest first."""
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        kinds = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as found:
        for _ in range(2):
            trainer.train_step(next(steps))
        synchronise()
    order = "self_cuda_time_total" if torch.cuda.is_available() else "self_cpu_time_total"
    print(found.key_averages().table(sort_by=order, row_limit=45, max_name_column_width=90), flush=True)


def synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def label_prompts(records: Iterable[Record], encoder: Encoder, max_tokens: int) -> list[list[int]]:
    """Each question of each record as one prompt with its label behind it."""
    readout, rules = readout_by_name("label"), RowRules(max_tokens=max_tokens)
    prompts: list[list[int]] = []
    for record in records:
        for qid, question in record.questions.items():
            if qid not in record.targets:
                continue
            alone = record.model_copy(update={"questions": {qid: question}, "targets": {qid: record.targets[qid]}})
            row = training_row(alone, readout, encoder, rules)
            if isinstance(row, TrainingRow) and row.questions[0].label >= 0:
                read = row.tree.reads[row.questions[0].reads[0]]
                end = row.tree.starts[read.segment] + read.offset + 1
                prompts.append([*row.tree.path(read.segment)[:end], read.candidates[row.questions[0].label]])
    if not prompts:
        raise SystemExit("no question of the data can be asked with labels")
    return prompts


def padded(prompts: list[list[int]]) -> dict[str, torch.Tensor]:
    width = max(map(len, prompts))
    ids = torch.zeros((len(prompts), width), dtype=torch.long)
    mask = torch.zeros_like(ids)
    labels = torch.full_like(ids, -100)
    for line, prompt in enumerate(prompts):
        ids[line, : len(prompt)] = torch.tensor(prompt)
        mask[line, : len(prompt)] = 1
        labels[line, len(prompt) - 1] = prompt[-1]
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def configured(entry: str, arguments: argparse.Namespace) -> TrainingConfig:
    is_shape = entry in SHAPES
    lora = {"rank": 16, "alpha": 32, "targets": HYBRID} if is_shape else {"rank": 32, "alpha": 64}
    row_tokens = arguments.shape_row_tokens if is_shape else arguments.row_tokens
    return parse_config({
        "name": "speed", "base": {"model": arguments.model}, "lora": lora,
        "batching": {
            "row_tokens": row_tokens, "step_questions": arguments.step_questions, "overlong": "skip",
            "workers": arguments.workers, "chunk_records": arguments.chunk_records,
        },
        "runtime": {
            "gradient_checkpointing": is_shape, "compile": {"compiled": True}.get(entry, False),
            "autotune": arguments.autotune and entry == "compiled",
        },
    })  # fmt: skip


def base(config: TrainingConfig, arguments: argparse.Namespace) -> LoadedModel:
    if not arguments.tiny:
        return load_base(config)
    from forthwith.testing import tiny_causal_model, tiny_tokenizer

    return in_memory(tiny_causal_model("llama"), tiny_tokenizer(), is_recurrent=False)


def random_base(entry: str, arguments: argparse.Namespace) -> LoadedModel:
    """Random weights of a shape, made where they run, in bfloat16 on a GPU; the tokenizer is the model folder's."""
    import transformers

    from forthwith.testing import tiny_tokenizer

    chat = tiny_tokenizer() if arguments.tiny else transformers.AutoTokenizer.from_pretrained(arguments.model)
    shape = TINY if arguments.tiny else SHAPES[entry]
    layers = shape["num_hidden_layers"]
    config = transformers.Qwen3_5TextConfig(
        **shape, vocab_size=len(chat), tie_word_embeddings=True, max_position_embeddings=8192,
        layer_types=["full_attention" if index % 4 == 3 else "linear_attention" for index in range(layers)],
    )  # fmt: skip
    is_cuda = torch.cuda.is_available()
    with torch.device("cuda" if is_cuda else "cpu"):
        model = transformers.Qwen3_5ForCausalLM._from_config(config, dtype=torch.bfloat16 if is_cuda else torch.float32)
    gc.collect()
    return in_memory(model, chat, is_recurrent=True)


def in_memory(model: Any, tokenizer: Any, *, is_recurrent: bool) -> LoadedModel:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    precision = "bfloat16" if device == "cuda" else "float32"
    model = model.to(device=device, dtype=getattr(torch, precision)).eval().requires_grad_(requires_grad=False)
    return LoadedModel(model, Encoder(tokenizer), tokenizer, "", None, device, precision, 8192, is_recurrent)


def read(path: Path, limit: int) -> list[Record]:
    found: list[Record] = []
    for item in iter_records(path):
        if not isinstance(item, Record):
            raise item.error
        found.append(item)
        if len(found) == limit:
            break
    return found


def append(arguments: argparse.Namespace, result: dict[str, Any]) -> None:
    line = json.dumps(result)
    print(line, flush=True)
    with arguments.out.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder of the small model; its tokenizer serves the shapes too")
    parser.add_argument("--data", nargs="+", type=Path, required=True, help="record files")
    parser.add_argument("--out", type=Path, default=Path("training-speed.jsonl"), help="lines are appended")
    parser.add_argument("--entries", nargs="+", default=ENTRIES, choices=ENTRIES)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="time an entry, warm-up counted, loading and compiling not"
    )
    parser.add_argument(
        "--grace", type=float, default=240.0, help="further time for loading and compiling, then it is ended"
    )
    parser.add_argument("--steps", type=int, default=1_000_000, help="steps an entry at most")
    parser.add_argument("--row-tokens", type=int, default=49_152)
    parser.add_argument("--shape-row-tokens", type=int, default=8_192)
    parser.add_argument("--step-questions", type=int, default=32)
    parser.add_argument("--plain-batch", type=int, default=32, help="prompts a step of the one-question loop")
    parser.add_argument("--workers", type=int, default=0, help="processes that plan rows")
    parser.add_argument("--chunk-records", type=int, default=512)
    parser.add_argument("--limit", type=int, default=20_000, help="records a file")
    parser.add_argument("--peak-tflops", type=float, default=989.0, help="dense bfloat16 peak of the device")
    parser.add_argument("--autotune", action="store_true", help="for the compiled entry, runtime.autotune")
    parser.add_argument("--profile", action="store_true", help="print the slowest kernels of our loop")
    parser.add_argument("--tiny", action="store_true", help="tiny random models, to try the script out")
    parser.add_argument("--entry", choices=ENTRIES, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
