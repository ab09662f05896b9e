"""A plan rendered by an outside writer, end to end, through the files and through a chat endpoint."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from forthwith.errors import ArtifactError
from forthwith.personal.compose import draft
from forthwith.personal.kb.knowledge import KnowledgeBase
from forthwith.personal.outside_run import plan_requests, write_outside, write_texts_by_chat
from forthwith.personal.plan import Plan, PlanConfig, make_plan
from forthwith.personal.render import render_record
from forthwith.personal.render_cache import RenderCache
from forthwith.personal.render_chat import ChatSettings, ChatWriter
from forthwith.personal.verify import verify_record
from forthwith.personal.verify_file import verify_against_plan, verify_file
from forthwith.schema import read_records


@pytest.fixture(scope="module")
def plan(kb: KnowledgeBase) -> Plan:
    return make_plan(kb, PlanConfig("dev", 14, 5, ("bullet_briefing",), p_buried=0.3))


def faithful(plan: Plan, kb: KnowledgeBase) -> dict[str, str]:
    """Texts as a perfect writer would give them: our own in the spelling that the list of strings asks for."""
    texts: dict[str, str] = {}
    for record in plan.records:
        made = draft(record, kb)
        text = render_record(made).unburied
        for anchor in render_record(made).anchors:
            text = text.replace(anchor.text, anchor.anchor.text)
        texts[record.record_id] = text
    return texts


def _rows(texts: dict[str, str]) -> Iterator[tuple[str, str, int, int, int]]:
    yield from ((record_id, text, 1, 10, 5) for record_id, text in texts.items())


def test_faithful_texts_are_kept_and_altered_ones_dropped_with_a_reason(plan: Plan, kb: KnowledgeBase, tmp_path: Path):
    texts = faithful(plan, kb)
    ids = list(texts)
    texts[ids[0]] = "Nothing to say."
    del texts[ids[1]]
    report = write_outside(plan, kb, _rows(texts), tmp_path / "dev.jsonl", "some-model")
    assert (report.planned, report.pending) == (14, 1)
    assert report.kept + sum(report.dropped.values()) == 13
    assert report.kept >= 6
    assert report.input_tokens == 130
    kept = list(read_records(tmp_path / "dev.jsonl"))
    assert len(kept) == report.kept
    assert kept[0].meta["render"]["model"] == "some-model"
    assert len(kept[0].meta["render"]["prompt_sha256"]) == 64
    log = [json.loads(line) for line in (tmp_path / "dev.jsonl.log.jsonl").read_text().splitlines()]
    assert [row["status"] for row in log[1:3]] == ["dropped", "pending"]
    assert verify_file(tmp_path / "dev.jsonl").ok
    again = verify_against_plan(tmp_path / "dev.jsonl", plan, kb)
    assert (again.good, again.records) == (report.kept, report.kept), again.examples


def test_another_writer_or_plan_is_never_mixed_in(plan: Plan, kb: KnowledgeBase, tmp_path: Path):
    out = tmp_path / "dev.jsonl"
    write_outside(plan, kb, (), out, "a")
    write_outside(plan, kb, (), out, "a")
    with pytest.raises(ArtifactError, match="another run"):
        write_outside(plan, kb, (), out, "b")


class _Scribe(BaseHTTPRequestHandler):
    """Knows the texts by what the user message says; forgets the first line of the first text it is asked for."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server: Any = self.server
        text = server.texts[body["messages"][1]["content"]]
        if len(body["messages"]) == 2 and not server.forgot:
            server.forgot, text = True, "Sorry?"
        answer = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        payload = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: object) -> None:
        pass


def test_a_chat_endpoint_writes_a_plan_with_one_repair(plan: Plan, kb: KnowledgeBase, tmp_path: Path):
    from forthwith.personal.render_request import user_text

    texts = faithful(plan, kb)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Scribe) as server:
        server.texts = {user_text(request): texts[request.id] for request in plan_requests(plan, kb)}  # type: ignore[attr-defined]
        server.forgot = False  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        settings = ChatSettings(f"http://127.0.0.1:{server.server_address[1]}/v1", "scribe")
        with ChatWriter(settings, RenderCache(tmp_path / "cache.jsonl")) as writer:
            written = list(write_texts_by_chat(plan, kb, writer, concurrency=1))
        server.shutdown()
        thread.join()
    assert [text.id for text in written] == [record.record_id for record in plan.records]
    assert (written[0].rounds, written[0].text) == (2, texts[written[0].id])
    rows = ((t.id, t.text, t.rounds, t.input_tokens, t.output_tokens) for t in written)
    report = write_outside(plan, kb, rows, tmp_path / "dev.jsonl", "scribe")
    assert report.pending == 0
    assert report.kept >= 6
    assert report.output_tokens > 1000


def test_a_mutated_file_is_noticed(plan: Plan, kb: KnowledgeBase, tmp_path: Path):
    from forthwith.personal.benchmark_record import benchmark_record

    lines: list[str] = []
    for record in plan.records[:4]:
        made = draft(record, kb)
        rendered = render_record(made)
        assert verify_record(made, rendered).ok
        lines.append(json.dumps(benchmark_record(made, rendered)))
    path = tmp_path / "dev.jsonl"
    path.write_text("\n".join(lines) + "\n")
    whole = verify_against_plan(path, plan, kb)
    assert whole.ok
    assert whole.missing == [record.record_id for record in plan.records[4:]]
    assert whole.without_anchors == 0
    path.write_text("\n".join([*lines, lines[0]]) + "\n")
    twice = verify_against_plan(path, plan, kb)
    assert (twice.good, dict(twice.problems)) == (4, {"repeated_record": 1})
    bare = json.loads(lines[0])
    del bare["meta"]["anchors"]
    path.write_text(json.dumps(bare) + "\n")
    assert verify_file(path).without_anchors == 1
    first = json.loads(lines[0])
    label = next(iter(first["questions"].values()))
    label["label"] = not label["label"] if isinstance(label["label"], bool) else label["label"]
    second = json.loads(lines[1])
    anchor = second["meta"]["anchors"][next(iter(second["questions"]))]["required"][0]
    second["state"] = second["state"].replace(anchor, "")
    foreign = json.loads(lines[2]) | {"id": "pd/dev/5/999"}
    path.write_text("\n".join(map(json.dumps, (first, second, foreign, {"id": "x"}))) + "\n")
    report = verify_against_plan(path, plan, kb)
    assert not report.ok
    kinds = {problem.split(":")[0] for _, _, problem in report.examples}
    assert {"missing_required_anchor", "unknown_record", "not_a_record"} <= kinds
    assert [line for line, _, _ in report.examples] == sorted(line for line, _, _ in report.examples)
