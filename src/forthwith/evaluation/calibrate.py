"""From a prediction file on held-out data to a calibration that is bound to the model which made it."""

from __future__ import annotations

from pathlib import Path

from forthwith.bundle import CALIBRATION_NAME, check_binding, load_bundle, packaged_bundles, read_calibration
from forthwith.calibration import Calibration, FitConfig, QuestionType, fit_calibration
from forthwith.calibration.scored import QUESTION_TYPES
from forthwith.errors import ArtifactError
from forthwith.evaluation.align import AlignConfig, align_files
from forthwith.evaluation.checkpoint import file_sha256, read_meta
from forthwith.evaluation.selective import ThresholdConfig, fit_thresholds

__all__ = ["calibrate_files", "calibration_for", "check_data", "packaged_calibration"]


def calibrate_files(
    data: str | Path,
    predictions: str | Path,
    *,
    fit: FitConfig | None = None,
    thresholds: ThresholdConfig | None = None,
    align: AlignConfig | None = None,
    onto: Calibration | None = None,
) -> Calibration:
    """Temperatures, biases and thresholds for the model that made the predictions.

    Args:
        data: the records that were predicted: data that the model was not trained on.
        predictions: the prediction file, its sidecar beside it.
        fit: what may be fitted.
        thresholds: what is promised of automated answers.
        align: how clusters are made.
        onto: a calibration of the same model for everything else; the families of these records get temperatures and
            thresholds of their own beside it.

    Returns:
        A calibration with the binding of the predictions; `provenance` names the data and the predictions by hash.

    Raises:
        ArtifactError: the sidecar is missing, or the predictions were made from other data.
        DataError: predictions and records do not match.
        ConfigError: `onto` is of another model or promises something else.
    """
    meta = read_meta(predictions)
    check_data(data, predictions)
    questions = align_files(predictions, data, align)
    fitted = fit_calibration(questions.scored, meta.fingerprint.binding, fit)
    provenance = {
        **fitted.provenance,
        "data": Path(data).name,
        "data_sha256": meta.fingerprint.data_sha256,
        "predictions_sha256": file_sha256(predictions),
        "model": meta.fingerprint.model,
    }
    promised = fit_thresholds(questions.scored, fitted, thresholds)
    calibration = fitted.model_copy(update={"thresholds": promised, "provenance": provenance})
    if onto is None:
        return calibration
    scored = questions.scored
    types: dict[str, QuestionType] = {
        scored.families[family]: QUESTION_TYPES[kind] for family, kind in zip(scored.family, scored.types, strict=True)
    }
    return onto.with_families(calibration, types)


def calibration_for(path: str | Path, predictions: str | Path) -> Calibration:
    """A calibration file, if it was fitted on the same weights, adapter, template, readout and precision.

    Raises:
        ArtifactError: it was not; the message names what differs.
    """
    calibration = read_calibration(path)
    check_binding(calibration, read_meta(predictions).fingerprint.binding, str(path))
    return calibration


def packaged_calibration(predictions: str | Path) -> Path | None:
    """The calibration of the shipped bundle that made the predictions; None where no bundle of the package did."""
    binding = read_meta(predictions).fingerprint.binding
    for folder in packaged_bundles().values():
        bundle = load_bundle(folder)
        if bundle.calibration is not None and not bundle.calibration.binding.differences(binding):
            return folder / CALIBRATION_NAME
    return None


def check_data(data: str | Path, predictions: str | Path) -> None:
    """Refuse predictions that were made from another version of the data.

    Raises:
        ArtifactError: with both hashes.
    """
    expected, found = read_meta(predictions).fingerprint.data_sha256, file_sha256(data)
    if expected != found:
        raise ArtifactError(f"{predictions} was predicted from other data than {data}; predict again", expected, found)
