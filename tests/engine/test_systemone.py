from __future__ import annotations

import importlib.util
import json
import math
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from forthwith.engine.server_calls import CallSettings, ServerCalls
from forthwith.engine.systemone import SystemOneEngine
from forthwith.errors import EngineError, OverloadedError, RequestError
from forthwith.schema import parse_record

REQUEST = {
    "state": {"subject": "Parcel missing"},
    "questions": {
        "lost": {"type": "noul", "criteria": {"true": "it is lost"}},
        "queue": {
            "type": "choice",
            "instructions": "Who?",
            "criteria": {"carrier": None, "refund": {"a": 1}, "é": "x"},
        },
        "heat": {"type": "score", "instructions": "How upset?", "criteria": ["calm", "cross", "furious"]},
    },
}


def reply(**changes):
    answers = {
        "heat": {"type": "score", "score": 0.7, "confidence": 0.2, "probabilities": {"2": 0.1, "0": 0.4, "1": 0.5}},
        "lost": {"type": "noul", "noul": 0.83},
        "queue": {
            "type": "choice",
            "choice": "carrier",
            "confidence": 0.55,
            "probabilities": {"carrier": 0.7, "é": 0.1, "refund": 0.2},
        },
    }
    body = {"model": "jev-1.14.0", "answers": answers, "usage": {"input_tokens": 210, "output_tokens": 6}}
    return body | changes


def with_answer(qid, **changes):
    body = reply()
    body["answers"][qid] = body["answers"][qid] | changes
    return body


def always(answer):
    return lambda _call: answer


def test_answers_come_back_by_key_whatever_their_order(loopback, answer_with):
    with loopback(always(answer_with(reply()))) as server:
        decision = SystemOneEngine(server.url).decide(REQUEST)
    assert decision["queue"].keys == ("carrier", "refund", "é")
    np.testing.assert_allclose(decision["queue"].probabilities, [0.7, 0.2, 0.1])
    np.testing.assert_allclose(decision["queue"].log_scores, np.log([0.7, 0.2, 0.1]))
    np.testing.assert_allclose(decision["heat"].probabilities, [0.4, 0.5, 0.1])
    np.testing.assert_allclose(decision["lost"].probabilities, [0.17, 0.83])
    assert decision["queue"].confidence == pytest.approx((0.7 - 1 / 3) / (1 - 1 / 3))
    assert (decision.model, decision.calibrated) == ("jev-1.14.0", False)
    assert (decision.usage.input_tokens, decision.usage.leaves) == (210, 3)
    assert decision["lost"].lost_mass == 0.0


def test_the_body_keeps_null_descriptions_and_leaves_absent_instructions_out(loopback, answer_with):
    with loopback(always(answer_with(reply()))) as server:
        SystemOneEngine(server.url, model="m", api_key="sesame").decide(REQUEST)
        [call] = server.calls
    assert (call.method, call.path) == ("POST", "/v1/systemone")
    assert call.headers["authorization"] == "Bearer sesame"
    assert call.json == {"model": "m", **REQUEST}
    assert list(call.json["questions"]["queue"]["criteria"]) == ["carrier", "refund", "é"]


@pytest.mark.parametrize(
    ("suffix", "path"),
    [
        ("", "/v1/systemone"),
        ("/", "/v1/systemone"),
        ("/v1", "/v1/systemone"),
        ("/v1/systemone", "/v1/systemone"),
        ("/a/b", "/a/b/v1/systemone"),
        ("/api/alpha/decisions", "/api/alpha/decisions"),
    ],
)
def test_the_address_may_name_the_server_its_version_or_the_route(loopback, answer_with, suffix, path):
    with loopback(always(answer_with(reply()))) as server:
        SystemOneEngine(server.url + suffix).decide(REQUEST)
        assert server.calls[0].path == path


def test_a_probability_rounded_to_zero_is_a_floor_and_its_bound_is_told(loopback, answer_with):
    body = with_answer("queue", probabilities={"carrier": 1.0, "refund": 0.0, "é": 0.0})
    with loopback(always(answer_with(body))) as server:
        answer = SystemOneEngine(server.url).decide(REQUEST)["queue"]
    # Two decimals: below 0.005 shows as 0.00. Two such options hold less than 0.01 together.
    np.testing.assert_allclose(answer.log_scores, [0.0, math.log(0.0025), math.log(0.0025)])
    assert answer.lost_mass == pytest.approx(0.01)
    assert answer.probabilities.sum() == pytest.approx(1.0, abs=1e-12)


