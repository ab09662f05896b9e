from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
import zstandard
from serving_process import QUESTIONS, body_of
from starlette.testclient import TestClient
from tiny_server import FAULT

from forthwith.encoding import TokenTree
from forthwith.model import Model
from forthwith.readout import readout_by_name
from forthwith.serving.app import create_app
from forthwith.serving.keys import ApiKey, new_key
from forthwith.serving.scheduler import BatchLimits
from forthwith.serving.settings import RequestLimits, ServingSettings
from forthwith.serving.systemone import read_request, render_response
from forthwith.testing import ScriptedEngine, tiny_encoder

PATHS = ("/v1/systemone", "/v1/decisions", "/api/alpha/decisions")


def app_client(model: Model, **settings: Any) -> TestClient:
    return TestClient(create_app(model, ServingSettings(**settings)), raise_server_exceptions=False)


def keyed(name: str, **rates: int) -> tuple[str, ApiKey]:
    key, lines = new_key(name)
    found = re.search(r'sha256 = "(\w+)"', lines)
    assert found is not None
    return key, ApiKey(name, found.group(1), **rates)


def test_the_answer_is_what_the_model_says_offline(client: TestClient, model: Model) -> None:
    response = client.post("/v1/systemone", json=body_of("A parcel."))
    request = read_request(body_of("A parcel."))
    assert response.status_code == 200
    assert response.json() == render_response(model.decide(request), request)


def test_a_family_named_in_the_body_brings_its_own_threshold(model: Model) -> None:
    calibration = model.calibration
    assert calibration is not None
    thresholds = calibration.thresholds.model_copy(update={"by_family": {"never": None, "always": 0.0}})
    parts = (model.engine, model.encoder, model.readout, calibration.model_copy(update={"thresholds": thresholds}))
    with app_client(Model(*parts, name="tiny")) as session:
        for path in ("/v1/systemone", "/api/alpha/decisions"):
            for family, verdict in (("never", "ask"), ("always", "automate")):
                body = json.loads(json.dumps(body_of("A parcel.")))
                for question in body["questions"].values():
                    question["x_family"] = family
                answers = session.post(path, json=body).json()["answers"]
                assert {answer["x_verdict"] for answer in answers.values()} == {verdict}, path


def test_every_response_has_an_id_and_is_json(client: TestClient) -> None:
    responses = [
        client.post("/v1/systemone", json=body_of("x")),
        client.post("/v1/systemone", content=b"{"),
        client.get("/v1/models"),
        client.get("/v1/nothing"),
        client.get("/v1/systemone"),
        client.post("/v1/systemone/", json=body_of("x"), follow_redirects=False),
    ]
    assert [response.status_code for response in responses] == [200, 422, 200, 404, 405, 404]
    for response in responses:
        assert re.fullmatch(r"req_[0-9a-f]{24}", response.headers["x-typesafe-request-id"])
        assert response.headers["content-type"] == "application/json"
        assert "total;dur=" in response.headers["server-timing"]
        response.json()
    assert responses[3].json() == {"detail": "Not Found"}


