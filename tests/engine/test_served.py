from __future__ import annotations

import numpy as np
import pytest

from forthwith.engine.served import load_served
from forthwith.engine.server_calls import CallSettings
from forthwith.errors import ArtifactError
from forthwith.model import Model
from forthwith.readout import readout_by_name
from forthwith.testing import scripted_log_probs, tiny_tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    tiny_tokenizer().save_pretrained(folder)
    return str(folder)


def server_of(tokenizer, answer_with, *, model="m"):
    """A server that reads texts with a tokenizer and tells the scripted log-probabilities of the ids it is asked for."""

    def respond(call):
        if call.path == "/v1/models":
            return answer_with({"data": [{"id": model, "owned_by": "vllm", "max_model_len": 4096}]})
        if call.path == "/tokenize":
            return answer_with({"tokens": tokenizer.encode(call.json["prompt"], add_special_tokens=False)})
        if call.path == "/v1/completions":
            wanted = tuple(call.json["logprob_token_ids"])
            told = scripted_log_probs(tuple(call.json["prompt"]), wanted)
            top = {f"token_id:{token}": float(value) for token, value in zip(wanted, told, strict=True)}
            first = next(iter(top))
            row = {"tokens": [first], "token_logprobs": [top[first]], "top_logprobs": [top]}
            return answer_with({"choices": [{"logprobs": row}]})
        return answer_with({"version": "1.0"})

    return respond


REQUEST = {"state": "Paid 12.50 at 07:05", "questions": {"q": {"type": "noul", "instructions": "Paid?"}}}


def test_a_served_model_decides_like_the_same_numbers_in_process(loopback, answer_with, folder):
    with loopback(server_of(tiny_tokenizer(), answer_with)) as server:
        engine, encoder = load_served(CallSettings(server.url), tokenizer=folder)
        model = Model(engine, encoder, readout_by_name("branch"), name="served")
        decision = model.decide(REQUEST)
        [tree] = model.prepare(REQUEST).plan.trees
        expected = [scripted_log_probs(tree.path(read.segment), read.candidates) for read in tree.reads]
        [reading] = engine.evaluate([tree])
    for found, wanted in zip(reading.log_probs, expected, strict=True):
        np.testing.assert_allclose(found, wanted)
    assert decision["q"].probabilities.sum() == pytest.approx(1.0, abs=1e-9)
    assert engine.identity.versions == {"vllm": "1.0"}
    assert engine.identity.details["tokenizer_checked"] is True


def test_the_servers_name_of_its_model_serves_as_the_tokenizers(loopback, answer_with, folder):
    with loopback(server_of(tiny_tokenizer(), answer_with, model=folder)) as server:
        engine, encoder = load_served(CallSettings(server.url))
        assert engine.identity.model == folder
        assert encoder.text("12") == tuple(tiny_tokenizer().encode("12", add_special_tokens=False))


def test_a_tokenizer_that_is_not_here_is_named(loopback, answer_with, tmp_path):
    with (
        loopback(server_of(tiny_tokenizer(), answer_with)) as server,
        pytest.raises(ArtifactError, match=r"no tokenizer .*name the folder or hub id"),
    ):
        load_served(CallSettings(server.url), tokenizer=str(tmp_path))
