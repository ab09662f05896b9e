from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from loopback_server import Answer, Call, serve
from serving_process import RunningServer, body_of
from tiny_server import scripted_model

from forthwith.errors import ConfigError, EngineError
from forthwith.model import Model
from forthwith.readout import readout_by_name
from forthwith.serving.server import ModelChoice, bind, warm_up
from forthwith.serving.systemone import read_request, render_response
from forthwith.testing import ScriptedEngine, scripted_log_probs, tiny_encoder, tiny_tokenizer

BODY = json.dumps(body_of("x")).encode()
REQUEST = (
    b"POST /v1/systemone HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    % len(BODY)
)


def expected(state: str) -> object:
    model, request = scripted_model(), read_request(body_of(state))
    return render_response(model.decide(request), request)


def test_a_server_says_what_it_serves_and_answers_as_the_model_does_offline(server: RunningServer) -> None:
    assert server.decide("A parcel.").json() == expected("A parcel.")
    serving = next(line for line in server.lines() if line["message"] == "serving")
    assert (serving["model"], serving["port"], serving["host"]) == ("tiny", server.port, "127.0.0.1")


def test_sixty_four_clients_at_once_get_each_their_own_answers(server: RunningServer) -> None:
    model = scripted_model()
    bodies = [body_of(f"state {number}") for number in range(40)]
    wanted = [render_response(model.decide(body), read_request(body)) for body in bodies]

    async def client(session: httpx.AsyncClient, number: int) -> int:
        wrong = 0
        for turn in range(5):
            index = (number * 7 + turn * 13) % len(bodies)
            response = await session.post(f"{server.url}/v1/systemone", json=bodies[index])
            wrong += response.status_code != 200 or response.json() != wanted[index]
        return wrong

    async def run() -> list[int]:
        async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=64)) as session:
            return await asyncio.gather(*(client(session, number) for number in range(64)))

    assert sum(asyncio.run(run())) == 0
    batches = httpx.get(f"{server.url}/metrics").text
    line = next(line for line in batches.splitlines() if line.startswith("forthwith_batch_requests_count "))
    assert float(line.split()[1]) < 320  # fewer batches than requests: they were answered together


@pytest.mark.slow
def test_sigterm_under_load_answers_everything_that_was_taken(start_server: Callable[..., RunningServer]) -> None:
    server = start_server(delay_s=0.05, batch={"requests": 4}, plan={"drain_s": 0.3})
    outcomes: list[str] = []
    enough = threading.Event()
    expected("")  # imports what it needs, which twelve threads must not do at once

    def ask(number: int) -> None:
        with httpx.Client(base_url=server.url, timeout=30) as client:
            for turn in range(200):
                state = f"client {number} turn {turn}"
                try:
                    response = client.post("/v1/systemone", json=body_of(state))
                except httpx.ConnectError:  # the port is closed: not taken
                    return
                if response.status_code != 200 or response.json() != expected(state):
                    outcomes.append(f"{state}: {response.status_code} {response.text}")
                outcomes.append("answered")
                if len(outcomes) > 40:
                    enough.set()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    assert enough.wait(30)
    server.terminate()
    for thread in threads:
        thread.join()
    assert server.process.wait(20) == 0
    assert set(outcomes) == {"answered"}


@pytest.mark.slow
def test_a_request_in_the_model_is_answered_after_sigterm(start_server: Callable[..., RunningServer]) -> None:
    server = start_server(delay_s=0.6, plan={"drain_s": 0.05})
    with server.connect() as connection:
        connection.sendall(REQUEST + BODY)
        server.terminate()
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert b"200 OK" in answer
    assert b"connection: close" in answer
    assert server.process.wait(20) == 0


