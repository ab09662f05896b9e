"""Each question once, whatever happens in between."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from scripted import LOCAL, REMOTE, ScriptedDecider

from forthwith.errors import ArtifactError, ConfigError, DataError, EngineError, OverloadedError, RequestError
from forthwith.evaluation.checkpoint import Fingerprint, PredictionFile, PredictionMeta, meta_path
from forthwith.evaluation.patience import Patience
from forthwith.evaluation.predict import PredictOptions, PredictProgress, predict
from forthwith.evaluation.predictions import Prediction

HERE = Path(__file__).parent


def record(number: int, words: int = 3) -> dict[str, object]:
    return {
        "id": f"r{number}",
        "task": "letters",
        "state": " ".join([f"state{number}"] * words),
        "questions": {
            "q": {"type": "choice", "instructions": "Which?", "criteria": {"a": "first", "b": "second", "c": None}},
            "late": {"type": "noul", "instructions": "Late?"},
        },
        "targets": {"q": {"label": "a"}, "late": {"label": "no"}},
    }


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data.jsonl", [record(number) for number in range(10)])


def lines(path: Path) -> list[Prediction]:
    return [Prediction.model_validate_json(line) for line in path.read_bytes().splitlines()]


def test_one_line_a_question_with_scores_before_temperature(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    meta = predict(data, ScriptedDecider(), out)
    written = lines(out)
    assert [(line.id, line.qid) for line in written] == [(f"r{n}", qid) for n in range(10) for qid in ("q", "late")]
    first = written[0]
    assert (first.type, first.family, first.options, first.readout) == ("choice", "letters", ["a", "b", "c"], "label")
    assert sum(first.probabilities) == pytest.approx(1)
    assert written[1].options == ["false", "true"]
    assert (meta.records, meta.questions, meta.complete, meta.input_tokens, meta.cached_tokens) == (
        10,
        20,
        True,
        30,
        10,
    )
    assert sum(line.input_tokens for line in written) == 30


def test_batches_keep_within_the_token_budget_and_a_long_record_goes_alone(tmp_path: Path) -> None:
    data = write(tmp_path / "data.jsonl", [record(n, words) for n, words in enumerate([4, 4, 4, 30, 1, 1])])
    model = ScriptedDecider()
    predict(data, model, tmp_path / "preds.jsonl", options=PredictOptions(batch_tokens=10))
    assert model.batches == [2, 1, 1, 2]


def test_gzip_and_parquet_give_the_same_answers(data: Path, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows = [json.loads(line) for line in data.read_text().splitlines()]
    with gzip.open(tmp_path / "data.jsonl.gz", "wt") as file:
        file.write(data.read_text())
    table = [{**row, "questions": json.dumps(row["questions"]), "targets": json.dumps(row["targets"])} for row in rows]
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "data.parquet")
    answers = []
    for name in ("data.jsonl", "data.jsonl.gz", "data.parquet"):
        predict(tmp_path / name, ScriptedDecider(), tmp_path / f"{name}.preds")
        answers.append((tmp_path / f"{name}.preds").read_bytes())
    assert answers[0] == answers[1] == answers[2]


CHILD = """
import sys
sys.path.insert(0, {here!r})
from scripted import ScriptedDecider
from forthwith.evaluation.predict import PredictOptions, predict

def wait_for_leave(number):
    print(number, flush=True)
    sys.stdin.readline()

