"""Files in, one evaluation out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripted import LOCAL, ScriptedDecider

from forthwith.calibration import Calibration
from forthwith.errors import ArtifactError, ConfigError, DataError
from forthwith.evaluation.align import AlignConfig
from forthwith.evaluation.compare import CompareOptions
from forthwith.evaluation.document import (
    EvaluationOptions,
    ModelFiles,
    evaluate_files,
    read_evaluation,
    write_evaluation,
)
from forthwith.evaluation.measure import MeasureConfig
from forthwith.evaluation.predict import PredictOptions, predict

FEW = EvaluationOptions(compare=CompareOptions(n_resamples=200))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [
        {
            "id": f"r{n}",
            "task": f"task{n % 2}",
            "state": f"state {n}",
            "questions": {"q": {"type": "noul", "instructions": f"Question {n}?"}},
            "targets": {"q": {"label": "yes" if n % 3 else "no"}},
        }
        for n in range(20)
    ]
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def predicted(data: Path, name: str, *, model: str = "scripted", limit: int | None = None) -> ModelFiles:
    out = data.with_name(f"{name}.jsonl")
    decider = ScriptedDecider(name=model, binding=LOCAL.model_copy(update={"readout": name}))
    predict(data, decider, out, options=PredictOptions(limit=limit))
    return ModelFiles(out)


def test_an_evaluation_survives_the_disk(data: Path, tmp_path: Path) -> None:
    evaluation = evaluate_files(data, predicted(data, "a", model="one"), [predicted(data, "b", model="two")], FEW)
    write_evaluation(tmp_path / "out", evaluation)
    assert read_evaluation(tmp_path / "out") == evaluation
    assert [model.report.name for model in evaluation.models] == ["one", "two"]
    assert evaluation.comparisons[0].macro.difference == 0  # the same scores under two names
    report = evaluation.models[0].report
    assert len(evaluation.texts) == len(report.worst_errors)
    worst = report.worst_errors[0]
    text = next(text for text in evaluation.texts if text.id == worst.id)
    assert text.state == f"state {worst.id[1:]}"


def test_one_model_under_two_readouts_goes_by_its_files(data: Path) -> None:
    evaluation = evaluate_files(data, predicted(data, "a"), [predicted(data, "b")], FEW)
    assert [model.report.name for model in evaluation.models] == ["a", "b"]
    twice = ModelFiles(data.with_name("a.jsonl"), name="x")
    with pytest.raises(ConfigError, match="two models go by the name 'x'"):
        evaluate_files(data, twice, [twice], FEW)


def test_a_partial_run_is_evaluated_only_when_asked(data: Path) -> None:
    files = predicted(data, "a", limit=8)
    with pytest.raises(DataError, match="12 questions without a prediction"):
        evaluate_files(data, files, options=FEW)
    evaluation = evaluate_files(data, files, options=EvaluationOptions(is_partial=True))
    assert evaluation.models[0].report.n_questions == 8
    assert evaluation.records_left_out == 12


def test_a_calibration_from_another_model_is_refused(data: Path, tmp_path: Path) -> None:
    files = predicted(data, "a")
    path = tmp_path / "calibration.json"
    path.write_text(Calibration(binding=LOCAL).model_dump_json())
    with pytest.raises(ArtifactError, match="was fitted on another readout"):
        evaluate_files(data, ModelFiles(files.predictions, calibration=path), options=FEW)


def test_changed_data_are_refused(data: Path) -> None:
    files = predicted(data, "a")
    data.write_text(data.read_text().replace('"yes"', '"no"', 1))
    with pytest.raises(ArtifactError, match="was predicted from other data"):
        evaluate_files(data, files, options=FEW)


def test_sealed_evaluations_show_no_single_question(data: Path) -> None:
    files = predicted(data, "a")
    sealed = EvaluationOptions(align=AlignConfig(is_sealed=True), measure=MeasureConfig(aggregate_only=True))
    text = evaluate_files(data, files, options=sealed).model_dump_json()
    assert '"r0"' not in text
    assert "Question" not in text