@pytest.mark.slow
def test_a_client_that_leaves_gives_up_its_place_in_line(
    start_server: Callable[..., RunningServer], tmp_path: Path
) -> None:
    hold = tmp_path / "hold"
    server = start_server(hold=str(hold), batch={"waiting": 4, "wait_s": 60})
    hold.touch()
    with server.connect() as first:
        first.sendall(REQUEST + BODY)
        _until(lambda: _gauge(server, "in_flight") == 1 and _gauge(server, "waiting") == 0)  # it is in the model now
        leavers = [server.connect() for _ in range(4)]
        for leaver in leavers:
            leaver.sendall(REQUEST + BODY)
        _until(lambda: _gauge(server, "waiting") == 4)
        refused = server.decide()
        assert refused.status_code == 429
        assert 0 < int(refused.headers["retry-after-ms"]) <= 15_000
        for leaver in leavers:
            leaver.close()
        _until(lambda: _gauge(server, "waiting") == 0)
        hold.unlink()
        assert server.decide().status_code == 200
    requests = [line for line in server.lines() if line["message"] == "request" and line["route"] == "systemone"]
    assert [line["status"] for line in requests].count(499) == 4


def test_a_model_on_a_completions_server_decides_as_one_in_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_KEY", "far-secret")
    tokenizer = tiny_tokenizer()
    tokenizer.save_pretrained(tmp_path)

    def respond(call: Call) -> Answer:
        assert call.headers["authorization"] == "Bearer far-secret"
        if call.path == "/v1/models":
            return Answer({"data": [{"id": "far", "owned_by": "vllm", "max_model_len": 4096}]})
        if call.path == "/tokenize":
            return Answer({"tokens": tokenizer.encode(call.json["prompt"], add_special_tokens=False)})
        if call.path == "/v1/completions":
            wanted = tuple(call.json["logprob_token_ids"])
            told = scripted_log_probs(tuple(call.json["prompt"]), wanted)
            top = {f"token_id:{token}": float(value) for token, value in zip(wanted, told, strict=True)}
            first = next(iter(top))
            return Answer(
                {"choices": [{"logprobs": {"tokens": [first], "token_logprobs": [top[first]], "top_logprobs": [top]}}]}
            )
        return Answer({"version": "1.0"})

    with serve(respond) as far:
        model = ModelChoice(str(tmp_path), readout="branch", engine_url=far.url, engine_key_env="FAR_KEY").load()
        found = render_response(model.decide(read_request(body_of("x"))), read_request(body_of("x")))
    assert found["model"] == "far"
    here = Model(ScriptedEngine(), tiny_encoder(), readout_by_name("branch"))
    wanted = render_response(here.decide(read_request(body_of("x"))), read_request(body_of("x")))["answers"]
    assert found["answers"]["lost"]["noul"] == pytest.approx(wanted["lost"]["noul"])
    assert found["answers"]["queue"]["probabilities"] == pytest.approx(wanted["queue"]["probabilities"])


def test_an_address_in_use_is_refused_by_name() -> None:
    taken = bind("127.0.0.1", 0)
    taken.listen()
    with pytest.raises(ConfigError, match=r"cannot listen on 127\.0\.0\.1 port"):
        bind("127.0.0.1", taken.getsockname()[1])
    taken.close()
    with pytest.raises(ConfigError, match=r"no\.such\.host\.invalid"):
        bind("no.such.host.invalid", 80)


def test_sockets_say_that_they_are_tcp() -> None:
    with bind("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_a_model_that_cannot_answer_fails_before_the_port_opens() -> None:
    def before(_trees: object) -> None:
        raise EngineError("no memory")

    with pytest.raises(EngineError, match="no memory"):
        warm_up(Model(ScriptedEngine(before=before), tiny_encoder(), readout_by_name("branch")))


def _gauge(server: RunningServer, name: str) -> int:
    lines = httpx.get(f"{server.url}/metrics").text.splitlines()
    return int(float(next(line for line in lines if line.startswith(f"forthwith_{name}_requests ")).split()[1]))


def _until(holds: Callable[[], bool], seconds: float = 10) -> None:
    pause = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if holds():
            return
        pause.wait(0.02)
    raise AssertionError("it never came to hold")