def test_full_precision_keeps_small_probabilities(loopback, answer_with):
    small = {"carrier": 1 - 3.3e-7, "refund": 2.2e-7, "é": 1.1e-7}
    with loopback(always(answer_with(with_answer("queue", probabilities=small)))) as server:
        answer = SystemOneEngine(server.url).decide(REQUEST)["queue"]
    np.testing.assert_allclose(np.exp(answer.log_scores), list(small.values()))
    assert answer.lost_mass == 0.0


def test_extras_of_a_server_of_our_own_are_read(loopback, answer_with):
    body = with_answer("queue", x_verdict="ask", x_none_score=-1.5, x_lost_mass=0.25)
    body |= {"x_bundle": "abc", "x_calibrated": True}
    body["usage"] |= {"x_cached_tokens": 9}
    with loopback(always(answer_with(body))) as server:
        decision = SystemOneEngine(server.url).decide(REQUEST)
    assert (decision.bundle_id, decision.calibrated, decision.usage.cached_tokens) == ("abc", True, 9)
    answer = decision["queue"]
    assert (answer.verdict, answer.none_score, answer.lost_mass) == ("ask", -1.5, 0.25)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (reply(answers={"lost": {"type": "noul", "noul": 0.5}}), "did not answer the question 'queue'"),
        (reply(answers=[]), "answers is .*not an object"),
        (reply(model=None), "does not say which model answered"),
        (with_answer("lost", type="boolean"), "answered 'lost' as a 'boolean'"),
        (with_answer("lost", noul=1.2), "answers.lost.noul is 1.2"),
        (with_answer("lost", noul="0.5"), "answers.lost.noul is '0.5'"),
        (with_answer("lost", noul=None), "answers.lost.noul is None"),
        (with_answer("queue", probabilities={"carrier": 1.0, "refund": 0.0}), "'é' is not on both sides"),
        (with_answer("queue", probabilities={"Carrier": 0.7, "refund": 0.2, "é": 0.1}), "'Carrier' is not on both"),
        (with_answer("heat", probabilities={"0": 0.4, "1": 0.2, "2": 0.1}), "sum to 0.7000"),
        (with_answer("heat", probabilities=[0.4, 0.5, 0.1]), "probabilities is .*not an object"),
    ],
)
def test_an_answer_that_breaks_the_contract_is_refused_by_name(loopback, answer_with, body, message):
    with loopback(always(answer_with(body))) as server, pytest.raises(EngineError, match=message) as caught:
        SystemOneEngine(server.url).decide(REQUEST)
    assert not caught.value.retryable


@pytest.mark.parametrize("raw", [b'{"model": "m", "answers"', b"<html></html>", b'{"a": NaN'])
def test_broken_json_is_an_engine_error(loopback, answer_with, raw):
    with loopback(always(answer_with(raw))) as server, pytest.raises(EngineError, match="not JSON"):
        SystemOneEngine(server.url).decide(REQUEST)


def test_nan_in_an_answer_is_refused(loopback, answer_with):
    raw = json.dumps(with_answer("lost", noul=math.nan)).encode()
    with loopback(always(answer_with(raw))) as server, pytest.raises(EngineError, match="noul is nan"):
        SystemOneEngine(server.url).decide(REQUEST)


def test_a_busy_server_is_asked_again_after_the_wait_it_names(loopback, answer_with):
    left = [
        answer_with({}, 429, {"retry-after-ms": "40"}),
        answer_with({}, 529, {"retry-after": "1"}),
        answer_with(reply()),
    ]
    waits: list[float] = []
    with loopback(lambda _call: left.pop(0)) as server:
        calls = ServerCalls(CallSettings(server.url), sleep=waits.append)
        assert SystemOneEngine(server.url, calls=calls).decide(REQUEST).model == "jev-1.14.0"
    assert waits == [0.04, 1.0]


def test_a_server_that_stays_overloaded_says_when_to_come_back(loopback, answer_with):
    with loopback(always(answer_with({}, 529, {"retry-after": "7"}))) as server:
        calls = ServerCalls(CallSettings(server.url, attempts=2), sleep=lambda _s: None)
        with pytest.raises(OverloadedError) as caught:
            SystemOneEngine(server.url, calls=calls).decide(REQUEST)
    assert caught.value.retry_after_s == 7.0


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_the_server_refuses_is_the_callers_error(loopback, answer_with, status):
    body = {"detail": {"error_type": "max_tokens_exceeded", "message": "too long"}}
    with loopback(always(answer_with(body, status))) as server, pytest.raises(RequestError, match="too long"):
        SystemOneEngine(server.url).decide(REQUEST)


