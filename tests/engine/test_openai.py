"""The completions engine against a scripted server on loopback that knows a distribution for every prompt."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from forthwith.encoding import TreeBuilder
from forthwith.engine.completions import check_log_probs
from forthwith.engine.openai import OpenAIEngine
from forthwith.engine.server_calls import CallSettings
from forthwith.errors import ArtifactError, ConfigError, ContextTooLongError, EngineError

VOCABULARY = 300


def distribution(prompt):
    """Log-probabilities that depend on every token of the prompt and on their order."""
    random = np.random.default_rng([len(prompt), *prompt])
    logits = random.normal(size=VOCABULARY) * 2
    return logits - np.log(np.sum(np.exp(logits)))


@dataclass
class Server:
    """How a scripted completions server answers."""

    answer_with: type
    style: str = "ids"  # ids, content, text
    names_candidates: bool = False
    forces: bool = True
    strict: bool = False
    mode: str = "raw"  # raw, one-hot, after-bias
    context: int | None = 64
    kind: str = "other"
    cached_tokens: int | None = None
    models: tuple = ("m",)
    seen: list = field(default_factory=list)

    def __call__(self, call):
        if call.path == "/v1/models":
            rows = [{"id": name, "owned_by": self.kind, "max_model_len": self.context} for name in self.models]
            return self.answer_with({"data": rows})
        if call.path == "/v1/completions":
            return self.complete(call.json)
        if call.path == "/tokenize":
            return self.answer_with({"tokens": [ord(c) % VOCABULARY for c in call.json["content"]]})
        return self.answer_with({"detail": "Not Found"}, 404)

    def complete(self, body):
        if self.strict and {"logprob_token_ids", "return_tokens_as_token_ids"} & set(body):
            return self.answer_with({"error": {"message": "unknown field"}}, 400)
        self.seen.append(body)
        raw = distribution(body["prompt"])
        biased = raw.copy()
        if self.forces:
            for token, bias in body.get("logit_bias", {}).items():
                biased[int(token)] += bias
        chosen = int(np.argmax(biased))
        told = raw if self.mode == "raw" else biased - np.log(np.sum(np.exp(biased)))
        if self.mode == "one-hot":
            told = np.where(np.arange(VOCABULARY) == chosen, 0.0, -9999.0)
        tokens = sorted(range(VOCABULARY), key=lambda token: -told[token])[: body["logprobs"]]
        if self.names_candidates and "logprob_token_ids" in body:
            tokens = [*body["logprob_token_ids"]]
        return self.answer_with({"choices": [{"logprobs": self.told(told, chosen, tokens)}], "usage": self.usage(body)})

    def told(self, values, chosen, tokens):
        if self.style == "content":
            rows = [{"id": t, "token": "same", "logprob": float(values[t])} for t in tokens]
            return {
                "content": [{"id": chosen, "token": "same", "logprob": float(values[chosen]), "top_logprobs": rows}]
            }
        name = "token_id:{}" if self.style == "ids" else "w{}"
        return {
            "tokens": [name.format(chosen)],
            "token_logprobs": [float(values[chosen])],
            "top_logprobs": [{name.format(token): float(values[token]) for token in tokens}],
        }

    def usage(self, body):
        details = None if self.cached_tokens is None else {"cached_tokens": self.cached_tokens}
        return {"prompt_tokens": len(body["prompt"]), "prompt_tokens_details": details}


def two_questions():
    builder = TreeBuilder((1, 2, 3))
    for question in ((4, 5), (6,)):
        builder.read(builder.add(question), (7, 8, 9))
    return builder.build()


def expected(tree):
    return [distribution(tree.path(read.segment))[list(read.candidates)] for read in tree.reads]


@pytest.mark.parametrize(
    ("settings", "calls"),
    [
        ({"names_candidates": True}, 2),
        ({"style": "content", "kind": "llamacpp"}, 2),
        ({"style": "ids"}, None),
        ({"style": "content"}, None),
        ({"style": "text"}, None),
        ({"strict": True, "style": "text"}, None),
        ({"strict": True, "style": "content", "kind": "llamacpp"}, 2),
    ],
)
def test_candidates_come_exact_from_every_kind_of_server(loopback, answer_with, settings, calls):
    server, tree = Server(answer_with, **settings), two_questions()
    with loopback(server) as running:
        engine = OpenAIEngine(CallSettings(running.url), token_text=lambda token: f"w{token}")
        [reading] = engine.evaluate([tree])
    for found, wanted in zip(reading.log_probs, expected(tree), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    assert reading.lost_mass == (0.0, 0.0)
    assert all(isinstance(body["prompt"], list) and isinstance(body["prompt"][0], int) for body in server.seen)
    assert calls is None or len(server.seen) == calls


def test_a_server_that_neither_names_nor_forces_gives_a_bound_that_holds(loopback, answer_with):
    server, tree = Server(answer_with, forces=False), two_questions()
    with loopback(server) as running:
        [reading] = OpenAIEngine(CallSettings(running.url)).evaluate([tree])
    top_count = 5
    for read, found, lost in zip(tree.reads, reading.log_probs, reading.lost_mass, strict=True):
        truth = distribution(tree.path(read.segment))
        top = set(np.argsort(-truth)[:top_count])
        hidden = [index for index, token in enumerate(read.candidates) if token not in top]
        assert hidden
        assert sum(math.exp(truth[read.candidates[index]]) for index in hidden) <= lost + 1e-12
        assert all(found[index] >= truth[read.candidates[index]] for index in hidden)
        shown = [index for index in range(3) if index not in hidden]
        np.testing.assert_allclose(found[shown], truth[[read.candidates[index] for index in shown]])


@pytest.mark.parametrize("mode", ["one-hot", "after-bias"])
def test_log_probabilities_after_sampling_rules_are_refused(loopback, answer_with, mode):
    with loopback(Server(answer_with, mode=mode)) as running:
        engine = OpenAIEngine(CallSettings(running.url))
        with pytest.raises(EngineError, match=r"one-hot|after bias"):
            engine.evaluate([two_questions()])


def test_a_confident_model_is_not_taken_for_a_one_hot():
    check_log_probs([-1e-9, -25.0, -40.0])
    with pytest.raises(EngineError, match="one-hot"):
        check_log_probs([0.0, -9999.0])
    with pytest.raises(EngineError, match="one-hot"):
        check_log_probs([0.0, -math.inf])
    with pytest.raises(EngineError, match="none"):
        check_log_probs([math.nan])
    with pytest.raises(EngineError, match=r"sum to 1\.4"):
        check_log_probs([math.log(0.7), math.log(0.7)])


def test_texts_instead_of_ids_need_a_way_to_recognise_them(loopback, answer_with):
    with loopback(Server(answer_with, style="text")) as running:
        engine = OpenAIEngine(CallSettings(running.url))
        with pytest.raises(EngineError, match="by text, not by id"):
            engine.evaluate([two_questions()])


def test_more_candidates_than_one_call_names_take_several(loopback, answer_with):
    builder = TreeBuilder((1,))
    builder.read(0, tuple(range(300)))
    server = Server(answer_with, names_candidates=True)
    with loopback(server) as running:
        [reading] = OpenAIEngine(CallSettings(running.url)).evaluate([builder.build()])
    np.testing.assert_allclose(reading.log_probs[0], distribution((1,)))
    assert sorted(len(body["logprob_token_ids"]) for body in server.seen) == [44, 128, 128]


def test_a_read_inside_a_segment_sees_only_the_tokens_before_it(loopback, answer_with):
    builder = TreeBuilder((1, 2))
    builder.read_continuation(0, (5, 6, 7))
    tree = builder.build()
    with loopback(Server(answer_with, names_candidates=True)) as running:
        [reading] = OpenAIEngine(CallSettings(running.url)).evaluate([tree])
    for found, prompt, token in zip(reading.log_probs, [(1, 2), (1, 2, 5), (1, 2, 5, 6)], (5, 6, 7), strict=True):
        np.testing.assert_allclose(found, [distribution(prompt)[token]])


def test_a_prompt_that_two_trees_share_is_asked_once(loopback, answer_with):
    server = Server(answer_with, names_candidates=True)
    with loopback(server) as running:
        one, two = OpenAIEngine(CallSettings(running.url)).evaluate([two_questions(), two_questions()])
    assert len(server.seen) == 2
    np.testing.assert_array_equal(one.log_probs[0], two.log_probs[0])


def test_cached_tokens_are_counted_where_the_server_tells_them(loopback, answer_with):
    tree = two_questions()  # 6 tokens; its prompts have 5 and 4
    with loopback(Server(answer_with, names_candidates=True, cached_tokens=3)) as running:
        assert OpenAIEngine(CallSettings(running.url)).evaluate([tree])[0].cached_tokens == 6 - (2 + 1)
    with loopback(Server(answer_with, names_candidates=True)) as running:
        assert OpenAIEngine(CallSettings(running.url)).evaluate([tree])[0].cached_tokens == 0


def test_a_path_over_the_servers_context_is_refused_before_it_is_sent(loopback, answer_with):
    server = Server(answer_with, context=5)
    with loopback(server) as running:
        engine = OpenAIEngine(CallSettings(running.url))
        assert engine.max_tokens == 4
        with pytest.raises(ContextTooLongError) as caught:
            engine.evaluate([two_questions()])
    assert (caught.value.tokens, caught.value.limit) == (5, 4)
    assert server.seen == []


def test_an_unknown_context_length_must_be_given(loopback, answer_with):
    with loopback(Server(answer_with, context=None)) as running:
        with pytest.raises(ConfigError, match="give max_tokens"):
            OpenAIEngine(CallSettings(running.url))
        assert OpenAIEngine(CallSettings(running.url), max_tokens=100).max_tokens == 99


def test_the_model_must_be_served_and_named_where_there_are_several(loopback, answer_with):
    with loopback(Server(answer_with, models=("a", "b"))) as running:
        with pytest.raises(ConfigError, match="it serves 'a', 'b'"):
            OpenAIEngine(CallSettings(running.url))
        with pytest.raises(ConfigError, match="no model 'c'"):
            OpenAIEngine(CallSettings(running.url), "c")
        engine = OpenAIEngine(CallSettings(running.url + "/v1"), "b")
        assert engine.identity.weights_sha256 == f"remote:{running.url}#b"
        engine.close()


def test_another_tokenizer_on_the_server_is_refused(loopback, answer_with):
    with loopback(Server(answer_with)) as running:
        same = OpenAIEngine(CallSettings(running.url), encode=lambda text: tuple(ord(c) % VOCABULARY for c in text))
        assert same.identity.details["tokenizer_checked"] is True
        with pytest.raises(ArtifactError, match="another tokenizer"):
            OpenAIEngine(CallSettings(running.url), encode=lambda text: tuple(ord(c) for c in text))


def test_an_answer_without_log_probabilities_says_what_the_server_must_offer(loopback, answer_with):
    def respond(call):
        if call.path == "/v1/completions":
            return answer_with({"choices": [{"text": "yes", "logprobs": None}]})
        return Server(answer_with)(call)

    with loopback(respond) as running, pytest.raises(EngineError, match="must offer `logprobs`"):
        OpenAIEngine(CallSettings(running.url)).evaluate([two_questions()])


def test_a_refusal_that_extensions_do_not_explain_is_passed_on(loopback, answer_with):
    def respond(call):
        if call.path == "/v1/completions":
            return answer_with({"error": "bad prompt"}, 400)
        return Server(answer_with)(call)

    with loopback(respond) as running:
        with pytest.raises(EngineError, match="answered 400: bad prompt"):
            OpenAIEngine(CallSettings(running.url)).evaluate([two_questions()])
        assert len(running.to("/v1/completions")) == 2  # with its extensions, and once without


def test_a_server_without_a_tokenize_route_is_used_unchecked(loopback, answer_with):
    def respond(call):
        return answer_with({}, 404) if call.path == "/tokenize" else Server(answer_with)(call)

    with loopback(respond) as running:
        engine = OpenAIEngine(CallSettings(running.url), encode=lambda text: tuple(map(ord, text)))
    assert engine.identity.details["tokenizer_checked"] is False


@pytest.mark.parametrize("value", ["-1.0", True, {}])
def test_a_log_probability_that_is_no_number_is_refused(loopback, answer_with, value):
    def respond(call):
        if call.path == "/v1/completions":
            row = {"tokens": ["token_id:1"], "token_logprobs": [value], "top_logprobs": [{"token_id:7": None}]}
            return answer_with({"choices": [{"logprobs": row}]})
        return Server(answer_with)(call)

    with loopback(respond) as running, pytest.raises(EngineError, match="no usable log-probabilities"):
        OpenAIEngine(CallSettings(running.url)).evaluate([two_questions()])


def test_a_token_told_without_a_value_has_no_probability(loopback, answer_with):
    def respond(call):
        if call.path == "/v1/completions":
            top = {"token_id:7": None, "token_id:8": -0.5, "token_id:9": -2.0}
            row = {"tokens": ["token_id:8"], "token_logprobs": [-0.5], "top_logprobs": [top]}
            return answer_with({"choices": [{"logprobs": row}]})
        return Server(answer_with)(call)

    with loopback(respond) as running:
        [reading] = OpenAIEngine(CallSettings(running.url)).evaluate([two_questions()])
    np.testing.assert_array_equal(reading.log_probs[0], [-math.inf, -0.5, -2.0])
