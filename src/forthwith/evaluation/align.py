"""Predictions beside the records they answer: exactly one for each question, or an error that says which not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from forthwith.calibration import ScoredQuestion, ScoredQuestions
from forthwith.errors import ConfigError, DataError
from forthwith.evaluation.predictions import Prediction, read_predictions
from forthwith.metrics import FloatArray, IntArray
from forthwith.schema import Record, option_keys, read_records, state_sha256
from forthwith.schema.trained_states import TrainedStates

__all__ = ["AlignConfig", "AlignedQuestions", "align", "align_files"]

ClusterBy = Literal["user", "state"]

_SHOWN = 5
_UNPREDICTED = "questions without a prediction"
_REPEATED = "repeated predictions"
_TRAINED_ON = "records whose state the model was trained on"
_REMEDIES = {
    _UNPREDICTED: "predict this very file to its end; of a run with --limit, or one that left records out, `evaluate --partial`"
    " measures what there is",
    _REPEATED: "keep one line a question",
    _TRAINED_ON: "give records that were held back",
    "questions without a target": "give them labels",
}
"""What to do about a fault; about all others, predict the very file again."""
_USUAL_FIELDS = ("variant", "style", "language", "renderer", "domain", "buried", "difficulty")
_PROMPT_EDGES = (256, 1024, 4096)
_OPTION_EDGES = (3, 6, 11)


@dataclass(frozen=True)
class AlignConfig:
    """How predictions and records are brought together.

    Attributes:
        cluster_by: rows of one user (or, where no user is known, one state) are not independent; "state" ignores users.
        slice_fields: meta fields to report by; the usual ones that occur where None.
        is_sealed: errors give counts only, never an id.
        needs_targets: refuse records without a target; otherwise they are counted and left out.
        training_hashes: `state_sha256` of the states a model was trained on; a record with one of them is refused.
    """

    cluster_by: ClusterBy = "user"
    slice_fields: tuple[str, ...] | None = None
    is_sealed: bool = False
    needs_targets: bool = False
    training_hashes: frozenset[str] | TrainedStates = frozenset()


@dataclass(frozen=True)
class AlignedQuestions:
    """Questions with their predictions and targets, in the order of the records.

    Attributes:
        scored: the columns that metrics and calibration use; N questions.
        record_ids: length N.
        qids: length N.
        options: length N, option keys in order.
        none_scores: shape (N,), log-odds that even the best option is right; NaN where the readout gives none.
        slices: name of the slicing → length N, the value of each question.
        n_states: number of different states.
        n_without_target: questions left out because nothing says what is right.
        readout: the readout that gave the predictions.
    """

    scored: ScoredQuestions
    record_ids: list[str]
    qids: list[str]
    options: list[tuple[str, ...]]
    none_scores: FloatArray
    slices: dict[str, list[str]]
    n_states: int
    n_without_target: int
    readout: str

    def __len__(self) -> int:
        """Number of questions."""
        return len(self.qids)

    def label_key(self, row: int) -> str:
        """Key of the right option of one question."""
        return self.options[row][int(self.scored.label[row])]


class _Line(NamedTuple):
    """What is kept of a prediction."""

    type: Literal["noul", "choice", "score"]
    family: str
    options: tuple[str, ...]
    log_scores: list[float]
    none_score: float | None
    input_tokens: int


@dataclass
class _Faults:
    """Everything wrong between two files, so that one message tells all."""

    is_sealed: bool
    found: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def add(self, kind: str, where: str) -> None:
        self.found.setdefault(kind, []).append(where)

    def raise_any(self) -> None:
        if not self.found:
            return
        parts: list[str] = []
        for kind, places in self.found.items():
            shown = "" if self.is_sealed else f" (first: {', '.join(places[:_SHOWN])})"
            parts.append(f"{len(places)} {kind}{shown}")
        remedies = dict.fromkeys(_REMEDIES.get(kind, "predict this very file again") for kind in self.found)
        raise DataError(f"predictions and records do not match: {'; '.join(parts)}; {'; '.join(remedies)}")


def align_files(predictions: str | Path, records: str | Path, config: AlignConfig | None = None) -> AlignedQuestions:
    """`align` for a prediction file and a file of records."""
    return align(read_predictions(predictions), read_records(records), config)


def align(
    predictions: Iterable[Prediction], records: Iterable[Record], config: AlignConfig | None = None
) -> AlignedQuestions:
    """One row for each question that has a target, in the order of the records.

    Args:
        predictions: exactly one for each question of the records, of one readout.
        records: streamed; states are not kept.
        config: clusters, slices, strictness.

    Raises:
        DataError: missing, repeated or additional predictions, other options, another type or family, a log-score that
            is not finite, no target at all; with the number of each and the first ids.
        ConfigError: a slice field that no record has.
    """
    config = config or AlignConfig()
    faults = _Faults(config.is_sealed)
    lines, readouts = _collect(predictions, faults)
    rows = _Rows(config, lines, faults)
    for record in records:
        rows.add(record)
    for record_id, qid in lines:
        faults.add("predictions for no question", f"{record_id}/{qid}")
    if len(readouts) > 1:
        faults.add("readouts in one file, where one is allowed", ", ".join(sorted(readouts)))
    faults.raise_any()
    return rows.finish(next(iter(readouts), ""))


def _collect(predictions: Iterable[Prediction], faults: _Faults) -> tuple[dict[tuple[str, str], _Line], set[str]]:
    lines: dict[tuple[str, str], _Line] = {}
    readouts: set[str] = set()
    interned: dict[tuple[str, ...], tuple[str, ...]] = {}
    for line in predictions:
        place = (line.id, line.qid)
        readouts.add(line.readout)
        if place in lines:
            faults.add(_REPEATED, f"{line.id}/{line.qid}")
        if len(line.log_scores) != len(line.options):
            faults.add("predictions with more or fewer log-scores than options", f"{line.id}/{line.qid}")
        elif not all(map(math.isfinite, line.log_scores)):
            faults.add("predictions with a NaN or infinite log-score", f"{line.id}/{line.qid}")
        keys = tuple(line.options)
        options = interned.setdefault(keys, keys)
        lines[place] = _Line(line.type, line.family, options, line.log_scores, line.none_score, line.input_tokens)
    return lines, readouts


class _Rows:
    """The growing columns."""

    def __init__(self, config: AlignConfig, lines: dict[tuple[str, str], _Line], faults: _Faults) -> None:
        self._config, self._lines, self._faults = config, lines, faults
        self._scored: list[ScoredQuestion] = []
        self._places: list[tuple[str, str]] = []
        self._options: list[tuple[str, ...]] = []
        self._none_scores: list[float] = []
        self._tokens: list[int] = []
        self._meta: list[dict[str, Any]] = []
        self._states: set[str] = set()
        self._n_records = 0
        self._n_without_target = 0

    def add(self, record: Record) -> None:
        """Take the questions of one record."""
        self._n_records += 1
        trained_on = self._config.training_hashes
        if trained_on and state_sha256(record.state) in trained_on:
            self._faults.add(_TRAINED_ON, record.id)
        user = record.user_id if self._config.cluster_by == "user" else None
        state = record.cluster_id
        cluster = state if user is None else f"user:{user}"
        kept = {name: value for name, value in record.meta.items() if isinstance(value, str | int | float | bool)}
        for qid, question in record.questions.items():
            where = f"{record.id}/{qid}"
            line = self._lines.pop((record.id, qid), None)
            if line is None:
                self._faults.add(_UNPREDICTED, where)
                continue
            keys = option_keys(question)
            family = record.family(qid)
            if line.options != keys or line.type != question.type:
                self._faults.add("predictions with other options than the question", where)
                continue
            if line.family != family:
                self._faults.add("predictions with another family than the question", where)
                continue
            target = record.targets.get(qid)
            if target is None:
                self._n_without_target += 1
                if self._config.needs_targets:
                    self._faults.add("questions without a target", where)
                continue
            vector = target.vector(keys)
            label = keys.index(target.best_key())
            self._scored.append(
                ScoredQuestion(line.type, family, cluster, line.log_scores, vector, label, target.is_ambiguous())
            )
            self._places.append((record.id, qid))
            self._options.append(line.options)
            self._none_scores.append(float("nan") if line.none_score is None else line.none_score)
            self._tokens.append(line.input_tokens)
            self._meta.append(kept)
            self._states.add(state)

    def finish(self, readout: str) -> AlignedQuestions:
        """The columns."""
        if not self._n_records:
            raise DataError("there are no records; check the path")
        if not self._scored:
            raise DataError(f"none of the {self._n_without_target} questions has a target; label some first")
        return AlignedQuestions(
            scored=ScoredQuestions.from_rows(self._scored),
            record_ids=[record_id for record_id, _ in self._places],
            qids=[qid for _, qid in self._places],
            options=self._options,
            none_scores=np.array(self._none_scores, dtype=np.float64),
            slices=self._slices(),
            n_states=len(self._states),
            n_without_target=self._n_without_target,
            readout=readout,
        )

    def _slices(self) -> dict[str, list[str]]:
        known = sorted({name for meta in {id(meta): meta for meta in self._meta}.values() for name in meta})
        wanted = self._config.slice_fields
        if wanted is None:
            wanted = tuple(name for name in _USUAL_FIELDS if name in known)
        for name in wanted:
            if name not in known:
                raise ConfigError(
                    f"no record has the meta field {name!r}; fields are {', '.join(known) or 'none'}", name
                )
        slices = {name: [str(meta.get(name, "(none)")) for meta in self._meta] for name in wanted}
        slices["type"] = [row.type for row in self._scored]
        slices["options"] = _ranges(np.array([len(row.log_scores) for row in self._scored]), _OPTION_EDGES)
        if any(self._tokens):
            slices["prompt_tokens"] = _ranges(np.array(self._tokens), _PROMPT_EDGES)
        return slices


def _ranges(values: IntArray, edges: Sequence[int]) -> list[str]:
    """Each value's range, named by its ends; the first range is open below, the last above."""
    names = [f"below {edges[0]}"]
    names += [f"{low} to {high - 1}" for low, high in pairwise(edges)]
    names.append(f"{edges[-1]} and more")
    return [names[place] for place in np.searchsorted(np.asarray(edges), values, side="right")]
