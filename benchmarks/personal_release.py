"""A full release of personal decisions from the synthetic world, timed and measured.

    python benchmarks/personal_release.py --out release/ --processes 2

Makes TRAIN 2,000 / VAL 360 / DEV 630 / HIDDEN 960 / TEST 980 states, proves that DEV has the same bytes with one
process, with two, and after a kill, audits every split, releases it, commits to TEST, and writes `report.md` and
`report.json`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from forthwith.personal.audit import AuditReport, audit_file
from forthwith.personal.commitment import commit_files, verify_commitment, write_commitment
from forthwith.personal.dataset_card import write_card
from forthwith.personal.generate import GenerateReport, generate
from forthwith.personal.kb.build import BuildConfig, build_kb
from forthwith.personal.kb.knowledge import open_kb
from forthwith.personal.kb.leakage import audit_leakage
from forthwith.personal.kb.split import split_users, write_splits
from forthwith.personal.kb_names import kb_user_ids, protected_names
from forthwith.personal.plan import PlanConfig, make_plan
from forthwith.personal.plan_file import read_plan, write_plan
from forthwith.personal.privacy_scan import scan_records
from forthwith.personal.pseudonyms import ReleaseKey
from forthwith.personal.release import ReleaseOptions, read_receipts, release_file
from forthwith.personal.render import style_ids
from forthwith.personal.sealed_copy import seal_file
from forthwith.personal.vocabulary import Split
from forthwith.personal.world import WorldConfig, build_world

STATES: dict[Split, int] = {"train": 2_000, "val": 360, "dev": 630, "hidden": 960, "test": 980}
SEEDS: dict[Split, int] = {"train": 11, "val": 12, "dev": 20_261_001, "hidden": 20_261_002, "test": 20_261_004}
USERS: dict[Split, int] = {"test": 720, "hidden": 720, "dev": 480, "val": 300}
T = TypeVar("T")


class Clock:
    """Seconds by step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, work: Callable[[], T]) -> T:
        """Do the work and remember how long it took."""
        start = time.perf_counter()
        done = work()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        print(f"{name}: {self.seconds[name]:.1f} s", flush=True)
        return done


def main() -> None:
    options = parse()
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    clock = Clock()
    kb, collisions = knowledge(out, options.world_users, clock)
    reports = {split: records(kb, out, split, options, clock) for split in STATES}
    identity = same_bytes(kb, out, reports["dev"].sha256, clock)
    audits = {split: clock("audit", lambda split=split: audited(kb, out, split)) for split in STATES}
    released = publish(kb, out, clock)
    result = {
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        "processes": options.processes,
        "seconds": {name: round(value, 1) for name, value in clock.seconds.items()},
        "release_seconds": round(sum(clock.seconds[name] for name in RELEASE_STEPS), 1),
        "peak_mib": round(peak_mib()),
        "collisions": collisions,
        "identity": identity,
        "generated": {split: dataclasses.asdict(report) for split, report in reports.items()},
        "audits": {split: dataclasses.asdict(report) for split, report in audits.items()},
        "gates_failed": {
            split: [gate.name for gate in report.gates if not gate.ok] for split, report in audits.items()
        },
        **released,
    }
    (out / "report.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (out / "report.md").write_text(page(result, audits), encoding="utf-8")
    print(page(result, audits))


RELEASE_STEPS = ("world", "knowledge base", "split and leakage", "plan", "generate", "audit", "scan, release, commit")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--world-users", type=int, default=4_600)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the states, for a quick look")
    return parser.parse_args()


def knowledge(out: Path, users: int, clock: Clock) -> tuple[Path, int]:
    """World, knowledge base and splits; the number of collisions between splits."""
    tables, kb = out / "world", out / "kb"
    clock("world", lambda: build_world(tables, WorldConfig(users=users)))
    clock("knowledge base", lambda: build_kb(tables, kb, BuildConfig()))

    def split() -> int:
        splits = split_users(kb_user_ids(kb), USERS)
        write_splits(kb, splits)
        return sum(pair.total for pair in audit_leakage(tables, splits))

    return kb, clock("split and leakage", split)


