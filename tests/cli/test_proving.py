"""From records to a verdict with nothing but commands, on a tiny random model."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

from forthwith.bundle import load_bundle, packaged_bundles
from forthwith.cli import (
    calibrate,
    cascade,
    commit,
    compare,
    evaluate,
    gate,
    power,
    predict,
    report,
    reproduce,
    stability,
    validity,
)
from forthwith.errors import ArtifactError, ConfigError, DataError

RUNNER = CliRunner()
COMMANDS = typer.Typer(pretty_exceptions_enable=False)
for module in (
    calibrate,
    cascade,
    commit,
    compare,
    evaluate,
    gate,
    power,
    predict,
    report,
    reproduce,
    stability,
    validity,
):
    name = module.__name__.rpartition(".")[2]
    COMMANDS.command(name)(getattr(module, name))


def call(*arguments: object) -> Result:
    result = RUNNER.invoke(COMMANDS, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random causal model in a folder."""
    from forthwith.testing import tiny_causal_model, tiny_tokenizer

    folder = tmp_path_factory.mktemp("tiny")
    tiny_causal_model(layers=2).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "val.jsonl"
    stream = np.random.default_rng(0)
    rows = []
    for n in range(60):
        questions = {
            "team": {"type": "choice", "instructions": "Whose?", "criteria": {"billing": "money", "support": None}},
            "late": {"type": "noul", "instructions": "Late?"},
        }
        targets = {
            "team": {"label": str(stream.choice(["billing", "support"]))},
            "late": {"label": bool(stream.integers(2))},
        }
        rows.append({"id": f"r{n}", "state": f"item {n}", "questions": questions, "targets": targets})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def predictions(tiny: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Prediction files of the same model under two readouts."""
    folder = tmp_path_factory.mktemp("preds")
    found = {}
    for name, readout in (("one", "label"), ("two", "label(orders=2)")):
        found[name] = folder / f"{name}.jsonl"
        call("predict", "--data", data, "--model", tiny, "--readout", readout, "--device", "cpu", "--out", found[name])
    return found


def test_predict_says_what_it_did_and_a_second_run_asks_nothing(
    tiny: Path, data: Path, predictions: dict[str, Path]
) -> None:
    before = predictions["one"].read_bytes()
    result = call(
        "predict", "--data", data, "--model", tiny, "--readout", "label", "--device", "cpu", "--out", predictions["one"]
    )
    assert "120 questions of 60 records, 0 without an answer" in result.output
    assert predictions["one"].read_bytes() == before


def test_predict_refuses_to_go_on_with_another_readout(tiny: Path, data: Path, predictions: dict[str, Path]) -> None:
    with pytest.raises(ArtifactError, match=r"begun under another configuration .*readout"):
        call(
            "predict",
            "--data",
            data,
            "--model",
            tiny,
            "--readout",
            "text",
            "--device",
            "cpu",
            "--out",
            predictions["one"],
        )


def test_calibrate_writes_a_calibration_that_belongs_to_the_model(
    data: Path, predictions: dict[str, Path], tmp_path: Path
) -> None:
    from forthwith.bundle import read_calibration
    from forthwith.evaluation.calibrate import calibration_for

    out = tmp_path / "calibration.json"
    result = call("calibrate", "--data", data, "--preds", predictions["one"], "--out", out)
    assert "ask always" in result.output  # a random model meets no budget
    calibration = read_calibration(out)
    assert calibration.provenance["data"] == "val.jsonl"
    assert calibration_for(out, predictions["one"]) == calibration
    with pytest.raises(ArtifactError, match="was fitted on another readout"):
        calibration_for(out, predictions["two"])


def test_calibrate_refuses_other_data(data: Path, predictions: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(data.read_text() + data.read_text().splitlines()[0].replace('"r0"', '"r60"') + "\n")
    with pytest.raises(ArtifactError, match="was predicted from other data"):
        call("calibrate", "--data", other, "--preds", predictions["one"], "--out", tmp_path / "c.json")


def test_calibrate_refuses_what_the_model_was_trained_on(
    data: Path, predictions: dict[str, Path], tmp_path: Path
) -> None:
    given = ("--data", data, "--preds", predictions["one"], "--out", tmp_path / "c.json")
    trained = tmp_path / "train.jsonl"
    trained.write_text(data.read_text().splitlines()[7] + "\n")
    with pytest.raises(DataError, match="the model was trained on") as refused:
        call("calibrate", *given, "--trained-on", trained)
    assert "r7" in str(refused.value)
    trained.write_text(trained.read_text().replace("item 7", "item 700"))
    assert "none of the records' states is among the 1" in call("calibrate", *given, "--trained-on", trained).output


def test_compare_gives_paired_differences(data: Path, predictions: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "compare.json"
    result = call(
        "compare", "--data", data, "--preds", predictions["one"], "--baseline", predictions["two"],
        "--margin", "0.1", "--resamples", "500", "--out", out,
    )  # fmt: skip
    assert "McNemar" in result.output
    (comparison,) = json.loads(out.read_text())
    assert comparison["questions"] == 120
    assert comparison["equivalence"]["margin"] == 0.1


def test_evaluate_writes_numbers_and_a_report_and_report_writes_it_again(
    data: Path, predictions: dict[str, Path], tmp_path: Path
) -> None:
    calibration, out = tmp_path / "calibration.json", tmp_path / "run"
    call("calibrate", "--data", data, "--preds", predictions["one"], "--out", calibration)
    result = call(
        "evaluate", "--data", data, "--preds", predictions["one"], "--calibration", calibration, "--name", "first",
        "--baseline", f"{predictions['two']},,second", "--resamples", "500", "--out", out,
    )  # fmt: skip
    assert "minus second" in result.output
    body = json.loads((out / "evaluation.json").read_text())
    assert [model["report"]["name"] for model in body["models"]] == ["first", "second"]
    assert [model["report"]["is_calibrated"] for model in body["models"]] == [True, False]
    page = (out / "report.html").read_bytes()
    (out / "report.html").unlink()
    call("report", out)
    assert (out / "report.html").read_bytes() == page
    call("report", out, "--out", tmp_path / "board.html")
    assert "first" in (tmp_path / "board.html").read_text()


def test_evaluate_refuses_a_margin_that_cannot_be_meant(
    data: Path, predictions: dict[str, Path], tmp_path: Path
) -> None:
    asked = ("evaluate", "--data", data, "--preds", predictions["one"], "--out", tmp_path / "run")
    with pytest.raises(ConfigError, match="give --baseline"):
        call(*asked, "--margin", "0.01")
    with pytest.raises(ConfigError, match="margin is 5"):
        call(*asked, "--margin", "5", "--baseline", predictions["two"])
    with pytest.raises(ConfigError, match="is a file; name a folder"):
        call(*asked[:-1], data)


def test_evaluate_says_which_calibration_it_could_have_applied(
    data: Path, predictions: dict[str, Path], tmp_path: Path
) -> None:
    asked = ("evaluate", "--data", data, "--resamples", "100", "--out", tmp_path / "run", "--preds")
    assert "no calibration was applied\n" in call(*asked, predictions["one"]).output
    folder = packaged_bundles()["forthwith-135m"]
    bundle = load_bundle(folder)
    assert bundle.calibration is not None
    copied = tmp_path / "default.jsonl"
    copied.write_bytes(predictions["one"].read_bytes())
    meta = json.loads(Path(f"{predictions['one']}.meta.json").read_text())
    meta["fingerprint"]["binding"] = bundle.calibration.binding.model_dump()
    Path(f"{copied}.meta.json").write_text(json.dumps(meta))
    assert str(folder / "calibration.json") in call(*asked, copied).output.replace("\n", "")


def test_gate_judges_committed_data_once(data: Path, predictions: dict[str, Path], tmp_path: Path) -> None:
    spec, commitment, out = tmp_path / "gate.toml", tmp_path / "commitment.json", tmp_path / "run" / "gate.json"
    spec.write_text(
        'format = "forthwith-gate/1"\nname = "level"\none_shot = true\nresamples = 200\n'
        '[[checks]]\nname = "not far below"\nkind = "difference"\nat_least = -1.0\n'
    )
    result = call("commit", "--data", data, "--gate", spec, "--out", commitment)
    assert "data: 60 lines" in result.output
    judge = [
        "gate", "--spec", spec, "--data", data, "--preds", predictions["one"], "--baseline", predictions["two"],
        "--commitment", commitment, "--out", out,
    ]  # fmt: skip
    assert "passed" in call(*judge).output
    with pytest.raises(ArtifactError, match="used before"):
        call(*judge)
    call("evaluate", "--data", data, "--preds", predictions["one"], "--out", out.parent)
    assert "1 of 1 checks, on these data" in (out.parent / "report.html").read_text()
    other = tmp_path / "other.jsonl"
    other.write_bytes(data.read_bytes() + b"\n")
    verdict = json.loads(out.read_text()) | {"data_sha256": sha256(other.read_bytes()).hexdigest()}
    out.write_text(json.dumps(verdict))
    call("report", out.parent)
    assert f"1 of 1 checks, on other data ({verdict['data_sha256'][:12]})" in (out.parent / "report.html").read_text()


def test_a_failed_gate_exits_with_one(data: Path, predictions: dict[str, Path], tmp_path: Path) -> None:
    spec = tmp_path / "gate.toml"
    spec.write_text(
        'format = "forthwith-gate/1"\nname = "out of reach"\nresamples = 200\n'
        '[[checks]]\nname = "far above"\nkind = "difference"\nat_least = 0.99\n'
    )
    arguments = ["--spec", spec, "--data", data, "--preds", predictions["one"], "--baseline", predictions["two"]]
    result = RUNNER.invoke(COMMANDS, ["gate", *map(str, arguments)])
    assert result.exit_code == 1
    assert "failed" in result.output


def test_cascade_and_power_print_what_they_found(data: Path, predictions: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "cascade.json"
    result = call(
        "cascade", "--data", data, "--first", predictions["one"], "--second", predictions["two"],
        "--second-usd", "0.01", "--error-usd", "1", "--out", out,
    )  # fmt: skip
    assert "cheapest" in result.output
    assert len(json.loads(out.read_text())["one_threshold"]) == 14
    assert "points is found with power 80%" in call("power", "--questions", "2000").output


def test_reproduce_tells_one_readout_from_another(predictions: dict[str, Path]) -> None:
    assert "reproduced" in call("reproduce", predictions["one"], predictions["one"]).output
    other = RUNNER.invoke(COMMANDS, ["reproduce", str(predictions["one"]), str(predictions["two"])])
    assert other.exit_code == 1
    assert "not reproduced" in other.output


def test_validity_says_what_is_unsound(data: Path, predictions: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "validity.json"
    result = call(
        "validity", "--data", data, "--preds", predictions["one"], "--preds", predictions["two"],
        "--permutations", "20", "--resamples", "200", "--out", out,
    )  # fmt: skip
    assert "macro accuracy" in result.output
    assert json.loads(out.read_text())["oracle"]["accuracy"] == 1.0


def test_stability_prints_flips_and_coherence(tiny: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "stability.json"
    result = call(
        "stability",
        "--data",
        data,
        "--model",
        tiny,
        "--readout",
        "label",
        "--device",
        "cpu",
        "--limit",
        "4",
        "--out",
        out,
    )
    assert "option order" in result.output
    assert "sure loss" in result.output
    body = json.loads(out.read_text())
    assert body["stability"]["records"] == 4
    assert {part["name"] for part in body["coherence"]["by_type"]} == {"choice", "noul"}


def test_missing_sidecars_and_data_are_named(data: Path, predictions: dict[str, Path], tmp_path: Path) -> None:
    bare = tmp_path / "bare.jsonl"
    bare.write_bytes(predictions["one"].read_bytes())
    with pytest.raises(ArtifactError, match=r"bare.jsonl.meta.json is missing"):
        call("calibrate", "--data", data, "--preds", bare, "--out", tmp_path / "c.json")
    none = tmp_path / "none.jsonl"
    refused = RUNNER.invoke(COMMANDS, ["predict", "--data", str(none), "--out", str(tmp_path / "p.jsonl")])
    assert refused.exit_code == 2
    assert "none.jsonl" in refused.output.replace("\n", "")
