"""One evaluation on disk: a model, the models beside it, the comparisons, and where all of it came from.

`DIR/evaluation.json` holds every number; pages and tables are made from it alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from forthwith.calibration import Binding, Thresholds
from forthwith.errors import ArtifactError, ConfigError
from forthwith.evaluation.align import AlignConfig, align
from forthwith.evaluation.calibrate import calibration_for, check_data
from forthwith.evaluation.checkpoint import file_sha256, model_names, read_meta
from forthwith.evaluation.compare import CompareOptions, Comparison, Contender, compare
from forthwith.evaluation.error_texts import ErrorText, error_texts
from forthwith.evaluation.measure import MeasureConfig, evaluate
from forthwith.evaluation.predictions import read_predictions
from forthwith.evaluation.results import EvaluationReport
from forthwith.schema import Record, read_records

__all__ = [
    "EvaluatedModel",
    "Evaluation",
    "EvaluationOptions",
    "ModelFiles",
    "evaluate_files",
    "read_evaluation",
    "write_evaluation",
]

FILE_NAME = "evaluation.json"


@dataclass(frozen=True)
class ModelFiles:
    """What is evaluated: a prediction file, a calibration if one is applied, and a name other than the model's."""

    predictions: Path
    calibration: Path | None = None
    name: str | None = None


@dataclass(frozen=True)
class EvaluationOptions:
    """How to evaluate.

    Attributes:
        align: clusters, slices, strictness.
        measure: what is reported; the name in it is ignored.
        compare: resamples and margin.
        is_partial: leave out records without any prediction (of a run with a limit), and count them.
        shows_texts: keep question and state excerpts of confident errors, for whoever reads the report.
    """

    align: AlignConfig = field(default_factory=AlignConfig)
    measure: MeasureConfig = field(default_factory=MeasureConfig)
    compare: CompareOptions = field(default_factory=CompareOptions)
    is_partial: bool = False
    shows_texts: bool = True


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EvaluatedModel(_Frozen):
    """One model's figures, what its log-scores depend on, and the thresholds that were in force."""

    report: EvaluationReport
    binding: Binding
    predictions_sha256: str
    thresholds: Thresholds | None = None


class Evaluation(_Frozen):
    """An evaluation: the first model is the one reported, the others are beside it, on the same questions."""

    format: Literal["forthwith-evaluation-folder/1"] = "forthwith-evaluation-folder/1"
    data: str
    data_sha256: str
    records_left_out: int = 0
    models: list[EvaluatedModel] = Field(min_length=1)
    comparisons: list[Comparison] = Field(default_factory=list[Comparison])
    texts: list[ErrorText] = Field(default_factory=list[ErrorText])


def evaluate_files(
    data: str | Path, model: ModelFiles, baselines: Sequence[ModelFiles] = (), options: EvaluationOptions | None = None
) -> Evaluation:
    """Everything about one model's predictions, and how it compares with others.

    Args:
        data: the records that all models predicted.
        model: the model that is reported.
        baselines: models to compare it with.
        options: clusters, slices, resamples.

    Raises:
        ArtifactError: a calibration was fitted on another model, or predictions were made from other data.
        DataError: predictions and records do not match.
        ConfigError: two models go by one name.
    """
    options = options or EvaluationOptions()
    files = [model, *baselines]
    names = _names(files)
    left_out: set[str] = set()
    contenders = [_contender(data, each, name, options, left_out) for each, name in zip(files, names, strict=True)]
    models = [_evaluated(each, found, options) for each, found in zip(files, contenders, strict=True)]
    comparisons = compare(contenders[0], contenders[1:], options.compare) if baselines else []
    is_closed = options.align.is_sealed or options.measure.aggregate_only
    worst = [] if is_closed or not options.shows_texts else models[0].report.worst_errors
    return Evaluation(
        data=Path(data).name,
        data_sha256=file_sha256(data),
        records_left_out=len(left_out),
        models=models,
        comparisons=comparisons,
        texts=error_texts(data, [(error.id, error.qid) for error in worst]),
    )


def write_evaluation(folder: str | Path, evaluation: Evaluation) -> Path:
    """Write `evaluation.json` into a folder, and return its path."""
    path = Path(folder) / FILE_NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(evaluation.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return path


def read_evaluation(folder: str | Path) -> Evaluation:
    """The evaluation in a folder.

    Raises:
        ArtifactError: there is none, or it cannot be read.
    """
    path = Path(folder) / FILE_NAME
    try:
        return Evaluation.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise ArtifactError(f"{folder} holds no {FILE_NAME}; make it with forthwith evaluate --out {folder}") from error
    except (OSError, ValidationError) as error:
        raise ArtifactError(f"{path} cannot be read as an evaluation: {error}") from error


def _names(files: Sequence[ModelFiles]) -> list[str]:
    found = model_names([each.predictions for each in files])
    names = [each.name or name for each, name in zip(files, found, strict=True)]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"two models go by the name {repeated[0]!r}; give each a name of its own", "name")
    return names


def _contender(
    data: str | Path, files: ModelFiles, name: str, options: EvaluationOptions, left_out: set[str]
) -> Contender:
    check_data(data, files.predictions)
    records: Iterable[Record] = read_records(data)
    if options.is_partial:
        records = _answered(records, {line.id for line in read_predictions(files.predictions)}, left_out)
    aligned = align(read_predictions(files.predictions), records, options.align)
    calibration = None if files.calibration is None else calibration_for(files.calibration, files.predictions)
    return Contender(name, aligned, calibration)


def _answered(records: Iterable[Record], answered: set[str], left_out: set[str]) -> Iterator[Record]:
    for record in records:
        if record.id in answered:
            yield record
        else:
            left_out.add(record.id)


def _evaluated(files: ModelFiles, contender: Contender, options: EvaluationOptions) -> EvaluatedModel:
    config = replace(options.measure, name=contender.name)
    calibration = contender.calibration
    return EvaluatedModel(
        report=evaluate(contender.questions, calibration, config),
        binding=read_meta(files.predictions).fingerprint.binding,
        predictions_sha256=file_sha256(files.predictions),
        thresholds=None if calibration is None else calibration.thresholds,
    )
