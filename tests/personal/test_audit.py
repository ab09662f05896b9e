import random

import pytest

from forthwith.errors import DataError
from forthwith.personal.audit import AuditLimits, audit, audit_file
from forthwith.personal.blind import blind_baseline, pending_text
from forthwith.personal.capacity import measure_capacity
from forthwith.personal.shortcuts import hard_questions, shortcut_baselines
from forthwith.schema import parse_record


def _pick(index, label, prices, popularity):
    names = ["a", "b", "c"][: len(prices)]
    features = {
        name: {"price": price, "popularity": count}
        for name, price, count in zip(names, prices, popularity, strict=True)
    }
    return parse_record(
        {
            "id": f"r{index}",
            "state": f"state {index}",
            "questions": {"pick_option": {"type": "choice", "criteria": dict.fromkeys(names), "label": label}},
            "meta": {"option_features": {"pick_option": features}, "user_id": f"u{index % 7}"},
        }
    )


def _noul(index, label, text, user=None):
    return parse_record(
        {
            "id": f"n{index}",
            "state": f"Rule {index}.\n\nProposed action A: {text}\nmore of it\n\nRequest B: other",
            "questions": {
                "needs_approval": {"type": "noul", "instructions": "Proposed action A: ask first?", "label": label}
            },
            "meta": {"user_id": user or f"u{index % 9}"},
        }
    )


def test_shortcuts_by_hand():
    records = [
        _pick(0, "a", [1, 2, 3], [9, 5, 1]),  # cheapest, most popular
        _pick(1, "c", [1, 2, 3], [9, 5, 1]),  # priciest, least popular
        _pick(2, "b", [2, 2, 9], [5, 5, 5]),  # half of the cheapest; a third of the popular
        _pick(3, "b", [1, 2, 3], [1, 5, 9]),
    ]
    found = {score.name: score.accuracy for score in shortcut_baselines(hard_questions(records))}
    assert found["cheapest"] == pytest.approx((1 + 0 + 0.5 + 0) / 4)
    assert found["priciest"] == pytest.approx((0 + 1 + 0 + 0) / 4)
    assert found["most popular"] == pytest.approx((1 + 0 + 1 / 3 + 0) / 4)
    assert found["first option"] == pytest.approx(1 / 4)
    assert found["majority label"] == pytest.approx(2 / 4)


def test_soft_questions_do_not_count():
    soft = parse_record(
        {
            "id": "s",
            "state": "x",
            "questions": {
                "q": {"type": "noul", "instructions": "?", "label": True, "soft_label": {"true": 0.5, "false": 0.5}}
            },
        }
    )
    assert hard_questions([soft]) == []
    with pytest.raises(DataError, match="no question with a hard label"):
        audit([soft])


def test_the_guesser_sees_the_pending_item_and_nothing_else():
    (question,) = hard_questions([_noul(1, True, "buy tea")])
    text = pending_text(question)
    assert "buy tea\nmore of it" in text
    assert "Rule" not in text
    assert "Request B" not in text


def test_the_guesser_finds_a_word_that_gives_the_label_away():
    rng = random.Random(0)
    leaky = [_noul(i, i % 2 == 0, "buy tea" if i % 2 == 0 else "buy coffee") for i in range(120)]
    fair = [_noul(i, rng.random() < 0.5, rng.choice(["buy tea", "buy coffee"])) for i in range(400)]
    (score,) = blind_baseline(hard_questions(leaky))
    assert score.accuracy == 1
    (score,) = blind_baseline(hard_questions(fair))
    assert abs(score.excess) < 0.12


def test_a_leak_closes_its_gate():
    leaky = [_noul(i, i % 2 == 0, "buy tea" if i % 2 == 0 else "buy coffee") for i in range(120)]
    report = audit(leaky)
    assert not report.ok
    assert "needs_approval: state-blind" in {gate.name for gate in report.gates if not gate.ok}
    uneven = [_noul(i, i % 5 == 0, "buy tea") for i in range(200)]
    closed = {gate.name for gate in audit(uneven, limits=AuditLimits(blind=1)).gates if not gate.ok}
    assert {"needs_approval: majority label", "needs_approval: label gap"} <= closed


def test_a_repeated_state_closes_its_gate():
    records = [_noul(i, i % 2 == 0, "buy tea") for i in (1, 2)]
    twin = records[0].model_copy(update={"id": "twin"})
    report = audit([*records, twin, records[1].model_copy(update={"id": "t2", "state": "else"})])
    assert report.repeated_states == 1
    assert not report.ok


def test_a_file_without_hard_questions_is_named(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"id": "1", "state": "s", "questions": {"q": {"type": "noul", "instructions": "?"}}}\n')
    with pytest.raises(DataError, match=r"r\.jsonl: there is no question"):
        audit_file(path)


def test_capacity_names_the_scarcest_cell(kb):
    found = {capacity.family: capacity for capacity in measure_capacity(kb, trials=3)}
    assert len(found) == 7
    assert found["apply_memory"].built > 0.9
    for capacity in found.values():
        assert 0 < capacity.built <= 1
        assert capacity.by_cell[capacity.scarcest] == min(capacity.by_cell.values())
