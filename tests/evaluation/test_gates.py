"""Gates: the shipped checks, commitments that hold, one shot only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import numpy as np
import pytest

from forthwith.errors import ArtifactError, ConfigError, DataError
from forthwith.evaluation.columns import QuestionColumns
from forthwith.evaluation.commitment import check_commitment, commit, mark_used, read_commitment, write_commitment
from forthwith.evaluation.gates import GateInput, GateReport, GateSpec, example_gate, gate_input, read_gate, run_gate
from forthwith.evaluation.measure import SafetyRule

NOW = datetime(2026, 12, 1, tzinfo=UTC)
SAFETY = (SafetyRule("needs_approval", "true"),)


def columns(is_right, *, confidence=0.9, threshold=np.nan, is_scorable=None) -> QuestionColumns:
    right = np.asarray(is_right, dtype=bool)
    n = right.size
    label = np.arange(n) % 2
    blank = np.full(n, np.nan)
    return QuestionColumns(
        predicted=np.where(right, label, 1 - label), label=label, n_options=np.full(n, 2), is_score=np.zeros(n, bool),
        is_scorable=np.ones(n, bool) if is_scorable is None else is_scorable, is_soft=np.zeros(n, bool), is_right=right,
        confidence=np.full(n, confidence), correctness=right.astype(float), nll=blank, brier_score=blank, tvd=blank,
        rps=blank, expected_level=blank, threshold=np.full(n, threshold), family=np.arange(n) // (n // 2),
        cluster=np.arange(n) // 4,
    )  # fmt: skip


def world(baseline_share: float, candidate_share: float, n: int = 400, thresholds=(0.95, 0.8)) -> GateInput:
    rng = np.random.default_rng(0)
    draw = rng.uniform(size=n)
    return GateInput(
        columns(draw < baseline_share, threshold=thresholds[0]),
        columns(draw < candidate_share, threshold=thresholds[1]),
        ("needs_approval", "route"),
        n // 4,
    )


def results(report: GateReport) -> dict[str, bool]:
    return {check.name: check.passed for check in report.checks}


def test_a_clear_gain_passes_all_seven_shipped_checks() -> None:
    report = run_gate(example_gate(), world(0.7, 0.9), guard=world(0.8, 0.8), safety_rules=SAFETY)
    assert report.passed
    assert len(report.checks) == 7
    assert report.p_value == pytest.approx(1 / 10_001)
    assert report.mcnemar_lost == 0
    assert (report.coverage_baseline, report.coverage_candidate) == (0.0, 1.0)
    assert report.n_clusters == 100


def test_each_shipped_check_can_fail() -> None:
    gain = results(run_gate(example_gate(), world(0.7, 0.72), guard=world(0.8, 0.79), safety_rules=SAFETY))
    assert not gain["macro gain"]
    assert not gain["guard"]
    loss = results(
        run_gate(example_gate(), world(0.9, 0.7, thresholds=(0.8, 0.95)), guard=world(0.8, 0.8), safety_rules=SAFETY)
    )
    assert not any(
        loss[name] for name in ("gain is real", "no family regression", "safety", "significance", "automation")
    )


def test_a_guard_may_ask_for_non_inferiority_instead_of_a_point() -> None:
    spec = example_gate().model_dump()
    spec["checks"] = [{"kind": "guard", "name": "guard", "low_at_least": -0.02}]
    slightly_worse = world(0.8, 0.795, n=4000)
    assert run_gate(GateSpec.model_validate(spec), world(0.7, 0.9), guard=slightly_worse).passed
    assert not run_gate(GateSpec.model_validate(spec), world(0.7, 0.9), guard=world(0.8, 0.76)).passed


def test_families_and_rates_without_questions_pass() -> None:
    data = world(0.7, 0.9)
    elsewhere = (SafetyRule("share_ok", "false"),)
    report = run_gate(example_gate(), data, guard=world(0.8, 0.8), safety_rules=elsewhere)
    assert results(report)["safety"]
    assert report.safety == {}


def test_a_missing_guard_or_threshold_is_an_error_and_not_a_pass() -> None:
    with pytest.raises(ConfigError, match="guard set"):
        run_gate(example_gate(), world(0.7, 0.9))
    with pytest.raises(ConfigError, match="thresholds"):
        run_gate(example_gate(), world(0.7, 0.9, thresholds=(np.nan, np.nan)), guard=world(0.8, 0.8))


def test_predictors_of_different_questions_are_refused() -> None:
    small, large = world(0.7, 0.9, n=40), world(0.7, 0.9, n=80)
    with pytest.raises(DataError, match="40 and 80"):
        run_gate(example_gate(), GateInput(small.baseline, large.candidate, small.families, 1), guard=small)
    ties = columns(np.ones(8), is_scorable=np.zeros(8, bool))
    with pytest.raises(DataError, match="none of the 8"):
        run_gate(example_gate(), GateInput(ties, ties, ("a", "b"), 2), guard=small)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not toml at all", "not TOML"),
        ('format = "forthwith-gate/1"\nname = "x"\nchecks = []', "checks"),
        ('format = "forthwith-gate/1"\nname = "x"\n[[checks]]\nname = "a"\nkind = "vibes"', "kind"),
        (
            'format = "forthwith-gate/1"\nname = "x"\ncolour = 1\n[[checks]]\nname = "a"\nkind = "p_value"\nbelow = 0.1',
            "colour: unknown key; take it out",
        ),
        (
            'format = "forthwith-gate/1"\nname = "x"\n[[checks]]\nname = "a"\nkind = "difference"\nat_leest = 0.1',
            r"checks\.0\.at_leest: unknown key; did you mean 'at_least'",
        ),
        (
            'name = "x"\n[[checks]]\nname = "a"\nkind = "p_value"\nbelow = 0.1',
            'format: is missing; write format = "forthwith-gate/1"',
        ),
        (
            'format = "forthwith-gate/1"\nname = "x"\n[[checks]]\nname = "a"\nkind = "p_value"',
            r"checks\.0\.below: is missing",
        ),
    ],
)
def test_a_wrong_gate_file_names_the_field(tmp_path, text, message) -> None:
    path = tmp_path / "gate.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_gate(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_gate(tmp_path / "absent.toml")


def test_a_commitment_holds_data_and_gate_and_is_never_overwritten(tmp_path) -> None:
    data, gate, path = tmp_path / "hidden.jsonl", tmp_path / "gate.toml", tmp_path / "commitment.json"
    data.write_text("a\n\nb\n")
    gate.write_text("gate")
    write_commitment(commit({"data": data}, created=NOW, gate=gate), path)
    commitment = read_commitment(path)
    assert commitment.files[0].n_lines == 2
    check_commitment(commitment, {"data": data}, gate)
    with pytest.raises(ArtifactError, match="never overwritten"):
        write_commitment(commitment, path)
    with pytest.raises(ArtifactError, match="roles"):
        check_commitment(commitment, {"data": data, "guard": data}, gate)
    gate.write_text("easier gate")
    with pytest.raises(ArtifactError, match="gate is not the committed"):
        check_commitment(commitment, {"data": data}, gate)
    data.write_text("a\n\nB secret\n")
    with pytest.raises(ArtifactError, match="committed 2 lines, found 2") as caught:
        check_commitment(commitment, {"data": data}, gate)
    assert "secret" not in str(caught.value)
    path.write_text("{}")
    with pytest.raises(ArtifactError, match="no commitment"):
        read_commitment(path)
    data.write_text("")
    with pytest.raises(DataError, match="empty"):
        commit({"data": data}, created=NOW)


def _try_to_use(arguments) -> bool:
    commitment, path = arguments
    try:
        mark_used(commitment, path, when=NOW)
    except ArtifactError:
        return False
    return True


def test_of_many_uses_at_once_exactly_one_goes_on(tmp_path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("x\n")
    commitment = commit({"data": data}, created=NOW)
    with ThreadPoolExecutor(8) as pool:
        went_on = list(pool.map(_try_to_use, [(commitment, tmp_path / "c.json")] * 8))
    assert sum(went_on) == 1
    with pytest.raises(ArtifactError, match="used 2026-12-01"):
        mark_used(commitment, tmp_path / "c.json", when=NOW)


def test_a_gate_takes_aligned_predictions_of_one_file_only() -> None:
    from forthwith.evaluation.align import align
    from forthwith.evaluation.predictions import Prediction
    from forthwith.schema import parse_record

    records = [
        parse_record({"id": f"r{i}", "state": "s", "task": "t", "questions": {"q": {"type": "noul", "instructions": "?"}},
                      "targets": {"q": {"label": i % 2 == 0}}})
        for i in range(40)
    ]  # fmt: skip
    lines = [
        Prediction(id=record.id, qid="q", type="noul", family="t", options=["false", "true"], log_scores=[0.0, 1.0],
                   probabilities=[0.27, 0.73], readout="r")
        for record in records
    ]  # fmt: skip
    whole, part = align(lines, records), align(lines[:30], records[:30])
    spec = GateSpec.model_validate(
        {"format": "forthwith-gate/1", "name": "x", "checks": [{"kind": "difference", "name": "d", "at_least": 0.0}]}
    )
    assert run_gate(spec, gate_input(whole, whole)).passed
    with pytest.raises(DataError, match="40 and 30"):
        gate_input(whole, part)
