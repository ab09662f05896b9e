"""The whole way on real questions: predict, calibrate, evaluate, report, with the embedded base model."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forthwith.evaluation.calibrate import calibrate_files
from forthwith.evaluation.checkpoint import read_meta
from forthwith.evaluation.document import EvaluationOptions, ModelFiles, evaluate_files, write_evaluation
from forthwith.evaluation.predict import predict
from forthwith.evaluation.report import write_report

if TYPE_CHECKING:
    from forthwith.model import Model

TASKS = ("subjectivity", "trec", "sst5")
PER_TASK = 8


def sample(folder: Path, split: str, out: Path) -> Path:
    """The first records of each task in one file."""
    with out.open("w", encoding="utf-8") as file:
        for task in TASKS:
            with (folder / task / f"{split}.jsonl").open(encoding="utf-8") as lines:
                file.writelines(islice(lines, PER_TASK))
    return out


@pytest.mark.public_data
@pytest.mark.default_model
def test_from_public_records_to_a_report(public_data: Path, default_base: Model, tmp_path: Path) -> None:
    files = {split: sample(public_data, split, tmp_path / f"{split}.jsonl") for split in ("calibration", "test")}
    for split, data in files.items():
        meta = predict(data, default_base, tmp_path / f"{split}.preds.jsonl")
        assert (meta.questions, meta.refused, meta.complete) == (len(TASKS) * PER_TASK, 0, True)

    calibration = calibrate_files(files["calibration"], tmp_path / "calibration.preds.jsonl")
    assert calibration.binding == read_meta(tmp_path / "test.preds.jsonl").fingerprint.binding
    assert calibration.thresholds is not None
    assert calibration.thresholds.by_family == dict.fromkeys(sorted(TASKS))  # eight labels promise nothing: ask always
    path = tmp_path / "calibration.json"
    path.write_text(calibration.model_dump_json())

    model = ModelFiles(tmp_path / "test.preds.jsonl", calibration=path)
    evaluation = evaluate_files(files["test"], model, options=EvaluationOptions())
    write_evaluation(tmp_path / "run", evaluation)
    report = evaluation.models[0].report
    assert set(report.families) == set(TASKS)
    assert report.is_calibrated
    assert report.micro.n_automated == 0
    html, _ = write_report(tmp_path / "run")
    assert "ask always" in html.read_text(encoding="utf-8")
