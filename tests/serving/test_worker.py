from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from forthwith.encoding import TokenTree
from forthwith.errors import ArtifactError, EngineError, OverloadedError
from forthwith.model import Model
from forthwith.readout import readout_by_name
from forthwith.serving.scheduler import BatchLimits
from forthwith.serving.worker import BatchReport, ModelWorker
from forthwith.testing import ScriptedEngine, tiny_encoder

QUESTION = {"a": {"type": "choice", "instructions": "Which?", "criteria": {"x": None, "y": None, "z": None}}}


def model_that(before: Callable[[Sequence[TokenTree]], None] | None = None) -> Model:
    return Model(ScriptedEngine(before=before), tiny_encoder(), readout_by_name("branch"))


class Gate:
    """Holds the model's thread inside a batch until it is opened."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()
        self.sizes: list[int] = []

    def __call__(self, trees: Sequence[TokenTree]) -> None:
        self.sizes.append(len(trees))
        self.entered.set()
        assert self.opened.wait(10)


async def behind(gate: Gate, worker: ModelWorker, model: Model, states: Sequence[str]) -> list[asyncio.Task[object]]:
    """One request in the model, and the others in line behind it."""
    first = asyncio.ensure_future(worker.decide(model.prepare({"state": "first", "questions": QUESTION})))
    await asyncio.to_thread(gate.entered.wait, 10)
    tasks = [asyncio.ensure_future(worker.decide(model.prepare({"state": s, "questions": QUESTION}))) for s in states]
    await asyncio.sleep(0)
    return [first, *tasks]  # type: ignore[list-item]


def test_every_request_gets_its_own_answer_and_waiting_ones_share_a_batch() -> None:
    gate, reports = Gate(), list[BatchReport]()
    model = model_that(gate)
    worker = ModelWorker(model, BatchLimits(), observe=reports.append)
    states = [f"state {number}" for number in range(20)]

    async def run() -> list[object]:
        worker.start()
        tasks = await behind(gate, worker, model, states)
        gate.opened.set()
        return await asyncio.gather(*tasks)

    turns = asyncio.run(run())
    worker.close()
    for state, turn in zip(["first", *states], turns, strict=True):
        expected = model_that().decide(state, QUESTION)["a"].probabilities
        np.testing.assert_array_equal(turn.decision["a"].probabilities, expected)  # type: ignore[attr-defined]
    assert [report.requests for report in reports] == [1, 20]


def test_a_request_that_breaks_the_model_does_not_break_its_neighbours() -> None:
    encoder = tiny_encoder()
    bad = encoder.text("BAD")

    def before(trees: Sequence[TokenTree]) -> None:
        if any(bad[0] in tree.segments[0].ids and b"BAD" in bytes_of(tree) for tree in trees):
            raise EngineError("broken")

    def bytes_of(tree: TokenTree) -> bytes:
        ids = tree.segments[0].ids
        found = any(ids[start : start + len(bad)] == bad for start in range(len(ids)))
        return b"BAD" if found else b""

    model = model_that(before)
    worker = ModelWorker(model, BatchLimits())

    async def run() -> list[object]:
        worker.start()
        prepared = [model.prepare({"state": state, "questions": QUESTION}) for state in ("good", "BAD", "fine")]
        return await asyncio.gather(*map(worker.decide, prepared), return_exceptions=True)

    good, broken, fine = asyncio.run(run())
    worker.close()
    assert isinstance(broken, EngineError)
    assert good.decision.model == fine.decision.model == "model"  # type: ignore[attr-defined]


def test_cancelling_frees_the_place_in_line() -> None:
    gate = Gate()
    model = model_that(gate)
    worker = ModelWorker(model, BatchLimits(waiting=2))

    async def run() -> None:
        worker.start()
        first, second, third = await behind(gate, worker, model, ["second", "third"])
        with pytest.raises(OverloadedError):
            await worker.decide(model.prepare({"state": "fourth", "questions": QUESTION}))
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        fourth = asyncio.ensure_future(worker.decide(model.prepare({"state": "fourth", "questions": QUESTION})))
        await asyncio.sleep(0)
        gate.opened.set()
        await asyncio.gather(first, third, fourth)

    asyncio.run(run())
    worker.close()
    assert gate.sizes == [1, 2]  # the cancelled request never reached the model


def test_who_waited_too_long_is_refused_with_advice() -> None:
    gate = Gate()
    model = model_that(gate)
    worker = ModelWorker(model, BatchLimits(wait_s=0.05))

    async def run() -> None:
        worker.start()
        first, second = await behind(gate, worker, model, ["second"])
        with pytest.raises(OverloadedError, match=r"no turn came within 0\.05 s"):
            await second
        gate.opened.set()
        await first

    asyncio.run(run())
    worker.close()


def test_closing_answers_everybody_in_line_and_takes_nobody_new() -> None:
    gate = Gate()
    model = model_that(gate)
    worker = ModelWorker(model, BatchLimits())

    async def run() -> list[object]:
        worker.start()
        tasks = await behind(gate, worker, model, ["second", "third"])
        closing = asyncio.ensure_future(asyncio.to_thread(worker.close))
        await asyncio.sleep(0.01)
        with pytest.raises(OverloadedError, match="shutting down"):
            await worker.decide(model.prepare({"state": "late", "questions": QUESTION}))
        gate.opened.set()
        answers = await asyncio.gather(*tasks)
        await closing
        return answers

    assert len(asyncio.run(run())) == 3
    assert not worker.is_alive


def test_answers_given_while_the_model_changed_are_withheld() -> None:
    calls = iter([None, ArtifactError("weights changed")])
    model = model_that()

    def check() -> None:
        problem = next(calls, None)
        if problem is not None:
            raise problem

    worker = ModelWorker(model, BatchLimits(), check_model=check)

    async def run() -> None:
        worker.start()
        await worker.decide(model.prepare({"state": "s", "questions": QUESTION}))

    with pytest.raises(ArtifactError, match="weights changed"):
        asyncio.run(run())
    worker.close()
