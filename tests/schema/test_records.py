from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from forthwith.errors import DataError, RequestError
from forthwith.schema import BadLine, Record, Target, iter_records, parse_record, read_records, records_from_stream

OURS = {
    "id": "r1",
    "task": "tickets",
    "state": {"text": "late"},
    "questions": {
        "lost": {"type": "noul", "instructions": "Lost?", "criteria": {"yes": "gone", "no": "coming"}},
        "queue": {"type": "choice", "criteria": {"carrier": None, "refund": "money"}},
        "heat": {"type": "score", "criteria": ["calm", "angry", "furious"]},
    },
    "targets": {
        "lost": {"label": "yes"},
        "queue": {"label": "refund", "distribution": {"carrier": 1, "refund": 3}},
        "heat": {"label": 2},
    },
}
PEVS = {
    "id": "pd/dev/1",
    "state": "now",
    "questions": {
        "needs": {"type": "noul", "instructions": "Ask?", "label": True, "src": "pd/needs_approval"},
        "level": {"type": "score", "criteria": ["a", "b", "c"], "label": 1, "soft_label": {"0": 0.5, "1": 0.5}},
    },
    "meta": {"user_id": "u1", "state_id": "dev/1", "families": {"level": "notify_level"}},
}
KEVS = {
    "state": "now",
    "questions": {"pick": {"type": "choice", "criteria": {"x": None, "y": None}, "target": {"y": 2, "x": 1}}},
    "_meta": {"id": "k7", "group_id": "g", "source": "kev"},
}


def test_our_layout() -> None:
    record = parse_record(OURS)
    assert record.targets == {
        "lost": Target(label="true"),
        "queue": Target(label="refund", distribution={"carrier": 0.25, "refund": 0.75}),
        "heat": Target(label="2"),
    }
    assert record.questions["lost"].criteria.true == "gone"  # type: ignore[union-attr]
    assert record.family("lost") == "tickets"
    assert record.cluster_id.startswith("state:")
    assert record.user_id is None
    assert record.request.questions.keys() == {"lost", "queue", "heat"}


def test_records_with_equal_states_are_one_cluster() -> None:
    ask = {"questions": {"lost": {"type": "noul", "instructions": "Is it lost?"}}}
    one, two, other = (
        parse_record({"id": name, "state": state, **ask})
        for name, state in (("a", {"x": 1, "y": 2}), ("b", {"y": 2, "x": 1}), ("c", {"x": 1}))
    )
    assert one.cluster_id == two.cluster_id != other.cluster_id
    named = parse_record({"id": "d", "state": {"x": 1}, "meta": {"state_id": "s"}, **ask})
    assert named.cluster_id == "s"


def test_pevs_layout() -> None:
    record = parse_record(PEVS)
    assert record.targets["needs"] == Target(label="true")
    assert record.targets["level"].is_ambiguous()
    assert record.targets["level"].best_key() == "1"
    assert record.known_families() == {"needs": "needs_approval", "level": "notify_level"}
    assert (record.user_id, record.cluster_id) == ("u1", "dev/1")


def test_kevs_layout() -> None:
    record = parse_record(KEVS)
    assert record.id == "k7"
    assert record.cluster_id == "g"
    assert record.targets["pick"].label == "y"
    assert record.targets["pick"].vector(("x", "y")) == pytest.approx((1 / 3, 2 / 3))
    assert record.family("pick") == "pick"


def test_targets_are_optional() -> None:
    record = parse_record({"state": "s", "questions": {"q": {"type": "noul", "instructions": "?"}}}, "line-3")
    assert record.targets == {}
    assert record.id == "line-3"


def test_target_vectors() -> None:
    assert Target(label="b").vector(("a", "b")) == (0.0, 1.0)
    assert Target(distribution={"a": 0.7, "b": 0.3}).best_key() == "a"
    assert not Target(label="a").is_ambiguous()
    assert not Target(distribution={"a": 0.7, "b": 0.3}).is_ambiguous()
    assert not Target(distribution={"a": 1.0}).is_ambiguous()


