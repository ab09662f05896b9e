"""Converters keep the source's labels, split by key and let no test text through."""

import json

import pytest

from forthwith.errors import DataError
from forthwith.suites.leakage import normalised_text, seen_texts
from forthwith.suites.splits import split_by_group
from forthwith.suites.toolace import called_functions, convert_toolace, listed_functions
from forthwith.suites.typed_decisions import convert_typed_decisions, split_typed_decisions

FUNCTIONS = [
    {"name": "Find Flights (v1)", "description": "Search flights.", "parameters": {"type": "dict"}},
    {"name": "book_hotel", "description": "", "parameters": {"type": "dict"}},
]
SYSTEM = f"You compose calls, as [f(a=1)]. Here is a list of functions: {json.dumps(FUNCTIONS)} Reply with calls only."


def row(request: str, reply: str, system: str = SYSTEM) -> dict:
    turns = [{"from": "user", "value": request}, {"from": "assistant", "value": reply}]
    return {"system": system, "conversations": turns}


def test_functions_are_read_out_of_the_system_text() -> None:
    assert listed_functions(SYSTEM) == {"Find Flights (v1)": "Search flights.", "book_hotel": ""}
    assert listed_functions("no tools here [1, 2]") == {}
    assert listed_functions(json.dumps([FUNCTIONS[0], FUNCTIONS[0]])) == {}


def test_a_call_is_found_by_name_with_spaces_and_brackets() -> None:
    names = listed_functions(SYSTEM)
    assert called_functions('[Find Flights (v1)(to="Oslo, book_hotel")]', names) == ["Find Flights (v1)"]
    assert called_functions("[Find Flights (v1)(to=1), book_hotel(n=2)]", names) == ["Find Flights (v1)", "book_hotel"]
    assert called_functions("I would call book_hotel()", names) == []


def test_rows_that_do_not_choose_one_tool_are_counted_by_reason() -> None:
    one, two, three, again, leaked, bare = (
        row("Fly me to Oslo", "[Find Flights (v1)(to='Oslo')]"),
        row("Plan a trip", "[Find Flights (v1)(to=1), book_hotel(n=2)]"),
        row("Hello", "How can I help?"),
        row("fly  me to OSLO", "[book_hotel(n=1)]"),
        row("Book a room", "[book_hotel(n=1)]"),
        row("x", "[a()]", system="none"),
    )
    found = convert_toolace([one, two, three, again, leaked, bare], taken=seen_texts(["book a Room"]))
    assert [record.state for record in found.records] == ["Fly me to Oslo"]
    assert found.records[0].targets["tool"].label == "Find Flights (v1)"
    assert found.left_out == {
        "not answered by a call of exactly one listed tool": 2, "request text seen before": 2,
        "fewer than two listed tools, or repeated names": 1,
    }  # fmt: skip


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    rows = [row(f"Room {number}", "[book_hotel(n=1)]") for number in range(20)]
    first, again, other = (convert_toolace(rows, sample=5, seed=seed).records for seed in (42, 42, 7))
    assert [record.id for record in first] == [record.id for record in again] != [record.id for record in other]


def case(number: int, workflow: str = "invoices", **changes) -> dict:
    return {
        "case_id": f"{workflow}-{number}", "workflow": workflow, "state": json.dumps({"total": number}),
        "questions": json.dumps({"pay": {"type": "noul", "instructions": "Pay it?"},
                                 "risk": {"type": "score", "criteria": ["low", "high"]}}),
        "gold": {"pay": {"yes": 0.75, "no": 0.25}, "risk": 1},
    } | changes  # fmt: skip


def test_cases_keep_their_gold_shares() -> None:
    record = next(convert_typed_decisions([case(3)]))
    assert record.state == {"total": 3}
    assert record.targets["pay"].distribution == {"true": 0.75, "false": 0.25}
    assert record.targets["risk"].label == "1"
    assert record.meta["task"] == "invoices"


def test_a_case_without_gold_or_with_a_stray_label_is_named() -> None:
    with pytest.raises(DataError, match="none of the fields targets, gold, labels"):
        list(convert_typed_decisions([case(1, gold=None)]))
    with pytest.raises(DataError, match=r"'invoices-1' cannot be read: targets.risk.label: 5 is not an option"):
        list(convert_typed_decisions([case(1, gold={"risk": 5})]))


def test_each_workflow_is_split_by_a_keyed_hash_of_the_id() -> None:
    cases = [case(number, workflow) for workflow in ("invoices", "incidents") for number in range(300)]
    records = list(convert_typed_decisions(cases))
    train, dev, calibration = split_typed_decisions(records, "key")
    assert (len(train), len(dev), len(calibration)) == (480, 60, 60)
    assert len({record.id for part in (train, dev, calibration) for record in part}) == 600
    assert [r.id for r in split_typed_decisions(records[::-1], "key")[1]] == [r.id for r in dev]
    assert [r.id for r in split_typed_decisions(records, "other")[1]] != [r.id for r in dev]


def test_a_group_that_is_too_small_is_named() -> None:
    with pytest.raises(DataError, match="'a' has 2 items and the splits need 3"):
        split_by_group(["a1", "a2"], "k", (2, 1), group=lambda item: item[0], identity=str)


def test_normalised_texts_ignore_width_case_and_spacing() -> None:
    assert normalised_text("  ＦＵＬＬ width\n Straße ") == "full width strasse"
