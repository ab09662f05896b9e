"""Two made-up models with known strengths, and a browser to look at what is written about them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forthwith.calibration import Binding, Calibration
from forthwith.evaluation.align import AlignedQuestions, align
from forthwith.evaluation.compare import CompareOptions, Contender, compare
from forthwith.evaluation.document import EvaluatedModel, Evaluation
from forthwith.evaluation.error_texts import ErrorText
from forthwith.evaluation.measure import MeasureConfig, evaluate
from forthwith.evaluation.predictions import Prediction
from forthwith.evaluation.selective import fit_thresholds
from forthwith.schema import Record, parse_record

BINDING = Binding(
    weights_sha256="w" * 64, adapter_sha256=None, template_sha256="t" * 64, readout="label", precision="float32"
)
FAMILIES = {
    "route": ("choice", 4, 3.0),
    "urgency": ("score", 4, 1.5),
    "approve": ("noul", 2, 2.5),
    "pick": ("choice", 6, 0.6),
}


def made_up_records(count: int) -> list[Record]:
    """Records of four families in turn; user u{n} owns five of them, variants take turns."""
    records = []
    for n in range(count):
        family = list(FAMILIES)[n % len(FAMILIES)]
        kind, options, _ = FAMILIES[family]
        question: dict[str, Any] = {"type": kind, "instructions": f"What about the {family} of item {n}?"}
        if kind == "choice":
            question["criteria"] = {f"option {letter}": None for letter in "ABCDEF"[:options]}
        if kind == "score":
            question["criteria"] = [f"level {level}" for level in range(options)]
        right = (n // len(FAMILIES)) % options
        label: Any = {"noul": bool(right), "score": right, "choice": f"option {'ABCDEF'[right]}"}[kind]
        records.append(
            parse_record(
                {
                    "id": f"r{n}",
                    "task": family,
                    "state": f'The user wrote: "<b>please</b> look at item {n} & tell me". ' * 6,
                    "questions": {"q": question},
                    "targets": {"q": {"label": label}},
                    "meta": {"user_id": f"u{n // 5}", "variant": ["clean", "override", "removed"][n % 3]},
                }
            )
        )
    return records


def made_up_predictions(records: list[Record], *, strength: float, seed: int) -> list[Prediction]:
    """Normal scores with the right option raised by the family's signal times the model's strength."""
    stream = np.random.default_rng(seed)
    predictions = []
    for record in records:
        kind, options, signal = FAMILIES[record.family("q")]
        keys = {"noul": ["false", "true"], "score": [str(level) for level in range(options)]}.get(
            kind, [f"option {letter}" for letter in "ABCDEF"[:options]]
        )
        scores = stream.normal(0, 1.6, options)
        scores[keys.index(record.targets["q"].best_key())] += signal * strength * 1.6
        p = np.exp(scores - scores.max())
        predictions.append(
            Prediction(
                id=record.id, qid="q", type=kind, family=record.family("q"), options=keys, readout="label",
                log_scores=scores.tolist(), probabilities=(p / p.sum()).tolist(), input_tokens=100,
            )
        )  # fmt: skip
    return predictions


@pytest.fixture(scope="session")
def records() -> list[Record]:
    return made_up_records(480)


@pytest.fixture(scope="session")
def strong(records: list[Record]) -> AlignedQuestions:
    return align(made_up_predictions(records, strength=1.0, seed=1), records)


@pytest.fixture(scope="session")
def weak(records: list[Record]) -> AlignedQuestions:
    return align(made_up_predictions(records, strength=0.6, seed=2), records)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real Chromium without a network, driven by Selenium."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    profile: Path = tmp_path_factory.mktemp("profile")
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync", "hide-scrollbars", f"user-data-dir={profile}",
        "window-size=1200,1600", "host-resolver-rules=MAP * ~NOTFOUND",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def evaluation(strong: AlignedQuestions, weak: AlignedQuestions) -> Evaluation:
    """The strong model with thresholds fitted on it, the weak one beside it, their difference and two error texts."""
    calibration = Calibration(binding=BINDING, thresholds=fit_thresholds(strong.scored, None))
    contenders = [Contender("strong & tuned", strong, calibration), Contender("weak", weak)]
    models = [
        EvaluatedModel(
            report=evaluate(each.questions, each.calibration, MeasureConfig(name=each.name)),
            binding=BINDING,
            predictions_sha256="p" * 64,
            thresholds=None if each.calibration is None else each.calibration.thresholds,
        )
        for each in contenders
    ]
    worst = models[0].report.worst_errors[0]
    return Evaluation(
        data="made-up.jsonl",
        data_sha256="d" * 64,
        models=models,
        comparisons=compare(contenders[0], contenders[1:], CompareOptions(n_resamples=500)),
        texts=[
            ErrorText(
                id=worst.id, qid=worst.qid, question="Which <i>one</i>?", state="<script>alert(1)</script> & more"
            )
        ],
    )
