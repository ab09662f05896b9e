from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from loopback_server import Answer, Call, serve

from forthwith.bundle import BaseModelReference, Bundle, write_bundle
from forthwith.calibration import Calibration
from forthwith.default_model.source import file_sha256
from forthwith.errors import ArtifactError, ConfigError
from forthwith.model import Model, load_decider
from forthwith.model_parts import LoadOptions, load_parts
from forthwith.readout import readout_by_name
from forthwith.testing import scripted_log_probs, tiny_causal_model, tiny_encoder, tiny_tokenizer

REQUEST = {"state": "Paid 12.50 at 07:05", "questions": {"q": {"type": "noul", "instructions": "Paid?"}}}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    tiny_causal_model(layers=1).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def bundle(folder: Path, base: Path, *, temperature: float = 2.0, **changes: Any) -> Bundle:
    """A bundle over the tiny base whose calibration shows."""
    bare = Model.load(base, readout="branch", device="cpu")
    reference = BaseModelReference(
        model=str(base),
        weights_sha256=changes.get("weights_sha256", file_sha256(base / "model.safetensors")),
        encoder_sha256=changes.get("encoder_sha256", bare.encoder.fingerprint),
    )
    binding = bare.binding.model_copy(update={"weights_sha256": reference.weights_sha256})
    template = changes.get("template_sha256", binding.template_sha256)
    binding = binding.model_copy(update={"template_sha256": template})
    return write_bundle(
        folder, name="mine", version="1", base=reference, readout="branch", template_sha256=template,
        precision="float32", calibration=Calibration(binding=binding, temperature={"noul": temperature}),
    )  # fmt: skip


def test_a_bundle_answers_calibrated_and_by_its_own_name(tmp_path: Path, base: Path) -> None:
    made = bundle(tmp_path / "b", base)
    model = Model.load(made.folder, device="cpu")
    decision = model.decide(REQUEST)
    assert (decision.model, decision.calibrated, decision.bundle_id) == ("mine", True, made.manifest.bundle_id)
    plain = Model.load(base, readout="branch", device="cpu").decide(REQUEST)["q"]
    assert decision["q"].log_scores.tolist() == pytest.approx(plain.log_scores.tolist())
    assert decision["q"].confidence < plain.confidence  # temperature 2
    other = Calibration(binding=model.binding, temperature={"noul": 9.0})
    recalibrated = Model.load(made.folder, device="cpu", calibration=other)
    assert recalibrated.calibration == other
    assert recalibrated.bundle_id != model.bundle_id


def test_a_bundle_in_another_precision_says_that_it_is_not_calibrated(tmp_path: Path, base: Path) -> None:
    made = bundle(tmp_path / "b", base)
    assert not Model.load(made.folder, device="cpu", precision="bfloat16").decide(REQUEST).calibrated


@pytest.mark.parametrize(
    ("field", "what"),
    [("weights_sha256", "base weights"), ("encoder_sha256", "tokenizer"), ("template_sha256", "prompt template")],
)
def test_a_bundle_made_for_something_else_is_refused_by_name(tmp_path: Path, base: Path, field: str, what: str) -> None:
    made = bundle(tmp_path / "b", base, **{field: "0" * 64})
    with pytest.raises(ArtifactError, match=f"the bundle mine was made for another {what}"):
        Model.load(made.folder, device="cpu")


def test_options_that_a_model_has_no_use_for_are_refused(tmp_path: Path, base: Path) -> None:
    made = bundle(tmp_path / "b", base)
    with pytest.raises(ConfigError, match="a bundle brings its own adapter and readout"):
        Model.load(made.folder, readout="label")
    with pytest.raises(ConfigError, match="unknown precision 'int3'; use one of float32"):
        load_parts(str(base), LoadOptions(precision="int3"))
    with pytest.raises(ConfigError, match="a model that runs here takes no tokenizer"):
        load_decider(str(base), tokenizer="t")
    with pytest.raises(ConfigError, match="a served model takes no adapter"):
        load_decider("openai:http://127.0.0.1:1", adapter="a")
    with pytest.raises(ConfigError, match="a remote API takes no tokenizer"):
        load_decider("http://127.0.0.1:1", tokenizer="t")


def test_a_shipped_bundle_goes_by_its_name_and_comes_first(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = bundle(tmp_path / "b", base)
    monkeypatch.setattr("forthwith.model_parts.packaged_bundles", lambda: {"forthwith-135m": made.folder})
    for name in ("forthwith-135m", None):
        assert load_parts(name, LoadOptions(device="cpu")).bundle == made


def scripted_server(call: Call) -> Answer:
    """A completions server that serves `m` and tells the scripted log-probabilities of the ids it is asked for."""
    if call.path == "/v1/models":
        return Answer({"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]})
    if call.path == "/tokenize":
        return Answer({"tokens": tiny_tokenizer().encode(call.json["prompt"], add_special_tokens=False)})
    if call.path == "/v1/completions":
        wanted = tuple(call.json["logprob_token_ids"])
        told = scripted_log_probs(tuple(call.json["prompt"]), wanted)
        top = {f"token_id:{token}": float(value) for token, value in zip(wanted, told, strict=True)}
        first = next(iter(top))
        return Answer(
            {"choices": [{"logprobs": {"tokens": [first], "token_logprobs": [top[first]], "top_logprobs": [top]}}]}
        )
    return Answer({"version": "1.0"})


def test_a_served_model_is_named_by_its_address_and_read_out_here(base: Path) -> None:
    with serve(scripted_server) as server:
        model = load_decider(f"openai:{server.url}#m", readout="branch", tokenizer=base, api_key="sesame")
        assert isinstance(model, Model)
        decision = model.decide(REQUEST)
        asked = server.to("/v1/completions")
    (tree,) = readout_by_name("branch").plan(model.prepare(REQUEST).request, tiny_encoder()).trees
    (read,) = tree.reads
    assert decision["q"].log_scores.tolist() == pytest.approx(
        scripted_log_probs(tree.path(read.segment), read.candidates)
    )
    assert decision.model == "m"
    assert all(call.headers["authorization"] == "Bearer sesame" for call in asked)
    assert all(call.json["prompt"] == list(tree.path(read.segment)) for call in asked)  # ids cross the wire, never text


def test_a_remote_api_goes_by_its_address() -> None:
    for name in ("systemone:http://127.0.0.1:1/v1#jev-9", "http://127.0.0.1:1#jev-9"):
        remote = load_decider(name, api_key="k")
        assert (remote.name, remote.binding.weights_sha256) == ("jev-9", "remote:http://127.0.0.1:1#jev-9")
    assert load_decider("https://example.org").name == "jev-latest"


@pytest.mark.default_model
def test_the_default_tokenizer_goes_by_name_and_is_held_against_the_servers() -> None:
    with serve(scripted_server) as server, pytest.raises(ArtifactError, match="tokenizer"):
        load_decider(f"openai:{server.url}#m", tokenizer="smollm2-135m-instruct")  # the server has the tiny one
