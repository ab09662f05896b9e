from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from forthwith.cli.main import app
from forthwith.testing import tiny_causal_model, tiny_tokenizer

REQUEST = {
    "id": "r1",
    "state": "The parcel is late.",
    "questions": {
        "lost": {"type": "noul", "instructions": "Lost?"},
        "queue": {"type": "choice", "criteria": {"carrier": "Ask them", "refund": None}},
        "heat": {"type": "score", "criteria": ["calm", "angry"]},
    },
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tiny")
    tiny_causal_model().save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return str(folder)


def forthwith(*arguments: str, text: str | None = None) -> tuple[int, list[dict[str, object]], str]:
    """Run the installed command for real: exit code, JSON lines, error text."""
    command = [sys.executable, "-c", "from forthwith.cli.main import run; run()", *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_one_request_gives_the_system_one_body(tmp_path: Path, tiny: str) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(REQUEST, indent=1))
    code, lines, errors = forthwith("decide", str(path), "--model", tiny, "--readout", "branch")
    assert (code, errors) == (0, "")
    (body,) = lines
    assert body["x_id"] == "r1"
    assert body["answers"].keys() == {"lost", "queue", "heat"}  # type: ignore[union-attr]
    assert 0 <= body["answers"]["lost"]["noul"] <= 1  # type: ignore[index]
    assert body["answers"]["queue"]["choice"] in ("carrier", "refund")  # type: ignore[index]
    assert body["x_calibrated"] is False


def test_a_broken_line_stops_with_its_number_or_is_passed_over(tmp_path: Path, tiny: str) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(REQUEST) + "\n{broken\n" + json.dumps(REQUEST | {"id": "r3", "state": None}) + "\n"
                    + json.dumps(REQUEST | {"id": "r4"}) + "\n")  # fmt: skip
    code, lines, errors = forthwith("decide", str(path), "--model", tiny)
    assert code == 2
    assert f"{path}:2: not JSON" in errors
    code, lines, errors = forthwith("decide", str(path), "--model", tiny, "--keep-going")
    assert code == 2
    assert [line.get("x_id") for line in lines] == ["r1", None, None, "r4"]
    assert [line.get("x_line") for line in lines] == [None, 2, 3, None]
    assert "2 of the records could not be decided" in errors


def test_standard_input_and_errors_by_class(tiny: str) -> None:
    code, lines, _ = forthwith("decide", "-", "--model", tiny, text=json.dumps(REQUEST) + "\n" + json.dumps(REQUEST))
    assert code == 0
    assert len(lines) == 2
    assert forthwith("decide", "-", "--model", tiny, text='{"state": "x"}')[0] == 2
    assert forthwith("decide", "-", "--model", "/nowhere/model.gguf", text=json.dumps(REQUEST))[0] == 2
    code, _, errors = forthwith("decide", "/nowhere.json", "--model", tiny)
    assert code == 2
    assert "/nowhere.json: cannot be read" in errors


def test_the_picture_on_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from io import StringIO

    from rich.console import Console

    from forthwith.cli.drawing import bar, draw_decision
    from forthwith.decision import Answer, Decision, Usage
    from forthwith.schema import parse_record

    probabilities = {"lost": [0.25, 0.75], "queue": [0.9, 0.1], "heat": [0.5, 0.5]}
    record = parse_record(REQUEST)
    answers = {
        qid: Answer(question.type, ("a", "b"), np.array(probabilities[qid]), np.zeros(2), 0.5, verdict)
        for (qid, question), verdict in zip(record.questions.items(), ("automate", "ask", None), strict=True)
    }
    out = StringIO()
    console = Console(file=out, width=80, highlight=False)
    draw_decision(record, Decision(answers, "tiny", calibrated=True, usage=Usage(10, 4, 3, 12.0)), console)
    text = out.getvalue()
    assert "Lost?" in text
    assert "0.750" in text
    assert "automate" in text
    assert "ask" in text
    assert "10 tokens, 4 cached" in text
    assert len(bar(1.0)) == 24
    assert bar(0.0) == ""


def test_what_is_measured_is_what_is_served(tmp_path: Path, tiny: str) -> None:
    """Calibrated log-scores of `predict` are the probabilities that `decide` gives, by family and by type."""
    from forthwith.calibration import Calibration
    from forthwith.evaluation.predictions import read_predictions
    from forthwith.model import Model

    binding = Model.load(tiny, readout="branch", device="cpu").binding
    fitted = Calibration(
        binding=binding, temperature={"noul": 3.0, "choice": 0.5}, noul_bias=0.4, family_temperature={"routing": 2.0}
    )
    (tmp_path / "calibration.json").write_text(fitted.model_dump_json())
    record = REQUEST | {"meta": {"families": {"queue": "routing"}}}
    (tmp_path / "records.jsonl").write_text(json.dumps(record) + "\n")
    at = ["--model", tiny, "--readout", "branch", "--device", "cpu"]
    runner = CliRunner()
    out = tmp_path / "preds.jsonl"
    predicted = runner.invoke(app, ["predict", "--data", str(tmp_path / "records.jsonl"), "--out", str(out), *at])
    assert predicted.exit_code == 0, predicted.output
    served = runner.invoke(
        app,
        ["decide", str(tmp_path / "records.jsonl"), "--json", "--calibration", str(tmp_path / "calibration.json"), *at],
    )
    answers = json.loads(served.stdout.splitlines()[-1])["answers"]
    for line in read_predictions(out):
        expected = fitted.probabilities(np.array(line.log_scores), line.type, line.family)
        told = answers[line.qid]
        shown = (
            [1 - told["noul"], told["noul"]]
            if line.type == "noul"
            else [told["probabilities"][key] for key in line.options]
        )
        assert shown == pytest.approx(expected.tolist(), abs=1e-9)
    assert {line.family for line in read_predictions(out)} == {"lost", "routing", "heat"}


def test_version_and_help() -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["--version"]).output.startswith("forthwith ")
    shown = runner.invoke(app, ["decide", "--help"]).output
    assert "--keep-going" in shown


def test_a_path_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    code, _, errors = forthwith("personal", "demo", "--states", "2", "--out", str(blocked))
    assert code == 2
    assert errors.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in errors


@pytest.mark.parametrize(("option", "value"), [("--port", "99999"), ("--max-tokens", "-5")])
def test_impossible_server_settings_are_refused_at_the_start(option: str, value: str) -> None:
    code, _, errors = forthwith("serve", option, value)
    assert code == 2
    assert option in errors


def test_a_warning_is_one_line_without_source_code():
    code = (
        "import warnings; from forthwith.cli import main; main.app = lambda: warnings.warn('only 3 users'); main.run()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "warning: only 3 users\n"
