"""A gate on files: commitment first, then the mark of use, and only then the data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path

from forthwith.calibration import Calibration
from forthwith.default_model.source import file_sha256
from forthwith.errors import ConfigError
from forthwith.evaluation.align import AlignConfig, align_files
from forthwith.evaluation.calibrate import calibration_for, check_data
from forthwith.evaluation.commitment import check_commitment, mark_used, read_commitment
from forthwith.evaluation.document import ModelFiles
from forthwith.evaluation.gate_spec import GateSpec, read_gate
from forthwith.evaluation.gates import GateInput, GateReport, check_inputs, gate_input, run_gate
from forthwith.evaluation.measure import MeasureConfig

__all__ = ["GateFiles", "gate_path", "judge_files"]

_PACKAGE = "forthwith.evaluation"
_Calibrations = tuple[Calibration | None, Calibration | None]


@dataclass(frozen=True)
class GateFiles:
    """A set of records and both models' predictions on it."""

    data: Path
    candidate: ModelFiles
    baseline: ModelFiles


def gate_path(name: str | Path) -> Path:
    """The file of a gate: a path, or the name of a shipped example such as `pev`.

    Raises:
        ConfigError: there is neither; names the shipped ones.
    """
    path = Path(name)
    if path.is_file():
        return path
    shipped = {file.stem: file for file in Path(str(resources.files(_PACKAGE).joinpath("gate_specs"))).glob("*.toml")}
    if str(name) not in shipped:
        raise ConfigError(
            f"there is no gate {str(name)!r}; give a TOML file or one of {', '.join(sorted(shipped))}", "spec"
        )
    return shipped[str(name)]


def judge_files(
    spec: Path,
    files: GateFiles,
    *,
    when: datetime,
    guard: GateFiles | None = None,
    commitment: Path | None = None,
    align: AlignConfig | None = None,
) -> GateReport:
    """Judge a candidate by a gate.

    Args:
        spec: the gate's TOML file.
        files: the data and both models' predictions.
        when: the time that a one-shot gate's mark of use carries.
        guard: the guard set and predictions on it, where the gate asks for one.
        commitment: the commitment that data, guard and gate must match; a one-shot gate is used up by this call.
        align: how clusters are made; with a commitment, errors give counts and no ids.

    Raises:
        ConfigError: a one-shot gate without a commitment, or a check that lacks what it needs.
        ArtifactError: data, guard or gate are not the committed ones, the one shot was used before, or a calibration
            belongs to another model.
        DataError: predictions and records do not match.
    """
    checks = read_gate(spec)
    if checks.one_shot and commitment is None:
        raise ConfigError(
            f"{checks.name} is a one-shot gate; give the commitment made by forthwith commit", "commitment"
        )
    fits = _calibrations(files)
    guard_fits = None if guard is None else _calibrations(guard)
    has_thresholds = all(fit is not None and fit.thresholds is not None for fit in fits)
    check_inputs(checks, has_thresholds=has_thresholds, has_guard=guard is not None)
    if commitment is not None:
        _open_once(checks, spec, files, guard, commitment, when)
    config = align or AlignConfig(is_sealed=commitment is not None)
    data = _gate_input(files, fits, config)
    guarded = None if guard is None or guard_fits is None else _gate_input(guard, guard_fits, config)
    report = run_gate(checks, data, guarded, MeasureConfig().safety_rules)
    return report.model_copy(update={"data_sha256": file_sha256(files.data)})


def _calibrations(files: GateFiles) -> _Calibrations:
    """Of baseline and candidate. Finds all that can be wrong without the data being opened, so that no shot is lost to it."""
    return _calibration(files.data, files.baseline), _calibration(files.data, files.candidate)


def _calibration(data: Path, model: ModelFiles) -> Calibration | None:
    check_data(data, model.predictions)
    return None if model.calibration is None else calibration_for(model.calibration, model.predictions)


def _open_once(
    checks: GateSpec, spec: Path, files: GateFiles, guard: GateFiles | None, commitment: Path, when: datetime
) -> None:
    committed = read_commitment(commitment)
    roles = {"data": files.data} | ({} if guard is None else {"guard": guard.data})
    check_commitment(committed, roles, spec)
    if checks.one_shot:
        mark_used(committed, commitment, when=when)


def _gate_input(files: GateFiles, fits: _Calibrations, config: AlignConfig) -> GateInput:
    one, two = (align_files(model.predictions, files.data, config) for model in (files.baseline, files.candidate))
    return gate_input(one, two, fits)
