"""Load on a serving process, with every response checked against the answer given offline.

    python benchmarks/serving.py --model tiny                      # a tiny random model
    python benchmarks/serving.py --model default --max-wait 120    # the embedded default
    python benchmarks/serving.py --model shape135m --device cuda   # random weights in the default's shape
    python benchmarks/serving.py --model base --max-wait 600 --against other=8123   # a running System One server on that port

Prints one JSON object: decisions a second in a loop in one process and over HTTP, latency percentiles, lost and wrong answers,
the overhead of HTTP and scheduling over the bare engine, and what 24 questions about one long state cost beside one. A server
that is named with `--against` gets the same load after ours has stopped; its answers are not judged, only its errors counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import statistics
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch

from forthwith.engine.loading import LoadedModel
from forthwith.engine.transformers import ExecutionLimits, TransformersEngine
from forthwith.model import DEFAULT_BASE, Model
from forthwith.readout import readout_by_name
from forthwith.serving.scheduler import BatchLimits
from forthwith.serving.server import ServerPlan, bind, serve_here
from forthwith.serving.settings import ServingSettings
from forthwith.serving.systemone import read_request, render_response
from forthwith.testing import tiny_causal_model, tiny_encoder, tiny_tokenizer

TOLERANCE = 2e-3
"""In probability: other batches sum in another order. Answers to other states differ by far more."""

WORDS = (
    "parcel",
    "invoice",
    "late",
    "broken",
    "blue",
    "refund",
    "angry",
    "twice",
    "Friday",
    "missing",
    "thanks",
    "door",
)


@dataclass
class Tally:
    """What one run saw."""

    seconds: list[float] = field(default_factory=list)
    wrong: int = 0
    refused: int = 0
    lost: int = 0


def load_model(kind: str, device: str, row: int | None) -> Model:
    if kind == "default":
        model = Model.load(device=device)
    elif kind == "base":
        model = Model.load(DEFAULT_BASE, readout="branch", device=device)
    else:
        model = _random_model(kind, device)
    engine = model.engine
    if row is not None and isinstance(engine, TransformersEngine):
        engine.limits = replace(engine.limits, row=row, batch=max(row, engine.limits.batch))
    return model


def _random_model(kind: str, device: str) -> Model:
    precision = "float32" if device == "cpu" else "bfloat16"
    if kind == "tiny":
        weights = tiny_causal_model()
    else:
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(
            vocab_size=49_152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
            num_key_value_heads=3, max_position_embeddings=8192, tie_word_embeddings=True, initializer_range=0.05,
        )  # fmt: skip
        torch.manual_seed(0)
        weights = LlamaForCausalLM._from_config(config, attn_implementation="sdpa")
    weights = weights.to(device=device, dtype=getattr(torch, precision)).eval().requires_grad_(requires_grad=False)
    loaded = LoadedModel(
        model=weights, encoder=tiny_encoder(), tokenizer=tiny_tokenizer(), weights_sha256="0" * 64, adapter_sha256=None,
        device=device, precision=precision, max_tokens=4096, has_recurrent_layers=False,
    )  # fmt: skip
    engine = TransformersEngine(loaded, kind, ExecutionLimits.for_device(device))
    return Model(engine, loaded.encoder, readout_by_name("branch"), name=kind)


def short_body(number: int) -> dict[str, Any]:
    words = random.Random(number)
    state = " ".join(words.choice(WORDS) for _ in range(12)) + f" {number}"
    options = {"carrier": None, "refund": None, "other": None}
    question = {"type": "choice", "instructions": "Who should take this?", "criteria": options}
    return {"state": state, "questions": {"queue": question}}


def long_body(questions: int, seed: int, tokens_wanted: int, model: Model) -> dict[str, Any]:
    words = random.Random(seed)
    texts: list[str] = []
    while len(model.encoder.text(" ".join(texts))) < tokens_wanted:
        texts += [words.choice(WORDS) for _ in range(20)]
    asked = {
        f"q{number}": {"type": "noul", "instructions": f"Is item {number} mentioned as {words.choice(WORDS)}?"}
        for number in range(questions)
    }
    return {"state": " ".join(texts), "questions": asked}


def looped(model: Model, bodies: list[dict[str, Any]], seconds: float) -> tuple[float, list[float]]:
    """Decisions a second in a plain loop, and each one's time."""
    times: list[float] = []
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        begun = time.perf_counter()
        model.decide(bodies[len(times) % len(bodies)])
        times.append(time.perf_counter() - begun)
    return len(times) / (time.perf_counter() - started), times


class Connection:
    """A kept HTTP connection that costs its process as little as possible."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def post(self, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer."""
        if self.reader is None or self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = f"POST /v1/systemone HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        return int(answer[9:12]), await self.reader.readexactly(length)

    def close(self) -> None:
        """Close it."""
        if self.writer is not None:
            self.writer.close()


