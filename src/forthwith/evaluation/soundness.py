"""All checks of a test set together: what is unsound is said in words, family by family."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from forthwith.evaluation.align import AlignConfig, AlignedQuestions, align, align_files
from forthwith.evaluation.blind import BlindResult, shortcut_accuracy, state_blind_accuracy, usual_shortcuts
from forthwith.evaluation.calibrate import check_data
from forthwith.evaluation.checkpoint import model_names
from forthwith.evaluation.columns import question_columns
from forthwith.evaluation.compare import check_same_questions
from forthwith.evaluation.predictions import Prediction
from forthwith.evaluation.validity import (
    LadderStep,
    NoiseFloor,
    NullBaseline,
    OracleResult,
    Rung,
    ladder,
    noise_floor,
    null_baselines,
    oracle,
)
from forthwith.schema import Record, option_keys, read_records

__all__ = ["ValidityOptions", "ValidityReport", "check_validity"]


@dataclass(frozen=True)
class ValidityOptions:
    """How to check: cluster resamples, label permutations, folds of the learned baseline, and the seed of all of them."""

    n_resamples: int = 2_000
    n_permutations: int = 50
    folds: int = 5
    seed: int = 20260930
    cluster_by: Literal["user", "state"] = "user"


class ValidityReport(BaseModel):
    """What a test set can and cannot show.

    Attributes:
        noise_floor: of the weakest model given; empty without one.
        ladder: from each model to the next stronger one; empty with fewer than two.
        blind: the learned baseline that does not read the state, by family.
        shortcuts: family → shortcut → result.
        findings: everything unsound, in words; none means sound.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["forthwith-validity/1"] = "forthwith-validity/1"
    data: str
    oracle: OracleResult
    null_baselines: dict[str, NullBaseline]
    noise_floor: dict[str, NoiseFloor]
    ladder: list[LadderStep]
    blind: dict[str, BlindResult]
    shortcuts: dict[str, dict[str, BlindResult]]
    findings: list[str]


def check_validity(
    data: str | Path, predictions: Sequence[Path] = (), options: ValidityOptions | None = None
) -> ValidityReport:
    """Check a test set.

    Args:
        data: records with targets.
        predictions: prediction files, weakest model first; may be empty.
        options: resamples, permutations, folds.

    Raises:
        DataError: predictions and records do not match, or no question has one right answer.
        ArtifactError: predictions were made from other data.
    """
    options = options or ValidityOptions()
    records = list(read_records(data))
    config = AlignConfig(cluster_by=options.cluster_by)
    for path in predictions:
        check_data(data, path)
    aligned = [align_files(path, data, config) for path in predictions]
    names = model_names(predictions)
    for name, other in zip(names[1:], aligned[1:], strict=True):
        check_same_questions(aligned[0], other, (names[0], name))
    main = aligned[0] if aligned else align(_uniform(records), records, config)
    report = ValidityReport(
        data=Path(data).name,
        oracle=oracle(main),
        null_baselines=null_baselines(
            main, uses_predictions=bool(aligned), n_permutations=options.n_permutations, seed=options.seed
        ),
        noise_floor=_noise_floor(aligned, options),
        ladder=_ladder(names, aligned, options),
        blind=state_blind_accuracy(records, folds=options.folds, seed=options.seed),
        shortcuts=shortcut_accuracy(records, usual_shortcuts()),
        findings=[],
    )
    return report.model_copy(
        update={"findings": [*_label_findings(report), *_blind_findings(report), *_ladder_findings(report)]}
    )


def _uniform(records: Iterable[Record]) -> Iterator[Prediction]:
    """Predictions that know nothing, where no model's are at hand."""
    for record in records:
        for qid, question in record.questions.items():
            keys = list(option_keys(question))
            yield Prediction(
                id=record.id,
                qid=qid,
                type=question.type,
                family=record.family(qid),
                options=keys,
                log_scores=[0.0] * len(keys),
                probabilities=[1 / len(keys)] * len(keys),
                readout="uniform",
            )


def _noise_floor(aligned: list[AlignedQuestions], options: ValidityOptions) -> dict[str, NoiseFloor]:
    if not aligned:
        return {}
    columns, families = question_columns(aligned[0]), aligned[0].scored.families
    return noise_floor(columns, families, n_resamples=options.n_resamples, seed=options.seed)


def _ladder(names: list[str], aligned: list[AlignedQuestions], options: ValidityOptions) -> list[LadderStep]:
    if len(aligned) < 2:
        return []
    rungs = [Rung(name, question_columns(each)) for name, each in zip(names, aligned, strict=True)]
    return ladder(rungs, aligned[0].scored.families, n_resamples=options.n_resamples, seed=options.seed)


def _label_findings(report: ValidityReport) -> Iterator[str]:
    if not report.oracle.is_sound:
        yield f"the gold answers themselves score only {report.oracle.accuracy:.3f}: a fault in labels or in the path"
    if report.oracle.n_contradicted:
        yield f"{report.oracle.n_contradicted} labels are not the option with the largest gold share"
    for family, found in report.null_baselines.items():
        if not found.is_sound:
            best = max(found.majority, found.best_position)
            yield (
                f"{family}: without reading anything {best:.3f} is right, chance is {found.chance:.3f} "
                f"± {found.half_width:.3f}; labels are not balanced"
            )


def _blind_findings(report: ValidityReport) -> Iterator[str]:
    for family, found in report.blind.items():
        if found.is_above_chance:
            yield f"{family}: words of the question alone give {found.accuracy:.3f}, chance is {found.chance:.3f}"
    for family, results in report.shortcuts.items():
        for found in results.values():
            if found.is_above_chance:
                yield f"{family}: the shortcut {found.name!r} gives {found.accuracy:.3f}, chance is {found.chance:.3f}"


def _ladder_findings(report: ValidityReport) -> Iterator[str]:
    for step in report.ladder:
        if not step.is_sound:
            falling = f" ({', '.join(step.falling_families)})" if step.falling_families else ""
            yield f"{step.stronger} does worse than {step.weaker}{falling}: the test may not measure ability"
