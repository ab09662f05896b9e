"""What counts as saying an anchor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.personal.anchor_text import absent, contains_anchor, normalised, present


@pytest.mark.parametrize(
    ("text", "anchor", "found"),
    [
        ("ask above $50 please", "$50", True),
        ("ask above $500", "$50", False),
        ("ask above $50.99", "$50", False),
        ("ask above $50,000", "$50", False),
        ("ask above $50.", "$50", True),
        ("ask above $50, then", "$50", True),
        ("in all 1.50 left", "50", False),
        ("US$50 limit", "$50", True),
        ("said “it’s fine — really”", 'said "it\'s fine - really"', True),
        ("two\n  lines here", "two lines", True),
        ("Ann Lee wrote", "Ann", True),
        ("Anna wrote", "Ann", False),
        ("the Private note", "private", False),
        ("上限是$50元", "$50", True),
        ("提醒我Harbor Oak的事", "Harbor Oak", True),
        ("22:00-07:00", "22:00", True),
        ("2021-03-091", "2021-03-09", False),
        ("", "x", False),
    ],
)
def test_hand_worked_cases(text: str, anchor: str, found: bool):
    assert contains_anchor(text, anchor) is found


@given(st.text(max_size=60))
def test_normalising_twice_is_normalising_once(text: str):
    assert normalised(normalised(text)) == normalised(text)


@given(st.from_regex(r"[A-Za-z$][A-Za-z0-9 ,.$-]{2,20}[a-z]", fullmatch=True), st.text("ab ,.\n", max_size=20))
def test_an_anchor_set_off_by_spaces_is_always_found(anchor: str, around: str):
    text = f"{around} {anchor} {around}"
    assert present(text, [anchor]) == [anchor]
    assert absent(text, [anchor, "never there"]) == ["never there"]