def test_models_are_listed_under_all_their_names(client: TestClient) -> None:
    models = client.get("/v1/models").json()["models"]
    assert [model["name"] for model in models] == ["jev-latest", "jev-preview", "tiny"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", model["release_date"]) for model in models)


def test_unknown_models_are_refused_and_missing_ones_are_ours(client: TestClient) -> None:
    refused = client.post("/v1/systemone", json=body_of("x") | {"model": "JEV-LATEST"})
    assert refused.status_code == 400
    assert refused.json()["detail"]["error_type"] == "api_usage_error"
    assert client.post("/v1/systemone", json={"state": "x", "questions": QUESTIONS}).json()["model"] == "tiny"


@pytest.mark.parametrize(("encoding", "compress"), [("zstd", zstandard.compress), ("gzip", gzip.compress)])
def test_compressed_bodies_are_read(client: TestClient, encoding: str, compress: Any) -> None:
    body = compress(json.dumps(body_of("x" * 2000)).encode())
    headers = {"content-encoding": encoding, "content-type": "application/json"}
    assert client.post("/v1/systemone", content=body, headers=headers).status_code == 200


def test_the_other_dialects_answer_on_their_paths(client: TestClient) -> None:
    openai = {"model": "tiny", "input": "x", "questions": [{"type": "predicate", "instructions": "Is it?"}]}
    answer = client.post("/v1/decisions", json=openai).json()["answers"][0]
    assert answer["type"] == "predicate"
    routed = client.post("/api/alpha/decisions", json=body_of("x") | {"model": "~typesafe/jev-latest"}).json()
    assert routed["answers"] == client.post("/v1/systemone", json=body_of("x")).json()["answers"]
    assert client.post("/v1/decisions", json={}).json()["error"]["type"] == "invalid_request_error"
    assert client.post("/api/alpha/decisions", json={}).json()["error"]["code"] == 422


def test_ids_order_and_other_questions_change_nothing(client: TestClient) -> None:
    plain = client.post("/v1/systemone", json=body_of("x")).json()["answers"]
    renamed = {"state": "x", "questions": {f"한 {qid} 🎈": QUESTIONS[qid] for qid in reversed(QUESTIONS)}}
    again = client.post("/v1/systemone", json=renamed).json()["answers"]
    assert {qid: again[f"한 {qid} 🎈"] for qid in QUESTIONS} == plain
    for qid, question in QUESTIONS.items():
        assert (
            client.post("/v1/systemone", json={"state": "x", "questions": {qid: question}}).json()["answers"][qid]
            == plain[qid]
        )


@pytest.mark.parametrize("path", PATHS)
def test_keys_are_asked_for_where_they_are_set(model: Model, path: str) -> None:
    key, held = keyed("alice")
    with app_client(model, keys=(held,)) as client:
        assert client.post(path, json=body_of("x")).status_code == 401
        assert client.post(path, json=body_of("x"), headers={"authorization": "Bearer no"}).status_code == 401
        assert client.post(path, json=body_of("x"), headers={"authorization": f"Bearer {key}"}).status_code == 200
        assert client.get("/v1/models").status_code == 401
        assert client.get("/healthz").status_code == 200
        refused = client.post("/v1/systemone", json=body_of("x")).json()
        assert refused["detail"]["error_type"] == "authentication_error"


def test_each_key_has_its_own_rate(model: Model) -> None:
    (fast, first), (slow, second) = keyed("fast"), keyed("slow", requests_per_minute=1)
    with app_client(model, keys=(first, second)) as client:
        statuses = [
            client.post("/v1/systemone", json=body_of("x"), headers={"authorization": f"Bearer {key}"}).status_code
            for key in (slow, slow, fast, fast)
        ]
    assert statuses == [200, 429, 200, 200]


def test_tokens_are_counted_against_a_key(model: Model) -> None:
    key, held = keyed("alice", tokens_per_minute=900)
    with app_client(model, keys=(held,)) as client:
        headers = {"authorization": f"Bearer {key}"}
        first = client.post("/v1/systemone", json=body_of("x"), headers=headers)
        second = client.post("/v1/systemone", json=body_of("x"), headers=headers)
    assert first.status_code == 200
    assert second.status_code == 429
    assert 0 < int(second.headers["retry-after-ms"]) <= 15_000
    assert int(second.headers["retry-after"]) >= 1


def test_over_long_requests_are_refused_never_cut(model: Model) -> None:
    with app_client(model, limits=RequestLimits(tokens=500, body_bytes=10_000)) as client:
        long = client.post("/v1/systemone", json=body_of("word " * 300))
        huge = client.post("/v1/systemone", json=body_of("word " * 3000))
    assert long.status_code == huge.status_code == 413
    assert long.json()["detail"]["error_type"] == "max_tokens_exceeded"
    assert huge.json()["detail"]["error_type"] == "body_too_large"


def test_a_path_longer_than_the_model_reads_is_refused(client: TestClient) -> None:
    response = client.post("/v1/systemone", json=body_of("word " * 3000))
    assert response.status_code == 413
    assert "the model reads at most 8192" in response.json()["detail"]["message"]


def test_an_engine_failure_is_a_500_with_an_id_and_the_next_request_is_fine(client: TestClient) -> None:
    failed = client.post("/v1/systemone", json=body_of(f"secret\n{FAULT}"))
    assert failed.status_code == 500
    assert failed.headers["x-typesafe-request-id"].startswith("req_")
    assert "secret" not in failed.text
    assert client.post("/v1/systemone", json=body_of("x")).status_code == 200


def test_numbers_that_are_not_finite_never_leave_the_server() -> None:
    import numpy as np

    broken = ScriptedEngine(lambda _path, candidates: np.full(len(candidates), np.nan))
    with app_client(Model(broken, tiny_encoder(), readout_by_name("branch"))) as client:
        response = client.post("/v1/systemone", json=body_of("x"))
    assert response.status_code == 500
    assert "NaN" not in response.text


def test_a_full_line_answers_429_with_advice(model: Model) -> None:
    import threading

    entered, opened = threading.Event(), threading.Event()

    def before(_trees: Sequence[TokenTree]) -> None:
        entered.set()
        assert opened.wait(10)

    slow = Model(ScriptedEngine(before=before), tiny_encoder(), readout_by_name("branch"))
    with app_client(slow, batch=BatchLimits(waiting=1)) as client:
        answers: list[int] = []
        ask = lambda: answers.append(client.post("/v1/systemone", json=body_of("x")).status_code)  # noqa: E731
        threads = [threading.Thread(target=ask) for _ in range(6)]
        threads[0].start()
        assert entered.wait(10)
        for thread in threads[1:]:
            thread.start()
        while answers.count(429) < 4:
            threading.Event().wait(0.01)
        refused = client.post("/v1/systemone", json=body_of("x"))
        opened.set()
        for thread in threads:
            thread.join()
    assert sorted(answers) == [200, 200, 429, 429, 429, 429]
    assert refused.status_code == 429
    assert 500 <= int(refused.headers["retry-after-ms"]) <= 15_000


def test_browsers_of_other_origins_are_let_in_only_when_named(model: Model) -> None:
    headers = {"origin": "https://app.example", "access-control-request-method": "POST"}
    with app_client(model) as closed, app_client(model, cors_origins=("https://app.example",)) as opened:
        assert (
            "access-control-allow-origin"
            not in closed.post("/v1/systemone", json=body_of("x"), headers=headers).headers
        )
        assert (
            opened.options("/v1/systemone", headers=headers).headers["access-control-allow-origin"]
            == "https://app.example"
        )
        other = opened.options("/v1/systemone", headers=headers | {"origin": "https://other.example"})
        assert "access-control-allow-origin" not in other.headers


def test_metrics_count_what_happened(model: Model) -> None:
    with app_client(model) as client:
        client.post("/v1/systemone", json=body_of("x"))
        client.post("/v1/systemone", content=b"{")
        client.get("/some/made/up/path")
        text = client.get("/metrics").text
    assert 'forthwith_requests_total{route="systemone",status="200"} 1.0' in text
    assert 'forthwith_requests_total{route="systemone",status="422"} 1.0' in text
    assert 'forthwith_requests_total{route="other",status="404"} 1.0' in text
    assert "forthwith_batch_requests_sum 1.0" in text
    assert 'forthwith_model_info{bundle="' in text
    assert "made" not in text


def test_health_and_readiness_tell_draining_apart(model: Model) -> None:
    app = create_app(model)
    with TestClient(app) as client:
        assert client.get("/readyz").status_code == 200
        app.state.service.draining = True
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        assert client.post("/v1/systemone", json=body_of("x")).headers["connection"] == "close"


def test_the_page_asks_nobody_else(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    for name in re.findall(r'(?:src|href)="(playground/[^"]+)"', page.text):
        assert client.get(f"/{name}").status_code == 200
    assert "http" not in page.text
    assert client.get("/docs").status_code == 404


def test_the_page_can_be_switched_off(model: Model) -> None:
    with app_client(model, playground=False) as client:
        assert client.get("/").status_code == 404


def test_a_jump_of_the_wall_clock_changes_nothing(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    key, held = keyed("alice", requests_per_minute=2)
    real = time.time
    with app_client(model, keys=(held,)) as client:
        headers = {"authorization": f"Bearer {key}"}
        statuses = []
        for jump in (0.0, 86_400.0, -86_400.0):
            monkeypatch.setattr(time, "time", lambda jump=jump: real() + jump)
            statuses.append(client.post("/v1/systemone", json=body_of("x"), headers=headers).status_code)
    assert statuses == [200, 200, 429]