def records(kb: Path, out: Path, split: Split, options: argparse.Namespace, clock: Clock) -> GenerateReport:
    """Plan and generate one split."""
    config = PlanConfig(split, max(1, round(STATES[split] * options.scale)), SEEDS[split], style_ids(split))
    plan = clock("plan", lambda: make_plan(open_kb(kb, split), config, processes=options.processes))
    write_plan(plan, out / f"{split}.plan")
    return clock("generate", lambda: generate(kb, plan, out / f"{split}.jsonl", processes=options.processes))


def same_bytes(kb: Path, out: Path, expected: str, clock: Clock) -> dict[str, Any]:
    """DEV again with one and two processes, and with a kill in the middle: hashes and records a second."""
    plan = read_plan(out / "dev.plan")
    found: dict[str, Any] = {"dev": expected}
    scratch = out / "again"
    for processes in (1, 2):
        shutil.rmtree(scratch, ignore_errors=True)
        name = f"DEV with {processes} process{'es' if processes > 1 else ''}"
        report = clock(name, lambda n=processes: generate(kb, plan, scratch / "dev.jsonl", processes=n))
        found[f"{processes} processes"] = report.sha256
        found[f"records/s, {processes} processes"] = round(report.kept / clock.seconds[name], 1)
    shutil.rmtree(scratch, ignore_errors=True)
    found["parts when killed"] = killed_run(kb, out, scratch)
    report = clock("DEV after a kill", lambda: generate(kb, plan, scratch / "dev.jsonl", processes=2))
    found["after a kill"] = report.sha256
    found["all the same"] = len({found[name] for name in ("dev", "1 processes", "2 processes", "after a kill")}) == 1
    shutil.rmtree(scratch)
    return found


def killed_run(kb: Path, out: Path, scratch: Path) -> int:
    """Start a run, kill it hard once a few parts are written, and say how many there were."""
    code = (
        "import sys; from forthwith.personal.generate import generate; from forthwith.personal.plan_file import read_plan; "
        "generate(sys.argv[1], read_plan(sys.argv[2]), sys.argv[3])"
    )
    run = subprocess.Popen([sys.executable, "-c", code, str(kb), str(out / "dev.plan"), str(scratch / "dev.jsonl")])
    parts = scratch / "dev.jsonl.parts"
    while run.poll() is None and len(list(parts.glob("*.jsonl"))) < 3:
        time.sleep(0.1)
    run.send_signal(signal.SIGKILL)
    run.wait()
    return len(list(parts.glob("*.jsonl")))


def audited(kb: Path, out: Path, split: Split) -> AuditReport:
    """The audit of a split; the learned guesser is fitted on TRAIN, on TRAIN itself by cross-validation."""
    train = None if split == "train" else out / "train.jsonl"
    return audit_file(out / f"{split}.jsonl", train=train, kb=open_kb(kb, split))


def publish(kb: Path, out: Path, clock: Clock) -> dict[str, Any]:
    """Scan, release and commit; every split with the key of this release."""

    def work() -> dict[str, Any]:
        shield, key, folder = protected_names(kb), ReleaseKey.load(out / "release.key"), out / "released"
        scans = {split: sum(scan_records(out / f"{split}.jsonl", shield).hits.values()) for split in STATES}
        for split in STATES:
            release_file(out / f"{split}.jsonl", folder / f"{split}.jsonl", key, ReleaseOptions(protected=shield))
        write_card(folder / "README.md", "personal decisions, synthetic world", read_receipts(folder))
        commitment = commit_files(
            [folder / "test.jsonl"],
            committed_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            recipe={"seeds": SEEDS, "states": STATES},
            attachments=[folder / "test.jsonl.receipt.json"],
        )
        (out / "COMMITMENT.json").unlink(missing_ok=True)
        write_commitment(commitment, out / "COMMITMENT.json")
        verify_commitment(commitment, [folder / file.name for file in commitment.files])
        seal_file(folder / "hidden.jsonl", out / "hidden.sealed", key)
        return {
            "scan_hits": scans,
            "residual": {receipt.released: sum(receipt.residual.values()) for receipt in read_receipts(folder)},
            "test_sha256": commitment.files[0].sha256,
        }

    return clock("scan, release, commit", work)


