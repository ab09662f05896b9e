"""Decisions a second: Forthwith's token trees against the plain way, one `logits_to_keep=1` forward a question.

For every state length × questions × options, and each readout, the two are run in turn and the median is printed with the ratio
that the token counts allow. `cached` asks again about a state that is already encoded. Run it on an idle machine.

    python benchmarks/decide.py                         # the default model on this machine
    python benchmarks/decide.py --quick                 # four cells
    python benchmarks/decide.py --shape qwen3.5-27b --device cuda   # random weights of that shape
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from forthwith.calibration import softmax
from forthwith.engine.loading import LoadedModel
from forthwith.engine.transformers import TransformersEngine
from forthwith.model import Model
from forthwith.readout import readout_by_name
from forthwith.schema import Choice, Request

WORDS = (
    "parcel", "order", "late", "refund", "carrier", "street", "monday", "invoice",
    "customer", "letter", "number", "answer", "paper", "table", "window", "train",
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One line of the table; rates are decisions (answered questions) a second."""

    readout: str
    state_tokens: int
    questions: int
    options: int
    tree_tokens: int
    plain_tokens: int
    plain: float
    cold: float
    cached: float
    largest_difference: float
    share_of_peak: float
    runs: int

    @property
    def allowed(self) -> float:
        """The speed-up that the token counts allow."""
        return self.plain_tokens / self.tree_tokens


def main() -> None:
    options = parse()
    model = build_model(options)
    engine = model.engine
    assert isinstance(engine, TransformersEngine)
    parameters = sum(p.numel() for p in engine.loaded.model.parameters()) - embedding_parameters(engine.loaded.model)
    peak = matrix_peak(engine.loaded.device, engine.loaded.precision)
    print_header(engine, peak, parameters)
    cells: list[Cell] = []
    for readout, tokens, questions, count in grid(options):
        request = make_request(model, tokens, questions, count)
        cell = measure(model, readout, request, tokens, count, options.runs, options.plain_limit_s, parameters, peak)
        cells.append(cell)
        print_cell(cell)
    print_summary(cells)
    if options.out:
        Path(options.out).write_text(json.dumps([asdict(cell) for cell in cells], indent=1))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="as Model.load takes it; default: the embedded base")
    parser.add_argument("--shape", choices=["qwen3.5-27b"], help="random weights of a large shape instead of a model")
    parser.add_argument("--device")
    parser.add_argument("--readouts", default="label,branch")
    parser.add_argument("--states", default="64,512,2048")
    parser.add_argument("--questions", default="1,5,12")
    parser.add_argument("--options", default="2,8,26")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--plain-limit-s", type=float, default=90.0, help="skip repeating a plain run longer than this")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", help="write the cells as JSON")
    return parser.parse_args()


def grid(options: argparse.Namespace) -> Any:
    if options.quick:
        return [("label", 64, 1, 2), ("label", 512, 5, 8), ("branch", 64, 1, 2), ("branch", 512, 5, 8)]
    numbers = [[int(n) for n in text.split(",")] for text in (options.states, options.questions, options.options)]
    return product(options.readouts.split(","), *numbers)


def build_model(options: argparse.Namespace) -> Model:
    if options.shape:
        return random_model(options.device or "cuda")
    return Model.load(options.model or "smollm2-135m-instruct", readout="branch", device=options.device)