predict(sys.argv[1], ScriptedDecider(before_batch=wait_for_leave), sys.argv[2], options=PredictOptions(batch_records=2))
"""


def test_a_killed_run_loses_only_the_batch_in_flight(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(here=str(HERE)), str(data), str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    for number in ("1", "2", "3", "4"):
        assert child.stdout.readline().strip() == number
        if number != "4":
            child.stdin.write("go\n")
            child.stdin.flush()
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    assert len(lines(out)) == 12  # three batches of two records with two questions; the fourth was in flight

    model = ScriptedDecider()
    meta = predict(data, model, out)
    assert len(model.asked) == 8
    keys = [(line.id, line.qid) for line in lines(out)]
    assert len(keys) == len(set(keys)) == 20
    assert (meta.questions, meta.complete, meta.runs, meta.input_tokens) == (20, True, 2, 30)
    predict(data, ScriptedDecider(), tmp_path / "unbroken.jsonl")
    assert out.read_bytes() == (tmp_path / "unbroken.jsonl").read_bytes()


@pytest.mark.parametrize("cut", [1, 40, -1])
def test_a_torn_line_is_cut_off_and_only_its_question_asked_again(data: Path, tmp_path: Path, cut: int) -> None:
    out = tmp_path / "preds.jsonl"
    predict(data, ScriptedDecider(), out)
    whole = out.read_bytes().splitlines(keepends=True)
    kept, torn = whole[:7], whole[7]
    out.write_bytes(b"".join(kept) + torn[:cut])
    model = ScriptedDecider()
    predict(data, model, out)
    assert len(model.asked) == 13
    again = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert [(line["id"], line["qid"], line["log_scores"]) for line in again] == [
        (line["id"], line["qid"], line["log_scores"]) for line in map(json.loads, whole)
    ]


def test_a_finished_run_asks_nothing(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    predict(data, ScriptedDecider(), out)
    before, model = out.read_bytes(), ScriptedDecider()
    assert predict(data, model, out).complete
    assert model.batches == []
    assert out.read_bytes() == before


def test_limit_stops_early_and_a_larger_limit_goes_on(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    meta = predict(data, ScriptedDecider(), out, options=PredictOptions(limit=4))
    assert (meta.questions, meta.complete) == (8, False)
    model = ScriptedDecider()
    assert predict(data, model, out, options=PredictOptions(limit=10)).complete
    assert len(model.asked) == 12


def test_another_configuration_is_refused_and_named(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    predict(data, ScriptedDecider(), out, options=PredictOptions(limit=2))
    other = LOCAL.model_copy(update={"template_sha256": "u" * 64, "readout": "branch"})
    with pytest.raises(ArtifactError, match=r"template_sha256 'tttt.*readout 'label' != 'branch'") as caught:
        predict(data, ScriptedDecider(binding=other), out)
    assert "weights" not in str(caught.value)
    with data.open("a") as file:
        file.write(json.dumps(record(99)) + "\n")
    with pytest.raises(ArtifactError, match=r"another configuration .data "):
        predict(data, ScriptedDecider(), out)


def test_lines_without_a_sidecar_are_refused(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    predict(data, ScriptedDecider(), out)
    meta_path(out).unlink()
    with pytest.raises(ArtifactError, match=r"meta.json is missing"):
        predict(data, ScriptedDecider(), out)


@pytest.mark.parametrize("broken", ["not json\n", '{"id": "r1"}\n', "[1]\n"])
def test_a_broken_line_within_the_file_names_its_number(data: Path, tmp_path: Path, broken: str) -> None:
    out = tmp_path / "preds.jsonl"
    predict(data, ScriptedDecider(), out, options=PredictOptions(limit=2))
    rows = out.read_text().splitlines(keepends=True)
    out.write_text(rows[0] + broken + rows[1])
    with pytest.raises(DataError, match=r"preds.jsonl:2: is not a prediction"):
        predict(data, ScriptedDecider(), out)


def test_a_question_answered_twice_is_refused(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    predict(data, ScriptedDecider(), out, options=PredictOptions(limit=1))
    out.write_text(out.read_text() + out.read_text().splitlines(keepends=True)[0])
    with pytest.raises(DataError, match="answers question 'q' of record 'r0' a second time"):
        predict(data, ScriptedDecider(), out)


def test_two_processes_cannot_write_one_file(data: Path, tmp_path: Path) -> None:
    fingerprint = Fingerprint(data_sha256="x", model="scripted", binding=LOCAL)
    with (
        PredictionFile(tmp_path / "preds.jsonl", fingerprint),
        pytest.raises(ConfigError, match="written by another process"),
    ):
        PredictionFile(tmp_path / "preds.jsonl", fingerprint)


def spoiled(tmp_path: Path) -> Path:
    rows = [record(0), record(1), record(2, words=2000), record(0), record(3)]
    text = [json.dumps(row) for row in rows]
    text.insert(1, '{"id": "broken", "state": 3}')
    (tmp_path / "spoiled.jsonl").write_text("\n".join(text) + "\n")
    return tmp_path / "spoiled.jsonl"


def test_the_first_bad_line_stops_the_run_and_what_came_before_is_kept(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"spoiled.jsonl:2: state"):
        predict(spoiled(tmp_path), ScriptedDecider(), tmp_path / "preds.jsonl", options=PredictOptions(batch_records=1))


def test_keep_going_counts_and_lists_what_got_no_answer(tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    meta = predict(spoiled(tmp_path), ScriptedDecider(), out, options=PredictOptions(keep_going=True))
    assert [line.id for line in lines(out)] == ["r0", "r0", "r1", "r1", "r3", "r3"]
    assert meta.refused == 3
    assert [refusal.where for refusal in meta.refusals] == ["line 2", "record r2", "record r0"]
    assert "2000 tokens" in meta.refusals[1].reason
    stored = PredictionMeta.model_validate_json(meta_path(out).read_bytes())
    assert stored == meta


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(DataError, match="holds no records"):
        predict(tmp_path / "empty.jsonl", ScriptedDecider(), tmp_path / "preds.jsonl")
    with pytest.raises(DataError, match="cannot be read"):
        predict(tmp_path / "missing.jsonl", ScriptedDecider(), tmp_path / "preds.jsonl")


def test_a_remote_model_is_tried_again_after_growing_waits(data: Path, tmp_path: Path) -> None:
    waits: list[float] = []

    def fail_thrice(number: int) -> None:
        if number in (2, 3):
            raise EngineError("connection reset", retryable=True)
        if number == 4:
            raise OverloadedError("too many requests", retry_after_s=44)

    model = ScriptedDecider(binding=REMOTE, before_batch=fail_thrice)
    options = PredictOptions(patience=Patience(sleep=waits.append), concurrency=1, usd_per_million_tokens=0.042)
    meta = predict(data, model, tmp_path / "preds.jsonl", options=options)
    assert waits == [5, 15, 44]
    assert len(lines(tmp_path / "preds.jsonl")) == 20
    assert model.batches == [1] * 13
    assert meta.cost_usd == pytest.approx(30 * 0.042 / 1e6)


def test_a_remote_name_that_moved_between_runs_is_refused(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    first = predict(data, ScriptedDecider(binding=REMOTE, bundle_id="one"), out, options=PredictOptions(limit=3))
    assert first.answered_by == "scripted one"
    with pytest.raises(ArtifactError, match=r"holds answers of another model .*'scripted one', found 'scripted two'"):
        predict(data, ScriptedDecider(binding=REMOTE, bundle_id="two"), out)
    assert predict(data, ScriptedDecider(binding=REMOTE, bundle_id="one"), out).complete


def test_what_a_server_charges_adds_up_over_runs(data: Path, tmp_path: Path) -> None:
    class Charging(ScriptedDecider):
        def decide_prepared(self, prepared):
            return [replace(decision, extra={"cost": 0.25}) for decision in super().decide_prepared(prepared)]

    out = tmp_path / "preds.jsonl"
    assert predict(data, Charging(binding=REMOTE), out, options=PredictOptions(limit=4)).cost_usd == 1.0
    assert predict(data, Charging(binding=REMOTE), out).cost_usd == 2.5
    assert predict(data, ScriptedDecider(), tmp_path / "local.jsonl").cost_usd is None


def test_a_lasting_failure_stops_the_run_and_keeps_what_is_there(data: Path, tmp_path: Path) -> None:
    waits: list[float] = []

    def fail_from_third(number: int) -> None:
        if number >= 3:
            raise EngineError("connection refused", retryable=True)

    out = tmp_path / "preds.jsonl"
    options = PredictOptions(patience=Patience(sleep=waits.append), concurrency=1)
    with pytest.raises(EngineError, match="connection refused; 4 answers are kept, run again"):
        predict(data, ScriptedDecider(binding=REMOTE, before_batch=fail_from_third), out, options=options)
    assert waits == [5, 15, 30, 60, 120]
    model = ScriptedDecider(binding=REMOTE)
    predict(data, model, out)
    assert len(model.asked) == 16


def test_a_failure_that_cannot_pass_is_not_tried_again(data: Path, tmp_path: Path) -> None:
    def fail(number: int) -> None:
        raise EngineError("wrong key")

    model = ScriptedDecider(binding=REMOTE, before_batch=fail)
    with pytest.raises(EngineError, match="wrong key"):
        predict(data, model, tmp_path / "preds.jsonl", options=PredictOptions(concurrency=1))
    assert model.batches == [1]


def test_a_request_that_only_the_server_refuses_is_found_among_its_batch(data: Path, tmp_path: Path) -> None:
    class Picky(ScriptedDecider):
        def decide_prepared(self, prepared):
            if any("state3" in str(item.request.state) for item in prepared):
                raise RequestError("unsupported state")
            return super().decide_prepared(prepared)

    out = tmp_path / "preds.jsonl"
    meta = predict(data, Picky(), out, options=PredictOptions(keep_going=True, batch_records=4))
    assert [refusal.where for refusal in meta.refusals] == ["record r3"]
    assert len(lines(out)) == 18
    with pytest.raises(DataError, match="record 'r3' cannot be answered: unsupported state"):
        predict(data, Picky(), tmp_path / "strict.jsonl")


def test_scores_that_are_not_numbers_are_an_error(data: Path, tmp_path: Path) -> None:
    model = ScriptedDecider(scores=lambda request, qid: [float("nan")] * (3 if qid == "q" else 2))
    with pytest.raises(EngineError, match=r"record 'r0', question 'q': the model gave log-scores \[nan"):
        predict(data, model, tmp_path / "preds.jsonl")


def test_progress_counts_records_questions_and_tokens(data: Path, tmp_path: Path) -> None:
    seen: list[PredictProgress] = []
    predict(data, ScriptedDecider(), tmp_path / "p", options=PredictOptions(batch_records=4), on_progress=seen.append)
    assert seen == [(4, 8, 12), (8, 16, 24), (10, 20, 30)]


def test_parallel_batches_ask_each_question_once(data: Path, tmp_path: Path) -> None:
    model = ScriptedDecider(binding=REMOTE)
    predict(data, model, tmp_path / "p", options=PredictOptions(concurrency=4))
    assert len(model.asked) == len(set(model.asked)) == 20
    assert len({(line.id, line.qid) for line in lines(tmp_path / "p")}) == 20
    assert not os.path.exists(tmp_path / "p.meta.json.new")
