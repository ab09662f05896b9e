"""What is exported reads back as the same records, in every layout and format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forthwith.errors import ConfigError, DataError
from forthwith.personal.export import LAYOUTS, export_file, record_payload, write_records
from forthwith.schema import BadLine, Choice, Noul, NoulCriteria, Record, Score, Target, iter_records, parse_record

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@st.composite
def records(draw: st.DrawFn) -> Record:
    names = draw(st.lists(TEXT, min_size=2, max_size=5, unique=True))
    choice = Choice(instructions=draw(TEXT), criteria={name: draw(st.none() | TEXT) for name in names})
    noul = Noul(instructions=draw(TEXT), criteria=draw(st.sampled_from([None, NoulCriteria(true="may", false="ask")])))
    score = Score(criteria=["silent", "digest", "notify"])
    best = draw(st.sampled_from(names))
    targets = {
        "pick_option": Target(label=best),
        "needs_approval": draw(
            st.sampled_from([Target(label="true"), Target(label="false", distribution={"true": 0.5, "false": 0.5})])
        ),
        "notify_level": Target(label="1", distribution={"0": 0.25, "1": 0.5, "2": 0.25}),
    }
    return Record(
        id=draw(TEXT),
        state=draw(TEXT | st.just({"memory": ["a", {"b": 1}]})),
        questions={"pick_option": choice, "needs_approval": noul, "notify_level": score},
        targets=targets,
        families={"pick_option": "pick_option", "needs_approval": "needs_approval", "notify_level": "notify_level"},
        meta={"user_id": "u1", "state_id": draw(TEXT), "variants": {"pick_option": "clean"}},
    )


@given(records(), st.sampled_from(["pev", "forthwith"]))
def test_two_layouts_lose_nothing(record: Record, layout: Any):
    assert parse_record(record_payload(record, layout)) == record


@given(records())
def test_kevs_layout_keeps_questions_targets_families_and_clusters(record: Record):
    back = parse_record(record_payload(record, "kev"))
    for member in ("id", "state", "questions", "targets", "families", "cluster_id"):
        assert getattr(back, member) == getattr(record, member)
    assert back.user_id is None


@settings(max_examples=10)
@given(st.lists(records(), max_size=4, unique_by=lambda record: record.id))
def test_every_format_reads_back_the_same(tmp_path_factory, made: list[Record]):
    folder = tmp_path_factory.mktemp("export")
    for layout in LAYOUTS:
        read = {}
        for ending in ("jsonl", "jsonl.gz", "parquet"):
            path = folder / f"{layout}.{ending}"
            receipt = write_records(made, path, layout)
            assert (receipt.records, receipt.questions) == (len(made), 3 * len(made))
            read[ending] = list(iter_records(path))
        assert read["jsonl"] == read["jsonl.gz"] == read["parquet"]
        assert not any(isinstance(item, BadLine) for item in read["jsonl"])
        assert [record.questions for record in read["jsonl"]] == [record.questions for record in made]


def _one() -> Record:
    return Record(
        id="r",
        state="s",
        questions={"q": Noul(instructions="ask?")},
        targets={"q": Target(label="true", distribution={"true": 0.6, "false": 0.4})},
        families={"q": "needs_approval"},
    )


def test_labels_are_written_as_each_layout_writes_them(tmp_path: Path):
    assert record_payload(_one(), "pev")["questions"]["q"] == {
        "type": "noul", "instructions": "ask?", "label": True, "soft_label": {"true": 0.6, "false": 0.4},
        "src": "pd/needs_approval",
    }  # fmt: skip
    kev = record_payload(_one(), "kev")
    assert kev["questions"]["q"]["target"] == {"true": 0.6, "false": 0.4}
    assert kev["_meta"] == {"id": "r", "group_id": _one().cluster_id, "source": "pd"}
    assert "meta" not in kev
    hard = record_payload(_one(), "kev", soft=False)["questions"]["q"]
    assert ("target" in hard, hard["label"]) == (False, True)
    assert record_payload(_one(), "forthwith")["targets"] == {
        "q": {"label": "true", "distribution": {"true": 0.6, "false": 0.4}}
    }


def test_the_same_records_give_the_same_bytes_zipped_too(tmp_path: Path):
    for ending in ("jsonl", "jsonl.gz", "parquet"):
        write_records([_one()], tmp_path / f"a.{ending}", "pev")
        write_records([_one()], tmp_path / f"b.{ending}", "pev")
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_files_are_converted_and_bad_records_are_named(tmp_path: Path):
    write_records([_one()], tmp_path / "a.jsonl", "pev")
    receipt = export_file(tmp_path / "a.jsonl", tmp_path / "b.parquet", "kev")
    assert (receipt.records, receipt.soft) == (1, 1)
    (tmp_path / "bad.jsonl").write_text("{}\n")
    with pytest.raises(DataError) as caught:
        export_file(tmp_path / "bad.jsonl", tmp_path / "c.jsonl", "pev")
    assert caught.value.line == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.parquet", "bad.jsonl"]


def test_unknown_layouts_endings_and_full_disks_are_named(tmp_path: Path):
    with pytest.raises(ConfigError, match="layouts are"):
        write_records([], tmp_path / "a.jsonl", "jev")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="unknown ending"):
        write_records([], tmp_path / "a.csv", "pev")
    (tmp_path / "a.jsonl.partial").symlink_to("/dev/full")
    with pytest.raises(DataError, match="cannot be written"):
        write_records([_one()], tmp_path / "a.jsonl", "pev")