def random_model(device: str) -> Model:
    """The 27B hybrid shape: 64 layers, every fourth with full attention; weights drawn on the device in bfloat16."""
    from transformers import AutoTokenizer, Qwen3_5ForCausalLM, Qwen3_5TextConfig

    from forthwith.default_model import ensure_default_model
    from forthwith.encoding import Encoder

    config = Qwen3_5TextConfig(
        vocab_size=248_320, hidden_size=5120, intermediate_size=17_408, num_hidden_layers=64, num_attention_heads=24,
        num_key_value_heads=4, head_dim=256, linear_num_value_heads=48, linear_num_key_heads=16,
        linear_key_head_dim=128, linear_value_head_dim=128, tie_word_embeddings=False, max_position_embeddings=32_768,
    )  # fmt: skip
    with torch.device(device):
        torch.set_default_dtype(torch.bfloat16)
        network = Qwen3_5ForCausalLM(config).eval()
        torch.set_default_dtype(torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(os.environ.get("FORTHWITH_TOKENIZER") or str(ensure_default_model()))
    loaded = LoadedModel(
        network, Encoder(tokenizer), tokenizer, "random", None, device, "bfloat16", 32_768, has_recurrent_layers=True
    )
    return Model(TransformersEngine(loaded, "qwen3.5-27b shape"), loaded.encoder, readout_by_name("branch"))


def make_request(model: Model, state_tokens: int, questions: int, options: int) -> Request:
    rng = np.random.default_rng([state_tokens, questions, options])
    words = [WORDS[index] for index in rng.integers(0, len(WORDS), state_tokens)]
    while len(model.encoder.text(" ".join(words))) > state_tokens:
        words.pop()

    def phrase(count: int) -> str:
        return " ".join(WORDS[index] for index in rng.integers(0, len(WORDS), count))

    return Request(
        state=" ".join(words),
        questions={
            f"q{number}": Choice(
                instructions=f"Which of these fits the {phrase(6)}?",
                criteria={f"{phrase(1)} {option}": phrase(4) for option in range(options)},
            )
            for number in range(questions)
        },
    )


def measure(
    model: Model, readout: str, request: Request, tokens: int, options: int, runs: int, limit_s: float,
    parameters: int, peak: float,
) -> Cell:  # fmt: skip
    engine = model.engine
    assert isinstance(engine, TransformersEngine)
    run = Model(engine, model.encoder, readout_by_name(readout))
    (tree,) = run.prepare(request).plan.trees
    plain_run = Model(engine, model.encoder, readout_by_name("label"))
    (plain_tree,) = plain_run.prepare(request).plan.trees

    def cold() -> None:
        engine.prefix_cache.clear()
        run.decide(request)

    def cached() -> None:
        run.decide(request)

    def plain() -> list[Any]:
        return plain_forwards(engine, plain_tree)

    cold()
    times: dict[str, list[float]] = {"plain": [], "cold": [], "cached": []}
    for _ in range(runs):
        if not times["plain"] or times["plain"][0] < limit_s:
            times["plain"].append(timed(plain))
        times["cold"].append(timed(cold))
        times["cached"].append(timed(cached))
    seconds = {name: statistics.median(values) for name, values in times.items()}
    count = len(request.questions)
    return Cell(
        readout, tokens, count, options, tree.size, plain_tree.plain_size,
        count / seconds["plain"], count / seconds["cold"], count / seconds["cached"],
        difference(run, request, plain()) if readout == "label" else float("nan"),
        2 * parameters * tree.size / seconds["cold"] / peak, len(times["plain"]),
    )  # fmt: skip


def plain_forwards(engine: TransformersEngine, tree: Any) -> list[Any]:
    """The plain way: each question's whole prompt through the model, last position only, softmax over its labels."""
    answers: list[Any] = []
    for read in tree.reads:
        ids = torch.tensor([tree.path(read.segment)], device=engine.loaded.device)
        with torch.inference_mode():
            logits = engine.loaded.model(input_ids=ids, logits_to_keep=1, use_cache=False).logits[0, -1].float()
        answers.append(logits[list(read.candidates)].softmax(-1).cpu().numpy())
    return answers


def difference(run: Model, request: Request, expected: list[Any]) -> float:
    found = [softmax(answer.log_scores) for answer in run.decide(request).answers.values()]
    return max(float(np.abs(a - b).max()) for a, b in zip(found, expected, strict=True))


def timed(action: Callable[[], Any]) -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    started = time.perf_counter()
    action()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - started


def matrix_peak(device: str, precision: str) -> float:
    """Floating-point operations a second of a large matrix product here, in the model's precision."""
    size = 8192 if device.startswith("cuda") else 2048
    left = torch.randn(size, size, device=device, dtype=getattr(torch, precision))
    times = [timed(lambda: left @ left) for _ in range(6)]
    return 2 * size**3 / min(times)


def embedding_parameters(network: Any) -> int:
    return network.get_input_embeddings().weight.numel()


def print_header(engine: TransformersEngine, peak: float, parameters: int) -> None:
    load = os.getloadavg()[0]
    print(f"model {engine.identity.model}, {engine.loaded.precision} on {engine.loaded.device}, {parameters / 1e6:.0f} M"
          f" parameters beside the embedding; torch {torch.__version__}, {torch.get_num_threads()} threads")  # fmt: skip
    print(f"load average {load:.2f}{'' if load < 0.5 else ' (NOT idle: read ratios only)'}; matrix product"
          f" {peak / 1e9:,.0f} GFLOP/s; limits {engine.limits}")  # fmt: skip
    print(
        "decisions/s, median of interleaved runs; plain = one label prompt a question; allowed = plain tokens ÷ tree tokens"
    )
    print(f"{'readout':8} {'state':>5} {'q':>3} {'opt':>4} {'tree tok':>9} {'plain':>9} {'cold':>9} {'cached':>9}"
          f" {'allowed':>8} {'cold×':>7} {'cached×':>8} {'peak':>6} {'max |Δp|':>9} {'runs':>4}")  # fmt: skip


def print_cell(cell: Cell) -> None:
    print(f"{cell.readout:8} {cell.state_tokens:5} {cell.questions:3} {cell.options:4} {cell.tree_tokens:9,} {cell.plain:9.2f}"
          f" {cell.cold:9.2f} {cell.cached:9.2f} {cell.allowed:8.2f} {cell.cold / cell.plain:7.2f} {cell.cached / cell.plain:8.2f}"
          f" {cell.share_of_peak:6.1%} {cell.largest_difference:9.1e} {cell.runs:4}")  # fmt: skip
    sys.stdout.flush()


def print_summary(cells: list[Cell]) -> None:
    label = [cell for cell in cells if cell.readout == "label"]
    if label:
        worst = min(cell.cold / cell.plain for cell in label)
        reached = sum(cell.cold / cell.plain >= cell.allowed for cell in label)
        print(
            f"label: slowest cell {worst:.2f}× the plain way; {reached} of {len(label)} cells reach what the tokens allow"
        )


if __name__ == "__main__":
    main()
