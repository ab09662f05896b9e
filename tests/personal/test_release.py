"""A release changes names and contact data, never options or labels, and stops when an anchor would break."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from forthwith.errors import ArtifactError, ConfigError, DataError
from forthwith.personal.privacy import Protected
from forthwith.personal.privacy_scan import scan_records
from forthwith.personal.pseudonyms import ReleaseKey, pseudonym
from forthwith.personal.release import ReleaseOptions, read_receipts, read_removals, release_file, release_record
from forthwith.schema import read_records

KEY = ReleaseKey.from_hex("0f" * 16)


def _record(number: int = 0, **meta: Any) -> dict[str, Any]:
    return {
        "id": f"pd/dev/1/{number}",
        "state": "From: Kevin Marsh\nKevin said: call 713-853-1234 or kevin@acme.com. Request A: pick one.\n"
        "- Mary Jones Cookies (Grocery)\nEvidence: “Mr. Marsh from the shop helped us at once”.",
        "questions": {
            "pick_option": {
                "type": "choice",
                "instructions": "Request A: which will Kevin Marsh like?",
                "criteria": {"Mary Jones Cookies": "Grocery, $4", "Other": "Grocery, $9"},
                "label": "Mary Jones Cookies",
                "soft_label": {"Mary Jones Cookies": 0.7, "Other": 0.3},
                "src": "pd/pick_option",
            }
        },
        "meta": {
            "user_id": f"user{number}",
            "state_id": f"dev/1/{number}",
            "anchors": {
                "pick_option": {
                    "required": ["Request A", "Mary Jones Cookies", "Mr. Marsh from the shop helped us at once"],
                    "forbidden": ["Novak"],
                }
            },
            "option_features": {"pick_option": {"Mary Jones Cookies": {"price": 4.0}}},
            **meta,
        },
    }


def _write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_names_and_contact_data_go_and_everything_else_stays():
    record = _record()
    released, replaced, residual = release_record(record, KEY)
    new_name = pseudonym("Kevin Marsh", KEY)
    assert released["state"].startswith(f"From: {new_name}\n{new_name.split()[0]} said: call [PHONE] or [EMAIL].")
    assert released["questions"]["pick_option"]["instructions"] == f"Request A: which will {new_name} like?"
    untouched = {"criteria", "label", "soft_label", "src", "type"}
    for member in untouched:
        assert released["questions"]["pick_option"][member] == record["questions"]["pick_option"][member]
    assert released["meta"]["user_id"] == KEY.user_id("user0")
    assert released["meta"]["release"] == {"anonymized": True, "replacements": 6}
    assert dict(replaced) == {"name": 4, "phone": 1, "email": 1}
    assert not residual
    anchor = released["meta"]["anchors"]["pick_option"]["required"][2]
    assert anchor == f"Mr. {new_name.split()[1]} from the shop helped us at once"
    assert "Marsh" not in json.dumps(released)
    assert "Mary Jones Cookies" in released["state"]


def test_a_name_inside_an_option_is_never_touched():
    record = _record()
    record["questions"]["pick_option"]["criteria"]["Other"] = "Kevin Hart tour, $9"
    record["state"] += "\nKevin Hart will play."
    released, _, _ = release_record(record, KEY)
    assert "Kevin Hart will play." in released["state"]


def test_the_same_key_gives_the_same_bytes_and_another_key_other_names(tmp_path: Path):
    source = _write(tmp_path / "dev.jsonl", [_record(number) for number in range(3)])
    first = release_file(source, tmp_path / "a.jsonl", KEY)
    second = release_file(source, tmp_path / "b.jsonl", KEY)
    other = release_file(source, tmp_path / "c.jsonl", ReleaseKey.fresh())
    assert first.released_sha256 == second.released_sha256 != other.released_sha256
    assert (first.records_out, first.users, first.questions, first.key_fingerprint) == (3, 3, 3, KEY.fingerprint)
    assert first.published_key is None
    assert read_receipts(tmp_path) == [first, second, other]
    (tmp_path / "d.jsonl.receipt.json").write_text("{}")
    with pytest.raises(DataError, match="not a receipt"):
        read_receipts(tmp_path)
    assert KEY.secret.hex() not in (tmp_path / "a.jsonl.receipt.json").read_text()
    assert [record.id for record in read_records(tmp_path / "a.jsonl")] == [f"pd/dev/1/{n}" for n in range(3)]


def test_the_scan_of_a_release_finds_only_what_the_receipt_calls_residual(tmp_path: Path):
    source = _write(tmp_path / "dev.jsonl", [_record(number) for number in range(3)])
    before = scan_records(source, examples=1)
    assert (before.hits["name"], before.hits["email"], before.hits["phone"], before.records) == (12, 3, 3, 3)
    assert before.examples["email"] == ["k·············"]
    assert before.verbatim == 3
    receipt = release_file(source, tmp_path / "a.jsonl", KEY)
    stand_ins = {pseudonym(name, KEY) for name in ("Kevin Marsh", "Mr. Marsh")}
    after = scan_records(tmp_path / "a.jsonl", Protected.of(stand_ins))
    assert after.is_clean
    assert sum(receipt.residual.values()) == 0
    assert after.placeholders["[PHONE]"] == 3


def test_removals_by_record_user_and_released_id(tmp_path: Path):
    source = _write(tmp_path / "dev.jsonl", [_record(number) for number in range(5)])
    removals = tmp_path / "removals.txt"
    removals.write_text(f"# asked for on 2026-11-02\npd/dev/1/0\nuser1  # a user\n{KEY.user_id('user2')}\n\n")
    options = ReleaseOptions(removals=read_removals(removals))
    receipt = release_file(source, tmp_path / "a.jsonl", KEY, options)
    assert (receipt.removed, receipt.records_out) == (3, 2)
    assert [record.id for record in read_records(tmp_path / "a.jsonl")] == ["pd/dev/1/3", "pd/dev/1/4"]


def test_an_id_to_be_removed_that_is_nowhere_is_an_error(tmp_path: Path):
    source = _write(tmp_path / "dev.jsonl", [_record(number) for number in range(2)])
    options = ReleaseOptions(removals=frozenset({"pd/dev/1/0", "nosuchid"}))
    with pytest.raises(DataError, match="nothing of 1 ids that are to be removed: nosuchid; correct them"):
        release_file(source, tmp_path / "a.jsonl", KEY, options)
    assert [path.name for path in tmp_path.iterdir()] == ["dev.jsonl"]


def test_foreign_records_are_dropped_unless_kept(tmp_path: Path):
    foreign = {"id": "x", "state": "Kevin Marsh", "questions": {}}
    source = _write(tmp_path / "dev.jsonl", [_record(), foreign])
    assert release_file(source, tmp_path / "a.jsonl", KEY).dropped_foreign == 1
    kept = release_file(source, tmp_path / "b.jsonl", KEY, ReleaseOptions(keep_foreign=True))
    assert (kept.records_out, kept.dropped_foreign) == (2, 0)
    assert json.loads((tmp_path / "b.jsonl").read_text().splitlines()[1]) == foreign


def test_the_published_key_mode_says_the_key(tmp_path: Path):
    source = _write(tmp_path / "dev.jsonl", [_record()])
    receipt = release_file(source, tmp_path / "a.jsonl", KEY, ReleaseOptions(publish_key=True))
    assert receipt.published_key == "0f" * 16


def test_an_anchor_that_was_never_there_stops_the_release_and_nothing_is_written(tmp_path: Path):
    broken = copy.deepcopy(_record(1))
    broken["meta"]["anchors"]["pick_option"]["required"].append("not in the text")
    source = _write(tmp_path / "dev.jsonl", [_record(), broken])
    with pytest.raises(ArtifactError, match=r"dev\.jsonl:2: record 'pd/dev/1/1': .*not in the text"):
        release_file(source, tmp_path / "a.jsonl", KEY)
    assert [path.name for path in tmp_path.iterdir()] == ["dev.jsonl"]
    leaking = _record(anchors={"pick_option": {"required": [], "forbidden": ["Request A"]}})
    with pytest.raises(ArtifactError, match="forbidden anchor 'Request A'"):
        release_record(leaking, KEY)


def test_broken_lines_and_impossible_outputs_are_named(tmp_path: Path):
    source = tmp_path / "dev.jsonl"
    source.write_text(json.dumps(_record()) + "\n[1]\n")
    with pytest.raises(DataError, match="not a record") as caught:
        release_file(source, tmp_path / "a.jsonl", KEY)
    assert caught.value.line == 2
    with pytest.raises(ConfigError, match="overwrite"):
        release_file(source, source, KEY)
    with pytest.raises(DataError, match="cannot be read"):
        read_removals(tmp_path / "none.txt")


def test_a_full_disk_is_said_and_leaves_no_half_release(tmp_path: Path):
    source = _write(tmp_path / "dev.jsonl", [_record(number) for number in range(3)])
    (tmp_path / "a.jsonl.partial").symlink_to("/dev/full")
    with pytest.raises(DataError, match="cannot be written"):
        release_file(source, tmp_path / "a.jsonl", KEY)
    assert [path.name for path in tmp_path.iterdir()] == ["dev.jsonl"]