def changed(payload: dict[str, Any], *path: str, value: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(payload))
    place = copy
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return copy


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (changed(OURS, "targets", "queue", "label", value="sales"), "targets.queue.label: 'sales' is not an option"),
        (changed(OURS, "targets", "heat", "label", value=3), "targets.heat.label: 3 is not an option"),
        (changed(OURS, "targets", "heat", "label", value=True), "targets.heat.label: True is not an option"),
        (
            changed(OURS, "targets", "lost", "label", value="perhaps"),
            "targets.lost.label: 'perhaps' is neither yes nor no",
        ),
        (changed(OURS, "targets", "gone", value={"label": "yes"}), "targets: 'gone' is not the id of a question"),
        (changed(OURS, "targets", "lost", value="yes"), "targets.lost: must be an object with label"),
        (changed(OURS, "targets", value=["yes"]), "targets: must be an object"),
        (changed(OURS, "targets", "queue", "distribution", value={"refund": -1}), "the share of 'refund' is -1"),
        (changed(OURS, "targets", "queue", "distribution", value={"refund": True}), "the share of 'refund' is True"),
        (changed(OURS, "targets", "queue", "distribution", value={"refund": 0}), "the shares sum to 0"),
        (changed(OURS, "targets", "queue", "distribution", value={}), "a distribution must be an object"),
        (changed(OURS, "targets", "queue", "distribution", value={"sales": 1}), "'sales' is not an option"),
        (
            changed(OURS, "questions", "lost", "criteria", value={"maybe": "x"}),
            "criteria: 'maybe' is neither yes nor no",
        ),
        (changed(OURS, "questions", "lost", value=3), "questions.lost: must be an object, not a number"),
        ({"questions": {}}, "state: is missing"),
    ],
)
def test_a_bad_record_names_the_field(payload: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parse_record(payload)


def test_an_unknown_yes_no_label_never_becomes_no() -> None:
    with pytest.raises(RequestError, match="neither yes nor no"):
        parse_record(changed(PEVS, "questions", "needs", "label", value="unclear"))


def lines(*payloads: Any) -> bytes:
    return "".join((p if isinstance(p, str) else json.dumps(p)) + "\n" for p in payloads).encode()


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_a_broken_line_is_named_and_the_rest_is_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"data{suffix}"
    data = lines(OURS, "{broken", "", "[1]", PEVS)
    path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    items = list(iter_records(path))
    assert [type(item).__name__ for item in items] == ["Record", "BadLine", "BadLine", "Record"]
    assert isinstance(items[1], BadLine)
    assert items[1].line == 2
    assert str(items[1].error).startswith(f"{path}:2: not JSON")
    assert "a record must be an object" in str(items[2].error)  # type: ignore[union-attr]
    with pytest.raises(DataError, match=":2: not JSON"):
        list(read_records(path))


def test_a_repeated_id_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(lines(OURS, OURS))
    with pytest.raises(DataError, match="the record id 'r1' appears twice"):
        list(read_records(path))


def test_a_missing_file_and_a_broken_archive_are_data_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        list(iter_records(tmp_path / "none.jsonl"))
    broken = tmp_path / "broken.jsonl.gz"
    broken.write_bytes(gzip.compress(lines(OURS))[:-9])
    with pytest.raises(DataError, match="cannot be read"):
        list(iter_records(broken))
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        list(iter_records(tmp_path / "none.parquet"))


def test_parquet_rows_equal_json_lines(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = [
        {
            "id": "r1",
            "task": "tickets",
            "state": json.dumps(OURS["state"]),
            "state_is_json": True,
            "questions": json.dumps(OURS["questions"]),
            "targets": json.dumps(OURS["targets"]),
        },
        {"id": "r2", "state": "x", "questions": "{broken"},
        {"id": "r3", "state": "x", "questions": json.dumps(OURS["questions"])},
    ]
    path = tmp_path / "data.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    good, bad, plain = iter_records(path)
    assert good == parse_record(OURS)
    assert isinstance(plain, Record)
    assert (plain.state, plain.targets) == ("x", {})
    assert isinstance(bad, BadLine)
    assert bad.line == 2


def test_parquet_without_its_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match=r"needs pyarrow; install forthwith\[bench\]"):
        list(iter_records(tmp_path / "data.parquet"))


def test_a_good_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(lines(OURS, KEVS))
    assert [record.id for record in read_records(path)] == ["r1", "k7"]


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        (lines(OURS, KEVS), ["r1", "k7"]),
        (json.dumps(OURS, indent=2).encode(), ["r1"]),
        (b"\n\n" + json.dumps(OURS).encode(), ["r1"]),
    ],
)
def test_a_stream_holds_json_lines_or_one_object(data: bytes, ids: list[str]) -> None:
    records = list(records_from_stream(io.BytesIO(data), Path("-")))
    assert [record.id for record in records if isinstance(record, Record)] == ids


def test_a_broken_first_line_does_not_hide_the_others() -> None:
    items = list(records_from_stream(io.BytesIO(lines("{broken", OURS)), Path("-")))
    assert isinstance(items[0], BadLine)
    assert isinstance(items[1], Record)


def test_an_empty_stream_is_refused() -> None:
    with pytest.raises(DataError, match="is empty"):
        list(records_from_stream(io.BytesIO(b"\n"), Path("-")))


@pytest.mark.public_data
def test_every_public_record_is_read(public_data: Path) -> None:
    counts = {"records": 0, "bad": 0}
    for path in sorted(public_data.glob("*/*.jsonl*")):
        if path.parent.name != "sources":
            for item in iter_records(path):
                counts["bad" if isinstance(item, BadLine) else "records"] += 1
    assert counts["bad"] == 0
    assert counts["records"] > 60_000


def test_one_side_named_twice_is_refused() -> None:
    with pytest.raises(RequestError, match="criteria: yes, true name one side twice"):
        parse_record(changed(OURS, "questions", "lost", "criteria", value={"yes": "a", "true": "b"}))


def test_a_byte_order_mark_is_passed_over() -> None:
    (record,) = records_from_stream(io.BytesIO(b"\xef\xbb\xbf" + json.dumps(OURS).encode()), Path("-"))
    assert isinstance(record, Record)