def agrees(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    if found.keys() != wanted.keys():
        return False
    for qid, answer in wanted.items():
        shares = found[qid]["probabilities"]
        if any(abs(shares[key] - share) > TOLERANCE for key, share in answer["probabilities"].items()):
            return False
    return True


async def load(port: int, connections: int, seconds: float, bodies: list[bytes], wanted: list[Any] | None) -> Tally:
    tally = Tally()
    stop = time.perf_counter() + seconds

    async def client(number: int) -> None:
        connection, turn = Connection(port), number
        while time.perf_counter() < stop:
            index = turn % len(bodies)
            turn += connections + 1
            begun = time.perf_counter()
            try:
                status, answer = await connection.post(bodies[index])
            except (OSError, asyncio.IncompleteReadError):
                tally.lost += 1
                connection = Connection(port)
                continue
            if status == 429:
                tally.refused += 1
                await asyncio.sleep(0.2)
                continue
            tally.seconds.append(time.perf_counter() - begun)
            tally.lost += status != 200
            if status == 200 and wanted is not None:
                tally.wrong += not agrees(json.loads(answer)["answers"], wanted[index])
        connection.close()

    await asyncio.gather(*(client(number) for number in range(connections)))
    return tally


def percentiles(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        f"p{share}_ms": round(1000 * ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))], 2)
        for share in (50, 95, 99)
    }


def offline(model: Model, bodies: list[dict[str, Any]]) -> list[Any]:
    return [render_response(model.decide(body), read_request(body))["answers"] for body in bodies]


def question_cost(model: Model, tokens: int, repeats: int) -> dict[str, float]:
    """Seconds of 1 and of 24 questions about a fresh state of so many tokens."""
    costs: dict[int, float] = {}
    for count in (1, 24):
        times: list[float] = []
        for number in range(repeats):
            body = long_body(count, 1000 * count + number, tokens, model)
            begun = time.perf_counter()
            model.decide(body)
            times.append(time.perf_counter() - begun)
        costs[count] = statistics.median(times)
    return {"one_s": round(costs[1], 4), "twenty_four_s": round(costs[24], 4), "ratio": round(costs[24] / costs[1], 3)}


def foreign(port: int, options: argparse.Namespace, short: list[bytes], long: dict[int, bytes]) -> dict[str, Any]:
    """The same load on a server that somebody else runs."""
    asyncio.run(load(port, 4, min(3, options.seconds), short, None))
    alone = asyncio.run(load(port, 1, min(options.seconds, 20), short, None))
    together = asyncio.run(load(port, options.connections, options.seconds, short, None))
    costs: dict[int, float] = {}
    for count, body in long.items():
        begun = time.perf_counter()
        status, _ = asyncio.run(Connection(port).post(body))
        costs[count] = round(time.perf_counter() - begun, 3) if status == 200 else float("nan")
    return {"one_connection": percentiles(alone.seconds), "served": served(together, options), "questions_s": costs}


def served(tally: Tally, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "connections": options.connections, "seconds": options.seconds, "decisions": len(tally.seconds),
        "decisions_per_s": round(len(tally.seconds) / options.seconds, 2), **percentiles(tally.seconds),
        "lost": tally.lost, "wrong": tally.wrong, "refused": tally.refused,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=("tiny", "default", "base", "shape135m"), default="tiny")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--states", type=int, default=64)
    parser.add_argument("--max-wait", type=float, default=120)
    parser.add_argument("--batch-seconds", type=float, default=BatchLimits().seconds)
    parser.add_argument("--row", type=int, help="tokens of a packed row, instead of the device's default")
    parser.add_argument("--long-state", type=int, default=2000)
    parser.add_argument("--against", nargs="*", default=[], metavar="NAME=PORT", help="running servers to load, too")
    options = parser.parse_args()
    print(json.dumps(measure(options), indent=1))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    build = partial(load_model, options.model, options.device, options.row)
    model = build()
    bodies = [short_body(number) for number in range(options.states)]
    wanted = offline(model, bodies)
    rate, times = looped(model, bodies, min(options.seconds, 20))
    result: dict[str, Any] = {
        "model": options.model, "device": options.device, "tokens_a_request": model.prepare(bodies[0]).tokens,
        "loop": {"decisions_per_s": round(rate, 2), **percentiles(times)},
        "questions": question_cost(model, options.long_state, 3),
    }  # fmt: skip
    long = {count: json.dumps(long_body(count, count, options.long_state, model)).encode() for count in (1, 24)}
    del model
    batch = BatchLimits(wait_s=options.max_wait, seconds=options.batch_seconds)
    plan = ServerPlan(load=build, settings=ServingSettings(batch=batch), log_level="error", drain_s=0.1)
    context = multiprocessing.get_context("spawn")
    listener, ready = bind("127.0.0.1", 0), context.Event()
    server = context.Process(target=_serve, args=(plan, listener, ready))
    server.start()
    ready.wait(300)
    try:
        port = listener.getsockname()[1]
        texts = [json.dumps(body).encode() for body in bodies]
        asyncio.run(load(port, 4, min(3, options.seconds), texts, wanted))
        alone = asyncio.run(load(port, 1, min(options.seconds, 20), texts, wanted))
        together = asyncio.run(load(port, options.connections, options.seconds, texts, wanted))
    finally:
        server.terminate()
        server.join(60)
    per_second = len(together.seconds) / options.seconds
    result["one_connection"] = percentiles(alone.seconds)
    result["overhead_p50_ms"] = round(result["one_connection"]["p50_ms"] - result["loop"]["p50_ms"], 2)
    result["served"] = served(together, options)
    result["batching_gain"] = round(per_second / rate, 2)
    for item in options.against:
        name, _, other = item.partition("=")
        result[name] = foreign(int(other), options, texts, long)
    return result


def _serve(plan: ServerPlan, listener: Any, ready: Any) -> None:
    serve_here(plan, listener, ready.set)


if __name__ == "__main__":
    main()