def test_a_wrong_key_is_the_operators_error(loopback, answer_with):
    bad_key = answer_with({"detail": "bad key"}, 401)
    with loopback(always(bad_key)) as server, pytest.raises(EngineError, match="check the API key"):
        SystemOneEngine(server.url, api_key="x").decide(REQUEST)


def test_another_model_than_before_is_refused(loopback, answer_with):
    left = [answer_with(reply()), answer_with(reply(model="jev-1.15.0"))]
    with loopback(lambda _call: left.pop(0)) as server:
        engine = SystemOneEngine(server.url)
        engine.decide(REQUEST)
        with pytest.raises(EngineError, match=r"'jev-1\.14\.0' before and as 'jev-1\.15\.0' now.*pinned"):
            engine.decide(REQUEST)


def test_many_requests_are_answered_in_order_and_their_cost_is_summed(loopback, answer_with):
    def respond(call):
        body = reply(usage={"input_tokens": 10, "output_tokens": 2, "cost": 0.5})
        body["answers"]["lost"]["noul"] = call.json["state"]["n"] / 100
        return answer_with(body)

    with loopback(respond) as server:
        engine = SystemOneEngine(server.url, settings=CallSettings(server.url, concurrency=4))
        prepared = [engine.prepare({**REQUEST, "state": {"n": n}}) for n in range(1, 21)]
        decisions = engine.decide_prepared(prepared)
    assert [decision["lost"].value for decision in decisions] == pytest.approx([n / 100 for n in range(1, 21)])
    assert (engine.totals.requests, engine.totals.input_tokens, engine.totals.output_tokens) == (20, 200, 40)
    assert engine.totals.cost == pytest.approx(10.0)


def test_a_record_brings_its_families_and_a_size(loopback, answer_with):
    record = parse_record({"id": "r", **REQUEST, "meta": {"task": "parcels"}})
    with loopback(always(answer_with(reply()))) as server:
        engine = SystemOneEngine(server.url)
        prepared = engine.prepare(record)
        assert engine.decide_prepared([prepared])[0]["lost"].family == "parcels"
        assert 50 < prepared.tokens < 200


def test_the_binding_names_the_address_and_the_model(loopback, answer_with):
    one, two = SystemOneEngine("http://a/v1", model="m"), SystemOneEngine("http://a", model="n")
    assert one.binding.weights_sha256 == "remote:http://a#m"
    assert one.bundle_id != two.bundle_id
    assert len(one.bundle_id) == 12
    with loopback(always(answer_with({"models": [{"name": "m"}, {"name": "jev-latest"}]}))) as server:
        engine = SystemOneEngine(server.url)
        assert engine.models() == ["m", "jev-latest"]
        engine.close()
    with loopback(always(answer_with({"data": []}))) as server, pytest.raises(EngineError, match="lists no models"):
        SystemOneEngine(server.url).models()


def test_a_bad_request_never_leaves_the_machine(loopback, answer_with):
    with loopback(always(answer_with(reply()))) as server:
        with pytest.raises(RequestError, match="needs 2 to 255 options"):
            SystemOneEngine(server.url).decide("s", {"q": {"type": "choice", "criteria": {"a": None}}})
        assert server.calls == []


@pytest.mark.skipif(
    importlib.util.find_spec("jevcompat") is None, reason="needs the reference server: pip install jevcompat"
)
def test_the_reference_server_is_read_in_full():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).parent / "jevcompat"), "mock", "--port", str(port), "--key", "k"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            settings = CallSettings(f"http://127.0.0.1:{port}", attempts=8)
            engine = SystemOneEngine(settings.url, api_key="k", settings=settings)
            assert "jev-latest" in engine.models()
            decision = engine.decide(REQUEST)
            assert set(decision.answers) == set(REQUEST["questions"])
            assert all(answer.probabilities.sum() == pytest.approx(1.0) for answer in decision.answers.values())
            with pytest.raises(EngineError, match="check the API key"):
                SystemOneEngine(settings.url, api_key="wrong").decide(REQUEST)
        finally:
            process.kill()
