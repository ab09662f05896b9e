"""The completions engine on a real llama.cpp server with the original quantised file, against the exact engine."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from llama_server import llama_server

from forthwith.default_model import SMOLLM2
from forthwith.default_model.fetch import fetch_gguf
from forthwith.engine.openai import OpenAIEngine
from forthwith.engine.server_calls import CallSettings
from forthwith.errors import ContextTooLongError
from forthwith.model import Model
from forthwith.readout import readout_by_name

pytestmark = [
    pytest.mark.default_model,
    pytest.mark.network,
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="pip install xllamacpp"),
]

TOLERANCE = {"branch": 0.06, "label": 0.06, "skeleton": 0.06, "text": 0.15}
"""In probability. llama.cpp multiplies 4-bit weights with 8-bit activations; the exact engine computes in float32."""

REQUEST = {
    "state": "The parcel has not moved for nine days and the customer is furious. Order 1234, paid 99.50 EUR.",
    "questions": {
        "lost": {"type": "noul", "instructions": "Is the parcel probably lost?"},
        "queue": {
            "type": "choice",
            "instructions": "Who should take this?",
            "criteria": {"carrier": "Ask the carrier", "refund": "money back", "other": None},
        },
        "heat": {"type": "score", "instructions": "How upset?", "criteria": ["calm", "irritated", "furious"]},
    },
}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    gguf = fetch_gguf(SMOLLM2, tmp_path_factory.mktemp("gguf"), report=lambda _line: None)
    with llama_server(gguf) as address:
        yield address


@pytest.fixture(scope="module")
def exact():
    return Model.load(SMOLLM2.name, device="cpu", precision="float32")


@pytest.fixture(scope="module")
def engine(url, exact):
    engine = OpenAIEngine(CallSettings(url), encode=lambda text: exact.encoder.text(text))
    yield engine
    engine.close()


def test_the_server_reads_texts_as_our_tokenizer_does(engine):
    assert engine.identity.details == {"server": "llamacpp", "tokenizer_checked": True}


@pytest.mark.parametrize("readout", sorted(TOLERANCE))
def test_probabilities_agree_with_the_exact_engine(engine, exact, readout):
    ours = Model(exact.engine, exact.encoder, readout_by_name(readout)).decide(REQUEST)
    served = Model(engine, exact.encoder, readout_by_name(readout)).decide(REQUEST)
    for qid, answer in ours.answers.items():
        gap = np.abs(answer.probabilities - served[qid].probabilities).max()
        assert gap <= TOLERANCE[readout]
        assert served[qid].lost_mass == 0.0
        assert abs((answer.allowed_mass or 0) - (served[qid].allowed_mass or 0)) <= TOLERANCE[readout]


def test_the_state_is_taken_from_the_servers_cache(engine, exact):
    model = Model(engine, exact.encoder, readout_by_name("branch"))
    model.decide(REQUEST)
    assert model.decide(REQUEST).usage.cached_tokens > 0


def test_a_state_over_the_servers_context_is_refused_here(engine, exact):
    model = Model(engine, exact.encoder, readout_by_name("branch"))
    with pytest.raises(ContextTooLongError):
        model.decide({**REQUEST, "state": "word " * engine.max_tokens})
