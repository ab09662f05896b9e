"""Time and memory of the numerical side of an evaluation, on files of realistic shape.

    python benchmarks/evaluation_speed.py [--predictions 100000]

Prints one line each for 10,000 paired cluster resamples on 2,500 questions, and for reading, aligning and evaluating a
prediction file with its records, with the peak memory of the whole process.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from forthwith.evaluation.align import align_files
from forthwith.evaluation.measure import evaluate
from forthwith.evaluation.significance import PairedValues, paired_bootstrap

FAMILIES = (("approve", "noul", 2), ("route", "choice", 5), ("urgency", "score", 4), ("pick", "choice", 12))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--predictions", type=int, default=100_000)
    n = parser.parse_args().predictions
    print(f"10,000 resamples of 2,500 questions in 900 clusters, 7 families: {resampling_seconds():.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        data, predictions = Path(folder) / "data.jsonl", Path(folder) / "predictions.jsonl"
        write_world(data, predictions, n)
        began, cpu = time.perf_counter(), time.process_time()
        aligned = align_files(predictions, data)
        read = time.perf_counter()
        report = evaluate(aligned)
        done, cpu = time.perf_counter(), time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{report.n_questions:,} predictions: read and align {read - began:.2f} s, evaluate {done - read:.2f} s, "
        f"together {done - began:.2f} s ({cpu:.2f} s of processor); peak memory {peak:,.0f} MiB"
    )


def resampling_seconds() -> float:
    rng = np.random.default_rng(0)
    n = 2500
    values = PairedValues(
        rng.integers(0, 2, n).astype(float),
        rng.integers(0, 2, n).astype(float),
        rng.integers(0, 7, n),
        rng.integers(0, 900, n),
    )
    began = time.perf_counter()
    paired_bootstrap(values)
    return time.perf_counter() - began


def write_world(data: Path, predictions: Path, n: int) -> None:
    """Records of four questions each, with a state of some 300 characters, and one prediction a question."""
    rng = np.random.default_rng(1)
    criteria = {
        "noul": lambda _: {"type": "noul", "instructions": "Does it need approval?"},
        "choice": lambda k: {
            "type": "choice",
            "instructions": "Which?",
            "criteria": {f"option {i}": None for i in range(k)},
        },
        "score": lambda k: {"type": "score", "instructions": "How?", "criteria": [f"level {i}" for i in range(k)]},
    }
    questions = {family: criteria[kind](k) for family, kind, k in FAMILIES}
    keys = {
        family: ["false", "true"]
        if kind == "noul"
        else [str(i) if kind == "score" else f"option {i}" for i in range(k)]
        for family, kind, k in FAMILIES
    }
    with data.open("w") as records, predictions.open("w") as lines:
        for index in range(n // len(FAMILIES)):
            targets = {family: {"label": keys[family][rng.integers(k)]} for family, _, k in FAMILIES}
            record = {
                "id": f"record-{index}",
                "state": {"note": f"{index} " + "some words of a state " * 13},
                "questions": questions,
                "targets": targets,
                "meta": {
                    "user_id": f"user-{index // 10}",
                    "style": f"style {index % 4}",
                    "variant": f"v{index % 3}",
                    "families": {family: family for family in questions},
                },
            }
            records.write(json.dumps(record) + "\n")
            for family, kind, k in FAMILIES:
                scores = rng.normal(0, 2, k)
                scores[keys[family].index(targets[family]["label"])] += 2
                probabilities = np.exp(scores) / np.exp(scores).sum()
                line = {
                    "id": record["id"],
                    "qid": family,
                    "type": kind,
                    "family": family,
                    "options": keys[family],
                    "log_scores": scores.tolist(),
                    "probabilities": probabilities.tolist(),
                    "readout": "branch",
                    "input_tokens": int(rng.integers(100, 2000)),
                    "latency_ms": 12.5,
                }
                lines.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
