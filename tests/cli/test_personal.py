"""`forthwith personal`: the commands from the command line, each ending in one JSON receipt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from forthwith.cli.personal import app
from forthwith.cli.personal.receipt import counts_by_name
from forthwith.errors import ConfigError, ForthwithError


def call(*arguments: str | Path) -> dict[str, Any]:
    """Run a command; its receipt, or the error that it raised."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception
    return json.loads(result.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("personal")
    made = call(
        "world", "--out", folder / "world", "--users", "300", "--per-category", "60", "--cities", "3", "--emails", "60"
    )
    assert (made["synthetic"], made["rows"]["users"]) == (True, 300)
    built = call("build", "--tables", folder / "world", "--out", folder / "kb")
    assert built["synthetic"]
    with pytest.warns(UserWarning, match="train users"):
        split = call(
            "split", "--kb", folder / "kb", "--tables", folder / "world", "--users", "test=40,hidden=40,dev=30,val=20"
        )
    assert (split["users"]["test"], split["users"]["val"], split["collisions"]) == (40, 20, 0)
    return folder / "kb"


def _record(number: int) -> dict[str, Any]:
    question = {"type": "noul", "instructions": "Ask Kevin Marsh?", "label": True, "src": "pd/needs_approval"}
    anchors = {"needs_approval": {"required": ["Action A"], "forbidden": []}}
    return {
        "id": f"pd/dev/1/{number}",
        "state": "Kevin Marsh (kevin@acme.com) says: Action A.",
        "questions": {"needs_approval": question},
        "meta": {"user_id": f"u{number}", "anchors": anchors},
    }


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "dev.jsonl"
    path.write_text("".join(json.dumps(_record(number)) + "\n" for number in range(3)))
    return path


def test_names_of_the_knowledge_base_are_no_private_data(kb: Path, records: Path):
    name = "Adela Ashgrove"
    records.write_text(json.dumps(_record(0) | {"state": f"From: {name}. Action A."}) + "\n")
    assert call("privacy-scan", records)["hits"]["name"] == 2
    assert call("privacy-scan", records, "--kb", kb)["hits"]["name"] == 1


def test_scan_release_commit_and_export_in_a_row(records: Path, tmp_path: Path):
    scanned = call("privacy-scan", records, "--examples", "1", "--out", tmp_path / "scan.json")
    assert scanned["examples"]["name"] == ["K···· M····"]
    assert call("privacy-scan", records, "--examples", "1", "--counts-only", records)["examples"] == {}
    out = tmp_path / "out" / "dev.jsonl"
    receipt = call("release", records, "--out", out, "--key-file", tmp_path / "key")
    assert (receipt["records_out"], receipt["replaced"]["email"], receipt["published_key"]) == (3, 3, None)
    assert "[EMAIL]" in out.read_text()
    assert "| dev.jsonl | 3 |" in (tmp_path / "out" / "README.md").read_text()
    commitment = tmp_path / "COMMITMENT.json"
    committed = call("commit", out, "--out", commitment, "--attach", tmp_path / "out" / "dev.jsonl.receipt.json")
    assert committed["files"][0]["scorable"] == 3
    assert call("commit", out, "--out", commitment, "--check") == {"verified": ["dev.jsonl"], "not_given": []}
    exported = call("export", out, "--out", tmp_path / "kev.parquet", "--layout", "kev")
    assert (exported["records"], exported["layout"]) == (3, "kev")


def test_sources_are_listed_and_missing_files_are_named(tmp_path: Path):
    result = CliRunner().invoke(app, ["sources", "list"])
    assert "airports.dat" in result.stdout
    assert "Open Database License" in result.stdout
    for command in (
        ["verify"],
        ["tables", "--out", tmp_path / "t"],
    ):
        with pytest.raises(ForthwithError, match="is missing; fetch it from https://"):
            call("sources", *command, "--raw", tmp_path)
    with pytest.raises(ConfigError, match="unknown source 'yelp'"):
        call("sources", "tables", "--raw", tmp_path, "--out", tmp_path / "t", "--source", "yelp")


def test_counts_by_name_are_read_or_refused():
    assert counts_by_name("product=3, restaurant=0", ("product", "restaurant"), "per-domain") == {
        "product": 3,
        "restaurant": 0,
    }
    known = ("product", "restaurant")
    for text in ("shops=3", "product", "product=-1", "product=x"):
        with pytest.raises(ConfigError, match="is not NAME=COUNT"):
            counts_by_name(text, known, "per-domain")


def test_from_plan_to_verified_records_and_their_requests(kb: Path, tmp_path: Path):
    plan, out = tmp_path / "dev.plan", tmp_path / "dev.jsonl"
    planned = call("plan", "--kb", kb, "--split", "dev", "--states", "12", "--seed", "5", "--out", plan)
    assert (planned["records"], planned["unplaced"]) == (12, 0)
    made = call("generate", "--kb", kb, "--plan", plan, "--out", out)
    assert made["planned"] == 12
    assert made["kept"] >= 11
    good = {"records": made["kept"], "good": made["kept"], "without_anchors": 0, "problems": {}}
    assert call("verify", out) == good
    against = call("verify", out, "--kb", kb, "--plan", plan)
    assert against["good"] == made["kept"]
    assert against["missing"] == 12 - made["kept"] == len(against["first_missing"])
    exported = call("render", "export", "--kb", kb, "--plan", plan, "--out", tmp_path / "requests", "--batches", "2")
    assert (exported["requests"], exported["batches"]) == (12, 2)
    (tmp_path / "texts.jsonl").write_text('{"id": "pd/dev/5/0", "text": "Nothing."}\nrubbish\n')
    taken = call(
        "render", "ingest", tmp_path / "texts.jsonl", "--kb", kb, "--plan", plan, "--renderer", "me",
        "--requests", tmp_path / "requests" / "requests.jsonl", "--out", tmp_path / "mine.jsonl",
    )  # fmt: skip
    assert (taken["kept"], taken["pending"], sum(taken["dropped"].values())) == (0, 11, 1)
    assert taken["lines"]["malformed"] == 1


def test_impossible_requests_are_refused(kb: Path, tmp_path: Path):
    with pytest.raises(ConfigError, match="unknown split 'exam'"):
        call("plan", "--kb", kb, "--split", "exam", "--states", "1", "--seed", "1", "--out", tmp_path / "p")
    with pytest.raises(ConfigError, match="both --kb and --plan"):
        call("verify", tmp_path / "x.jsonl", "--kb", kb)


def test_the_demo_makes_verified_records_and_shows_one_of_each_kind(tmp_path: Path):
    page = tmp_path / "page.md"
    result = CliRunner().invoke(app, ["demo", "--states", "60", "--out", str(tmp_path), "--page", str(page)])
    assert result.exception is None
    receipt = json.loads(result.stdout.strip().splitlines()[-1])
    assert receipt["verified"] >= 57
    assert len((tmp_path / "demo.jsonl").read_text().splitlines()) == receipt["verified"]
    for family in (
        "apply_memory",
        "forgotten_violation",
        "needs_approval",
        "share_ok",
        "route",
        "notify_level",
        "pick_option",
    ):
        assert f"{family} · " in result.stdout
    assert "because: " in result.stdout
    assert page.read_text().count("← **right**") >= 1


def test_an_audit_says_when_it_could_not_find_the_ceiling(kb: Path, tmp_path: Path):
    plan, out = tmp_path / "dev.plan", tmp_path / "dev.jsonl"
    call("plan", "--kb", kb, "--split", "dev", "--states", "12", "--seed", "5", "--family", "pick_option",
         "--questions-per-state", "1", "--out", plan)  # fmt: skip
    call("generate", "--kb", kb, "--plan", plan, "--out", out)
    for split, is_said in (("test", True), ("dev", False)):
        told = CliRunner().invoke(app, ["audit", str(out), "--kb", str(kb), "--split", split]).stderr
        assert ("no ceiling of pick_option: the test users" in told) == is_said
