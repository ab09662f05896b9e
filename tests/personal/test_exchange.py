"""Requests out, texts in: same ids, same prompts, and every odd line counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forthwith.errors import ArtifactError, ConfigError, DataError
from forthwith.personal.exchange import export_requests, ingest_texts
from forthwith.personal.render_request import RenderRequest, TextProblem, WriterStyle, check_text, repair_text

STYLE = WriterStyle("log", "plain", "chat log", notes="short lines")


def _requests(count: int, style: WriterStyle = STYLE) -> list[RenderRequest]:
    return [
        RenderRequest(f"pd/x/{number}", style, {"now": number}, ("Request A",), ("secret",)) for number in range(count)
    ]


def test_batches_share_the_requests_without_loss_and_show_nothing_forbidden(tmp_path: Path):
    exported = export_requests(_requests(7), tmp_path, batches=3)
    assert (exported.requests, exported.batches) == (7, 3)
    whole = exported.path.read_text().splitlines()
    parts = [(tmp_path / f"batch-0{n}/input.jsonl").read_text().splitlines() for n in (1, 2, 3)]
    assert sorted(whole) == sorted(line for part in parts for line in part)
    assert [len(part) for part in parts] == [3, 2, 2]
    assert "secret" not in exported.path.read_text()
    assert "short lines" in json.loads(whole[0])["system"]
    assert (tmp_path / "batch-01/INSTRUCTIONS.md").exists()


def test_texts_come_back_and_odd_lines_are_counted(tmp_path: Path):
    requests = _requests(4)
    exported = export_requests(requests, tmp_path)
    lines = [
        '{"id": "pd/x/0", "text": "a"}',
        "not json",
        '{"id": "pd/x/9", "text": "b"}',
        '{"id": "pd/x/0", "text": "c"}',
        '{"id": "pd/x/1"}',
        '{"id": "pd/x/2", "text": 5}',
        "",
        '{"id": "pd/x/3", "text": "d"}',
    ]
    (tmp_path / "out.jsonl").write_text("\n".join(lines) + "\n")
    result = ingest_texts(requests, exported.path, [tmp_path / "out.jsonl"])
    assert result.texts == {"pd/x/0": "a", "pd/x/3": "d"}
    assert (result.malformed, result.unknown, result.duplicate) == ([2, 5, 6], [3], [4])
    assert result.missing == ["pd/x/1", "pd/x/2"]


def test_a_changed_prompt_is_refused(tmp_path: Path):
    exported = export_requests(_requests(2), tmp_path)
    with pytest.raises(ArtifactError, match="have changed") as caught:
        ingest_texts(_requests(2, WriterStyle("log", "plain", "diary")), exported.path, [])
    assert caught.value.expected != caught.value.found
    with pytest.raises(ArtifactError, match="no request 'pd/x/2'"):
        ingest_texts(_requests(3), exported.path, [])


def test_broken_exports_missing_files_and_odd_batch_counts_are_named(tmp_path: Path):
    exported = export_requests(_requests(1), tmp_path)
    exported.path.write_text("{}\n")
    with pytest.raises(DataError, match="export again"):
        ingest_texts(_requests(1), exported.path, [])
    with pytest.raises(DataError, match="cannot be read"):
        ingest_texts(_requests(1), tmp_path / "none.jsonl", [])
    with pytest.raises(ConfigError):
        export_requests(_requests(2), tmp_path, batches=3)


def test_the_repair_note_names_what_is_missing_but_nothing_forbidden():
    request = RenderRequest("a", STYLE, {}, ("Request A", "$50"), ("secret",))
    problems = check_text(request, "Request A and a secret for Bob", lambda _: [TextProblem("not_in_snapshot", "Bob")])
    note = repair_text(problems)
    assert [problem.kind for problem in problems] == [
        "missing_required_anchor",
        "forbidden_anchor_present",
        "not_in_snapshot",
    ]
    assert '"$50"' in note
    assert '"Bob"' in note
    assert "secret" not in note
