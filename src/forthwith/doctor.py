"""What this machine and this model can do: versions, devices, memory, cache; labels, determinism, parity and speed.

Every check states what was measured; a failed one says what to do. Nothing is changed or fetched.
"""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from forthwith.deciding import Decider
from forthwith.decision import Decision
from forthwith.default_model import SMOLLM2, default_cache_dir, is_cached
from forthwith.engine.protocol import TreeReading
from forthwith.model import Model

__all__ = ["Check", "Diagnosis", "check_decider", "check_machine", "diagnose"]

_LIBRARIES = ("forthwith", "torch", "transformers", "tokenizers", "peft", "safetensors", "gguf", "numpy")
_PARITY = {"float32": 1e-4, "bfloat16": 0.05, "float16": 0.02}
_REMOTE_DRIFT = 0.05
_RUNS = 3
_LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = tuple("0123456789")


@dataclass(frozen=True)
class Check:
    """One thing looked at.

    Attributes:
        name: what.
        is_ok: whether it is as it should be; True too where there is nothing to judge.
        told: one line for a reader.
        values: the same as numbers.
    """

    name: str
    is_ok: bool
    told: str
    values: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Diagnosis:
    """All checks, in order."""

    checks: tuple[Check, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether every check is as it should be."""
        return all(check.is_ok for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The checks as JSON values."""
        return {"healthy": self.is_healthy, "checks": [asdict(check) for check in self.checks]}


def diagnose(load: Callable[[], Decider], cache_dir: Path | None = None) -> Iterator[Check]:
    """Check the machine, then load a model and check that; one result at a time.

    Args:
        load: loads the model; timed.
        cache_dir: where the default model is kept; the platform's folder when None.
    """
    yield from check_machine(cache_dir)
    started = time.perf_counter()
    decider = load()
    seconds = time.perf_counter() - started
    yield Check(
        "model",
        is_ok=True,
        told=f"{decider.name} ({decider.bundle_id}), {decider.binding.readout} readout, loaded in {seconds:.1f} s",
        values={"name": decider.name, "load_s": seconds, **decider.binding.model_dump()},
    )
    yield from check_decider(decider)


def check_machine(cache_dir: Path | None = None) -> Iterator[Check]:
    """Versions, processors, accelerators, memory and the cache of the default model."""
    versions = {name: _version(name) for name in _LIBRARIES}
    shown = ", ".join(f"{name} {number}" for name, number in versions.items() if number)
    told = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}; {shown}"
    yield Check("versions", is_ok=True, told=told, values={"python": platform.python_version(), **versions})
    yield _devices()
    yield _memory()
    yield _cache(cache_dir or default_cache_dir())


def check_decider(decider: Decider) -> Iterator[Check]:
    """Labels, determinism, agreement of executors and speed of a loaded model; of a remote one what can be seen."""
    if not isinstance(decider, Model):
        yield from _check_remote(decider)
        return
    yield _labels(decider)
    yield _determinism(decider)
    if (parity := _parity(decider)) is not None:
        yield parity
    yield _speed(decider)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _devices() -> Check:
    import torch

    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    told = (
        f"{processors} CPU cores, torch uses {torch.get_num_threads()} threads; {', '.join(gpus) or 'no CUDA device'}"
    )
    values = {"cpu_cores": processors, "torch_threads": torch.get_num_threads(), "cuda": gpus}
    return Check("devices", is_ok=True, told=told, values=values)


def _memory() -> Check:
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total, free = page * os.sysconf("SC_PHYS_PAGES"), page * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return Check("memory", is_ok=True, told="not told by this system")
    told = f"{free / 1e9:.1f} of {total / 1e9:.1f} GB free"
    return Check("memory", is_ok=True, told=told, values={"total_bytes": total, "free_bytes": free})


def _cache(cache_dir: Path) -> Check:
    there = is_cached(cache_dir)
    existing = next(folder for folder in (cache_dir, *cache_dir.parents) if folder.is_dir())
    free = shutil.disk_usage(existing).free
    state = f"holds {SMOLLM2.name}" if there else f"lacks {SMOLLM2.name}; `forthwith pull` takes it"
    told = f"{cache_dir} {state}; {free / 1e9:.1f} GB free there"
    is_ok = there or free >= SMOLLM2.room_bytes
    return Check("cache", is_ok, told, {"folder": str(cache_dir), "has_default_model": there, "free_bytes": free})


def _labels(model: Model) -> Check:
    _, cue = model.encoder.frame("Answer the question.")
    single = {
        name: sum(model.encoder.single_token(cue, label) is not None for label in labels)
        for name, labels in {"letters": _LETTERS, "digits": _DIGITS, "yes_no": ("yes", "no")}.items()
    }
    told = (
        f"{single['letters']} of 26 letters, {single['digits']} of 10 digits and {single['yes_no']} of yes/no "
        "are one token behind the answer cue"
    )
    is_ok = single["yes_no"] == 2 or model.encoder.single_token(cue, "Yes") is not None
    return Check("labels", is_ok, told, single)


