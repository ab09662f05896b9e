"""Predictions and records that do not match are refused with counts and first ids."""

from __future__ import annotations

import json

import numpy as np
import pytest

from forthwith.errors import ConfigError, DataError
from forthwith.evaluation.align import AlignConfig, align, align_files
from forthwith.evaluation.predictions import Prediction, read_predictions
from forthwith.schema import parse_record, state_sha256


def record(name: str, label: object = "b", **meta):
    return parse_record(
        {
            "id": name,
            "task": "pick",
            "state": "text",
            "questions": {"q": {"type": "choice", "instructions": "?", "criteria": {"a": None, "b": None, "c": None}}},
            "targets": {} if label is None else {"q": {"label": label}},
            "meta": meta,
        }
    )


def prediction(name: str, **changes) -> Prediction:
    fields = {
        "id": name,
        "qid": "q",
        "type": "choice",
        "family": "pick",
        "options": ["a", "b", "c"],
        "log_scores": [0.0, 1.0, 2.0],
        "probabilities": [0.1, 0.2, 0.7],
        "readout": "branch",
    }
    return Prediction.model_validate({**fields, **changes})


def test_rows_follow_the_records_and_carry_what_metrics_need() -> None:
    rows = align(
        [prediction("r2", log_scores=[5, 0, 0], input_tokens=2000), prediction("r1", none_score=0.5)],
        [
            record("r1", user_id="u", style="plain"),
            record("r2", label="c", user_id="u", style="odd"),
        ],
    )
    assert rows.record_ids == ["r1", "r2"]
    assert rows.scored.label.tolist() == [1, 2]
    assert rows.scored.cluster.tolist() == [0, 0]
    assert rows.scored.log_scores.tolist() == [0, 1, 2, 5, 0, 0]
    assert rows.label_key(1) == "c"
    assert rows.none_scores[0] == 0.5
    assert np.isnan(rows.none_scores[1])
    assert rows.slices["style"] == ["plain", "odd"]
    assert rows.slices["options"] == ["3 to 5", "3 to 5"]
    assert rows.slices["prompt_tokens"] == ["below 256", "1024 to 4095"]
    assert rows.readout == "branch"


def test_states_cluster_where_no_user_is_known_or_wanted() -> None:
    by_state = AlignConfig(cluster_by="state")
    records = [record("r1", user_id="u", state_id="s1"), record("r2", user_id="u", state_id="s2")]
    assert align([prediction("r1"), prediction("r2")], records, by_state).scored.cluster.tolist() == [0, 1]
    alike = align(
        [prediction("r1"), prediction("r2")], [record("r1"), record("r2")]
    )  # equal states, whoever wrote them
    assert alike.scored.cluster.tolist() == [0, 0]
    other = record("r2").model_copy(update={"state": "another text"})
    assert align([prediction("r1"), prediction("r2")], [record("r1"), other]).scored.cluster.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([], r"2 questions without a prediction \(first: r1/q, r2/q\)"),
        (["r1", "r1", "r2"], r"1 repeated predictions \(first: r1/q\)"),
        (["r1", "r2", "r9"], r"1 predictions for no question \(first: r9/q\)"),
        (
            [("r1", {"options": ["b", "a", "c"]}), "r2"],
            r"1 predictions with other options than the question \(first: r1/q\)",
        ),
        ([("r1", {"log_scores": [0, float("nan"), 1]}), "r2"], r"1 predictions with a NaN or infinite log-score"),
        ([("r1", {"log_scores": [0, 1]}), "r2"], r"more or fewer log-scores than options \(first: r1/q\)"),
        ([("r1", {"family": "other"}), "r2"], r"another family"),
        ([("r1", {"readout": "label"}), "r2"], r"branch, label"),
    ],
)
def test_what_does_not_match_is_counted_and_named(predictions, message) -> None:
    lines = [prediction(p) if isinstance(p, str) else prediction(p[0], **p[1]) for p in predictions]
    with pytest.raises(DataError, match=message):
        align(lines, [record("r1"), record("r2")])


def test_sealed_errors_name_no_id() -> None:
    with pytest.raises(DataError) as caught:
        align([], [record("secret")], AlignConfig(is_sealed=True))
    assert "1 questions without a prediction" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_questions_without_a_target_are_counted_or_refused() -> None:
    lines, records = [prediction("r1"), prediction("r2")], [record("r1"), record("r2", label=None)]
    assert align(lines, records).n_without_target == 1
    with pytest.raises(DataError, match=r"1 questions without a target \(first: r2/q\)"):
        align(lines, records, AlignConfig(needs_targets=True))
    with pytest.raises(DataError, match="none of the 1 questions has a target"):
        align([prediction("r2")], [record("r2", label=None)])
    with pytest.raises(DataError, match="no records"):
        align([], [])


def test_an_unknown_slice_field_lists_the_fields_there_are() -> None:
    with pytest.raises(ConfigError, match="'colour'; fields are style, task"):
        align([prediction("r1")], [record("r1", style="x")], AlignConfig(slice_fields=("colour",)))


def test_files_are_read_and_a_bad_line_is_named(tmp_path) -> None:
    data, preds = tmp_path / "data.jsonl", tmp_path / "preds.jsonl"
    data.write_text(
        json.dumps(
            {
                "id": "r1",
                "task": "pick",
                "state": "s",
                "questions": {"q": {"type": "noul", "instructions": "?"}},
                "targets": {"q": {"distribution": {"yes": 0.5, "no": 0.5}}},
            }
        )
    )
    line = prediction("r1", type="noul", options=["false", "true"], log_scores=[0, 1], probabilities=[0.3, 0.7])
    preds.write_text(line.model_dump_json() + "\n")
    rows = align_files(preds, data)
    assert rows.scored.is_ambiguous.tolist() == [True]
    preds.write_text(line.model_dump_json() + '\n{"id": 3}\n')
    with pytest.raises(DataError, match=r"preds\.jsonl:2: no prediction: id"):
        align_files(preds, data)
    with pytest.raises(DataError, match="cannot be read"):
        list(read_predictions(tmp_path / "absent.jsonl"))


def test_data_that_the_model_was_trained_on_is_refused_by_hash() -> None:
    trained = frozenset({state_sha256("text")})
    with pytest.raises(DataError, match=r"1 records whose state the model was trained on \(first: r1\)"):
        align([prediction("r1")], [record("r1")], AlignConfig(training_hashes=trained))
    assert len(align([prediction("r1")], [record("r1")], AlignConfig(training_hashes=frozenset({"other"})))) == 1
    assert state_sha256({"b": 1, "a": [2]}) == state_sha256({"a": [2], "b": 1}) != state_sha256({"a": [2], "b": 2})
