from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from loopback_server import Answer, Call, serve

from forthwith.deciding import Decided, Failed, decide_each, decide_stream
from forthwith.engine.systemone import SystemOneEngine
from forthwith.errors import DataError, EngineError, RequestError
from forthwith.model import Model
from forthwith.readout import BranchReadout
from forthwith.schema import BadLine, Noul, Record
from forthwith.testing import ScriptedEngine, tiny_encoder

ENCODER = tiny_encoder()
QUESTIONS = {"q": Noul(instructions="Late?")}


def records(*states: str) -> list[Record]:
    return [Record(id=f"r{index}", state=state, questions=QUESTIONS) for index, state in enumerate(states)]


def local(**options: Any) -> Model:
    return Model(ScriptedEngine(**options), ENCODER, BranchReadout())


def refuse_long_states(call: Call) -> Answer:
    if call.json["state"] == "too much":
        return Answer({"error": {"message": "the state is too long"}}, status=413)
    return Answer({"model": "m", "answers": {"q": {"type": "noul", "noul": 0.75}}, "usage": {"input_tokens": 9}})


def kinds(outcomes: Sequence[Decided | Failed]) -> list[str]:
    return [type(outcome).__name__ for outcome in outcomes]


def test_a_request_that_a_server_refuses_leaves_the_others_their_answers() -> None:
    with serve(refuse_long_states) as server:
        found = list(decide_stream(SystemOneEngine(server.url), records("a", "too much", "b"), keep_going=True))
        asked = [call.json["state"] for call in server.calls]
    assert kinds(found) == ["Decided", "Failed", "Decided"]
    assert isinstance(found[1], Failed)
    assert "record r1: " in str(found[1].error)
    assert "the state is too long" in str(found[1].error)
    assert found[1].record is not None
    assert found[1].record.id == "r1"
    assert sorted(asked) == ["a", "b", "too much"]  # nobody is asked, and paid, twice


def test_without_keep_going_the_refused_record_is_named_after_those_before_it() -> None:
    with serve(refuse_long_states) as server:
        stream = decide_stream(SystemOneEngine(server.url), records("a", "too much", "b"))
        assert isinstance(next(stream), Decided)
        with pytest.raises(RequestError, match=r"record r1: .*refuses the request: the state is too long"):
            next(stream)


@pytest.mark.parametrize("status", [400, 422])
def test_other_refusals_of_one_request_are_its_own_too(status: int) -> None:
    with serve(
        lambda call: Answer({"error": "no"}, status) if call.json["state"] == "x" else refuse_long_states(call)
    ) as server:
        found = list(decide_stream(SystemOneEngine(server.url), records("x", "a"), keep_going=True))
    assert kinds(found) == ["Failed", "Decided"]


class OneByOne:
    """A decider that refuses a whole batch for one bad request, as anything without `decide_each` may."""

    name, bundle_id = "m", "0" * 12

    def __init__(self) -> None:
        self.model = local()
        self.binding = self.model.binding

    def prepare(self, request: Any, families: Mapping[str, str] | None = None) -> Any:
        return self.model.prepare(request, families)

    def decide_prepared(self, prepared: Sequence[Any]) -> list[Any]:
        if any(item.request.state == "bad" for item in prepared):
            raise RequestError("one of these is bad")
        return self.model.decide_prepared(prepared)


def test_a_batch_refused_as_a_whole_is_asked_one_by_one() -> None:
    found = list(decide_stream(OneByOne(), records("a", "bad", "b"), keep_going=True))
    assert kinds(found) == ["Decided", "Failed", "Decided"]
    assert decide_each(OneByOne(), []) == []


def test_an_engine_that_fails_is_nobodys_request() -> None:
    def fail(_trees: object) -> None:
        raise EngineError("no more power")

    with pytest.raises(EngineError, match="no more power"):
        list(decide_stream(local(before=fail), records("a"), keep_going=True))


def test_bad_lines_and_records_that_cannot_be_asked_stay_in_their_places() -> None:
    bad = BadLine(Path("f"), 7, DataError("not JSON", "f", 7))
    unfit = Record(id="r9", state="word " * 300, questions=QUESTIONS)
    found = list(decide_stream(local(max_tokens=200), [bad, *records("a"), unfit], keep_going=True))
    assert kinds(found) == ["Failed", "Decided", "Failed"]
    assert [getattr(outcome, "line", None) for outcome in found] == [7, None, None]
    with pytest.raises(DataError, match="f:7: not JSON"):
        list(decide_stream(local(), [bad]))
    with pytest.raises(RequestError, match=r"record r9: .* needs"):
        list(decide_stream(local(max_tokens=200), [unfit]))


def test_what_came_before_a_bad_line_is_answered_before_it_is_raised() -> None:
    bad = BadLine(Path("f"), 3, DataError("not JSON", "f", 3))
    unfit = Record(id="r9", state="word " * 300, questions=QUESTIONS)
    for last, error in ((bad, DataError), (unfit, RequestError)):
        stream = decide_stream(local(max_tokens=200), [*records("a", "b"), last])
        assert kinds([next(stream), next(stream)]) == ["Decided", "Decided"]
        with pytest.raises(error):
            next(stream)


def test_batches_keep_to_their_tokens_and_their_number() -> None:
    sizes: list[int] = []
    engine = ScriptedEngine(before=lambda trees: sizes.append(len(trees)))
    model = Model(engine, ENCODER, BranchReadout())
    assert len(list(decide_stream(model, records(*"a" * 130)))) == 130
    assert sizes == [64, 64, 2]
    sizes.clear()
    one = model.prepare(records("a")[0]).tokens
    assert len(list(decide_stream(model, records(*"abcd"), batch_tokens=2 * one))) == 4
    assert sizes == [2, 2]
    assert list(decide_stream(model, [])) == []


def test_coherent_answers_are_projected_and_nothing_is_automated() -> None:
    from forthwith.deciding import CoherentDecider
    from forthwith.model import Model
    from forthwith.readout import BranchReadout
    from forthwith.schema import Choice, Noul
    from forthwith.testing import ScriptedEngine, tiny_encoder

    model = Model(ScriptedEngine(), tiny_encoder(), BranchReadout())
    questions = {"n": Noul(instructions="Lost?"), "c": Choice(criteria={"a": None, "b": None, "c": None})}
    plain, coherent = model.decide("s", questions), model.decide("s", questions, coherent=2.0)
    assert set(coherent.answers) == set(questions)
    assert coherent["c"].probabilities.sum() == pytest.approx(1.0)
    assert coherent["c"].probabilities.tolist() != plain["c"].probabilities.tolist()
    assert not coherent.calibrated
    assert coherent.bundle_id == f"{plain.bundle_id}+coherent(2)"
    trusting = CoherentDecider(model, 1e9)
    (same,) = trusting.decide_prepared([trusting.prepare({"state": "s", "questions": questions})])
    assert same["c"].probabilities.tolist() == pytest.approx(plain["c"].probabilities.tolist(), abs=1e-6)
    assert (trusting.name, trusting.binding) == (model.name, model.binding)