def _determinism(model: Model) -> Check:
    request = _probe_request(_PARAGRAPH)
    model.decide(request)  # content-free priors are read once a model: not part of what is repeated
    first = _fresh(model, request)
    gap = _gap(first, _fresh(model, request))
    again = _gap(first, model.decide(request))
    repeated = "gives the same bits" if gap == 0.0 else f"differs by {gap:.1e} in probability"
    told = f"the same request twice {repeated}; with its state cached it differs by {again:.1e}"
    return Check("determinism", max(gap, again) <= _tolerance(model), told, {"repeated": gap, "cached": again})


def _parity(model: Model) -> Check | None:
    from forthwith.engine.transformers import TransformersEngine

    engine = model.engine
    if not isinstance(engine, TransformersEngine):
        return None
    trees = model.prepare(_probe_request(_PARAGRAPH)).plan.trees
    plain = TransformersEngine(engine.loaded, "plain", executor="plain").evaluate(trees)
    fast = TransformersEngine(engine.loaded, "fast")
    gaps = {"first": _reading_gap(plain, fast.evaluate(trees)), "cached": _reading_gap(plain, fast.evaluate(trees))}
    worst, tolerance = max(gaps.values()), _tolerance(model)
    told = f"shared and cached prompts agree with one plain prompt a leaf within {worst:.1e} (allowed {tolerance:.0e})"
    return Check("executors", worst <= tolerance, told, {**gaps, "tolerance": tolerance})


def _speed(model: Model) -> Check:
    request = _probe_request(_PARAGRAPH * 6)
    fresh, cached = [_fresh(model, request) for _ in range(_RUNS)], [model.decide(request) for _ in range(_RUNS)]
    usage, questions = fresh[0].usage, len(fresh[0].answers)
    fresh_ms, cached_ms = (statistics.median(run.usage.latency_ms for run in runs) for runs in (fresh, cached))
    rate = usage.input_tokens / fresh_ms * 1000
    told = (
        f"{usage.input_tokens} tokens, {questions} questions: {fresh_ms:.0f} ms ({fresh_ms / questions:.0f} a "
        f"decision, {rate:.0f} tokens/s), {cached_ms:.0f} ms with the state cached; median of {_RUNS}"
    )
    values = {"tokens": usage.input_tokens, "questions": questions, "ms": fresh_ms, "cached_ms": cached_ms}
    return Check("speed", is_ok=True, told=told, values={**values, "tokens_per_s": rate})


def _check_remote(decider: Decider) -> Iterator[Check]:
    prepared = decider.prepare(_probe_request(_PARAGRAPH))
    runs = [decider.decide_prepared([prepared])[0] for _ in range(_RUNS)]
    gap = max(_gap(runs[0], run) for run in runs[1:])
    told = f"the same request {_RUNS} times differs by at most {gap:.1e} in probability"
    yield Check("determinism", gap <= _REMOTE_DRIFT, told, {"repeated": gap})
    latency = statistics.median(run.usage.latency_ms for run in runs)
    told = f"{len(runs[0].answers)} questions answered by {runs[0].model} in {latency:.0f} ms; median of {_RUNS}"
    yield Check("speed", is_ok=True, told=told, values={"ms": latency, "model": runs[0].model})


def _fresh(model: Model, request: dict[str, Any]) -> Decision:
    """The decision with nothing cached."""
    cache = getattr(model.engine, "prefix_cache", None)
    if cache is not None:
        cache.clear()
    return model.decide(request)


def _gap(one: Decision, other: Decision) -> float:
    return max(float(np.max(np.abs(one[qid].probabilities - other[qid].probabilities))) for qid in one.answers)


def _reading_gap(one: Sequence[TreeReading], other: Sequence[TreeReading]) -> float:
    return max(
        float(np.max(np.abs(np.exp(ours) - np.exp(theirs))))
        for left, right in zip(one, other, strict=True)
        for ours, theirs in zip(left.log_probs, right.log_probs, strict=True)
    )


def _tolerance(model: Model) -> float:
    return _PARITY.get(model.binding.precision, 0.1)


_PARAGRAPH = (
    "The parcel 4471 left the depot on 3 March at 07:45 and has not moved for nine days. The customer paid 129.90 EUR, "
    "wrote twice, and asks for the money back or a new parcel by Friday. The carrier says that the truck was delayed. "
)


def _probe_request(state: str) -> dict[str, Any]:
    return {
        "state": state,
        "questions": {
            "lost": {"type": "noul", "instructions": "Is the parcel probably lost?"},
            "team": {
                "type": "choice",
                "instructions": "Who should take this?",
                "criteria": {
                    "carrier": "ask the carrier",
                    "refund": "pay the money back",
                    "resend": "send a new parcel",
                },
            },
            "heat": {
                "type": "score",
                "instructions": "How upset is the customer?",
                "criteria": ["calm", "irritated", "furious"],
            },
        },
    }