def peak_mib() -> float:
    """Largest resident size of this process and of any child, added up."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (own + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024


def page(result: dict[str, Any], audits: dict[Split, AuditReport]) -> str:
    """The report as Markdown tables."""
    identity = result["identity"]
    lines = [
        f"{result['machine']}; {result['processes']} processes.",
        f"Release in {result['release_seconds']} s, peak {result['peak_mib']} MiB; collisions between splits: {result['collisions']}.",
        f"DEV: {identity['records/s, 1 processes']} records/s with 1 process, {identity['records/s, 2 processes']} with 2; "
        f"the same bytes with 1, with 2 and after a kill: {identity['all the same']}.",
        "",
        "| split | planned | kept | restyled | dropped | questions | scan hits | detections left |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for split, report in result["generated"].items():
        cells = (split, report["planned"], report["kept"], report["restyled"], sum(report["dropped"].values()),
                 sum(report["questions"].values()), result["scan_hits"][split], result["residual"][f"{split}.jsonl"])  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    for split, audit in audits.items():
        lines += ["", f"### {split.upper()}", "", *family_table(audit), "", *pick_lines(audit)]
        failed = result["gates_failed"][split]
        lines.append(f"Gates failed: {', '.join(failed) if failed else 'none'} of {len(audit.gates)}.")
    return "\n".join(lines) + "\n"


def family_table(audit: AuditReport) -> list[str]:
    """One row a family: counts, balance, baselines, variants."""
    lines = [
        "| family | hard | soft | label gap | chance | majority | first option | state-blind | noise | variants |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    blind = {score.family: score for score in audit.blind}
    for family, hard in audit.hard.items():
        rules = {score.name: score for score in audit.shortcuts if score.family == family}
        chance = next(iter(rules.values())).chance
        majority, first = (rule(rules, name) for name in ("majority label", "first option"))
        guessed = f"{blind[family].accuracy:.3f} ({100 * blind[family].excess:+.1f})" if family in blind else "–"
        total = sum(audit.variants[family].values())
        variants = ", ".join(f"{name} {count / total:.1%}" for name, count in audit.variants[family].items())
        gap = next(gate.value for gate in audit.gates if gate.name == f"{family}: label gap")
        cells = (family, hard, audit.soft.get(family, 0), f"{100 * gap:.1f}", f"{chance:.3f}", majority, first, guessed,
                 f"±{100 * audit.noise_floor[family]:.1f}", variants)  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def rule(rules: dict[str, Any], name: str) -> str:
    found = next((score for key, score in rules.items() if key.startswith(name)), None)
    return "–" if found is None else f"{found.accuracy:.3f} ({100 * found.excess:+.1f})"


def pick_lines(audit: AuditReport) -> list[str]:
    """Feature shortcuts of pick_option and its ceiling."""
    found = [score for score in audit.shortcuts if score.family == "pick_option"]
    lines = [
        "pick_option, points above chance: " + ", ".join(f"{s.name} {100 * s.excess:+.1f}" for s in found) + ".",
        "",
    ]
    if (ceiling := audit.ceiling) is not None:
        taste = "–" if ceiling.taste is None else f"{ceiling.taste:.3f}"
        lines += [f"pick_option ceiling: {taste} knowing the tastes, {ceiling.memory:.3f} from the memories.", ""]
    return lines


if __name__ == "__main__":
    main()
