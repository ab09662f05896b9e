import contextlib
import json
import os
import subprocess
import sys
import time

import pytest

from forthwith.errors import ArtifactError, DataError
from forthwith.personal.generate import PART, generate
from forthwith.personal.plan import PlanConfig, make_plan
from forthwith.personal.plan_file import write_plan
from forthwith.schema import read_records


@pytest.fixture(scope="module")
def plan(kb):
    return make_plan(kb, PlanConfig("dev", 60, seed=21, p_buried=0.1))


@pytest.fixture(scope="module")
def unbroken(kb_folder, plan, tmp_path_factory):
    out = tmp_path_factory.mktemp("unbroken") / "dev.jsonl"
    return out, generate(kb_folder, plan, out)


def test_records_read_back_with_their_targets(unbroken):
    out, report = unbroken
    records = list(read_records(out))
    assert len(records) == report.kept >= 0.95 * report.planned
    for record in records:
        assert set(record.targets) == set(record.questions)
        assert record.meta["synthetic"] is True


def test_the_log_accounts_for_every_planned_record(unbroken):
    out, report = unbroken
    logs = [json.loads(line) for line in out.with_name("dev.jsonl.log.jsonl").read_text().splitlines()]
    assert len(logs) == report.planned
    assert sum(log["status"] == "kept" for log in logs) == report.kept
    assert not out.with_name("dev.jsonl.parts").exists()


def test_two_processes_write_the_same_bytes(unbroken, kb_folder, plan, tmp_path):
    out, report = unbroken
    again = generate(kb_folder, plan, tmp_path / "dev.jsonl", processes=2)
    assert again == report
    assert (tmp_path / "dev.jsonl").read_bytes() == out.read_bytes()


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(unbroken, kb_folder, plan, tmp_path):
    out = tmp_path / "dev.jsonl"
    code = (
        "import sys; from forthwith.personal.generate import generate; from forthwith.personal.plan_file import read_plan;"
        "generate(sys.argv[1], read_plan(sys.argv[2]), sys.argv[3])"
    )
    written = write_plan(plan, tmp_path / "plan.jsonl")
    process = subprocess.Popen([sys.executable, "-c", code, str(kb_folder), str(written), str(out)])
    first = tmp_path / "dev.jsonl.parts" / f"{0:09d}.jsonl"
    deadline = time.monotonic() + 50
    while not first.exists() and process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
    process.kill()
    process.wait()
    assert first.exists()
    assert not out.exists()
    whole = first.read_bytes()
    first.write_bytes(whole + b"\n")  # a mark that shows whether the finished part is used again
    generate(kb_folder, plan, out)
    assert out.read_bytes() == unbroken[0].read_bytes().replace(whole, whole + b"\n")


def test_another_plan_does_not_mix_into_a_run(unbroken, kb, kb_folder, plan, tmp_path):
    out = tmp_path / "dev.jsonl"
    parts = tmp_path / "dev.jsonl.parts"
    parts.mkdir()
    (parts / "fingerprint").write_text("another")
    with pytest.raises(ArtifactError, match="another plan or version"):
        generate(kb_folder, plan, out)
    other = make_plan(kb, PlanConfig("dev", 5, seed=22))
    with pytest.raises(ArtifactError, match="another plan or version"):
        generate(kb_folder, other, unbroken[0])


@pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_said_and_loses_nothing(unbroken, kb_folder, plan, tmp_path):
    out = tmp_path / "dev.jsonl"
    parts = tmp_path / "dev.jsonl.parts"
    parts.mkdir()
    full = parts / f"{PART:09d}.jsonl.partial"
    full.symlink_to("/dev/full")
    with pytest.raises(DataError, match="No space left"):
        generate(kb_folder, plan, out)
    assert (parts / f"{0:09d}.jsonl").exists()
    full.unlink()
    generate(kb_folder, plan, out)
    assert out.read_bytes() == unbroken[0].read_bytes()
