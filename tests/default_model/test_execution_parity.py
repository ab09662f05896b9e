"""The default model itself: packed rows and forks of a cached state against one plain prompt a leaf."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from forthwith.calibration import softmax
from forthwith.engine.transformers import ExecutionLimits, TransformersEngine
from forthwith.model import Model
from forthwith.readout import readout_by_name
from forthwith.schema import Choice, Noul, Score

pytestmark = pytest.mark.default_model

TOLERANCE = 1e-4  # in probability, float32
STATE = {
    "subject": "Parcel 4471 has not moved for nine days",
    "history": [
        f"Day {day}: the depot in {town} scanned it at 0{day}:15 and said it would leave the same evening."
        for day, town in enumerate(("Gdynia", "Lyon", "Porto", "Bergen", "Graz", "Turku"), start=1)
    ],
}
QUESTIONS = {
    "lost": Noul(instructions="Is the parcel lost?"),
    "queue": Choice(criteria={"carrier": "Ask the carrier", "refund": "Give the money back", "wait": None}),
    "heat": Score(criteria=["calm", "annoyed", "furious"]),
}


@pytest.mark.parametrize("readout", ["branch", "label(orders=2,log)"])
def test_packed_forked_and_plain_agree(default_base: Model, readout: str) -> None:
    engine = default_base.engine
    assert isinstance(engine, TransformersEngine)
    ways: dict[str, dict[str, Any]] = {
        "plain": {"executor": "plain"},
        "packed": {"limits": ExecutionLimits(row=4096, batch=4096, chunk=4096, prefix_cache_bytes=1 << 30)},
        "forked": {"limits": ExecutionLimits(row=1, batch=4096, chunk=96, prefix_cache_bytes=1 << 30)},
    }
    answers: dict[str, np.ndarray] = {}
    for way, options in ways.items():
        model = Model(TransformersEngine(engine.loaded, way, **options), default_base.encoder, readout_by_name(readout))
        (tree,) = model.prepare({"state": STATE, "questions": QUESTIONS}).plan.trees
        assert len(tree.segments[0].ids) > 200
        decision = model.decide(STATE, QUESTIONS)
        answers[way] = np.concatenate([softmax(answer.log_scores) for answer in decision.answers.values()])
    assert answers["packed"].tolist() == pytest.approx(answers["plain"].tolist(), abs=TOLERANCE)
    assert answers["forked"].tolist() == pytest.approx(answers["plain"].tolist(), abs=TOLERANCE)
