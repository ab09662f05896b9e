"""Detectors, in English and Chinese, and what they must leave alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.personal.privacy import Protected, find_private, option_texts, redact, scrub_contacts


def _found(text: str, protected: Protected | None = None) -> list[tuple[str, str]]:
    return [(hit.kind, hit.text) for hit in find_private(text, protected)]


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("write to jo.b+x@mail.co.uk today", [("email", "jo.b+x@mail.co.uk")]),
        ("write to jo@example.com or ann@mail.example.org", []),
        ("请发到wang@qq.com谢谢", [("email", "wang@qq.com")]),
        ("call 713-853-1234 or (713) 853-1234", [("phone", "713-853-1234"), ("phone", "(713) 853-1234")]),
        ("call +44 20 7946 0958 now", [("phone", "+44 20 7946 0958")]),
        ("我的手机是13812345678，座机010-62345678。", [("phone", "13812345678"), ("phone", "010-62345678")]),
        ("it cost $713.85 on 2021-03-09 at 22:00-07:00", []),
        ("order 1381234567 of 20210309", []),
        ("see https://shop.example.net/x and www.acme.com/a?b=1.", [("url", "www.acme.com/a?b=1")]),
        ("go to acme.com.", [("url", "acme.com")]),
        (
            "at 12 Elm Street, opposite 4500 Old Mill Rd.",
            [("address", "12 Elm Street"), ("address", "4500 Old Mill Rd.")],
        ),
        ("送到中山路128号3楼", [("address", "送到中山路128号")]),
        ("SSN 123-45-6789", [("id_number", "123-45-6789")]),
        ("身份证11010519491231002X", [("id_number", "11010519491231002X")]),
        ("thanks Mr. Hall and Dr Maria Lopez", [("name", "Mr. Hall"), ("name", "Dr Maria Lopez")]),
        ("Our waiter Kevin Marsh was kind", [("name", "Kevin Marsh")]),
        ("To answer, Does Proposed action A count?", []),
        ("From Kevin Marsh's own notes", [("name", "Kevin Marsh")]),
        ("Ask Kevin O'Neil-Marsh", [("name", "Kevin O'Neil-Marsh")]),
        ("Ask Kevin Marsh today", [("name", "Kevin Marsh")]),
        ("KEVIN MARSH was kind", [("name", "KEVIN MARSH")]),
        ("Marsh, Kevin was on the list", [("name", "Marsh, Kevin")]),
        ("Kevin Q. Marsh signed", [("name", "Kevin Q. Marsh")]),
        ("Kevin Restaurant was closed, Thomas Street too", []),
        ("Monday, Kevin came", []),
        ("Dentist, Jan 10, 2023; Stand-up, Jun 5", []),
        ("Room Kestrel, Kevin 2 pm", []),
        ("Philly Cheese was great", []),
        ("sent by Vance Obrecht/HOU/ECT", [("name", "Vance Obrecht")]),
        ("From: Vance Obrecht\nTo: Trading Desk Team\n", [("name", "Vance Obrecht")]),
        ("我找王先生和欧阳女士", [("name", "王")]),
        ("张伟经理说可以", [("name", "张伟")]),
        ("", []),
    ],
)
def test_hand_worked_detections(text: str, hits: list[tuple[str, str]]):
    assert _found(text) == hits


def test_overlaps_go_to_the_leftmost_then_longest():
    assert _found("mail kevin.marsh@acme.com") == [("email", "kevin.marsh@acme.com")]


def test_protected_names_and_options_are_no_hits():
    text = "Kevin Marsh likes Mary Kay Satin Hands, Ann Lee too"
    shield = Protected.of(["Mary Kay Satin Hands Set", "Ann Lee"])
    assert _found(text, shield) == [("name", "Kevin Marsh")]
    assert _found("order 3 Granite Lane salsa jars", Protected.of(["Granite Lane Mild Salsa"])) == []
    assert _found("order 3 Granite Lane salsa jars") == [("address", "3 Granite Lane")]
    assert _found(text, shield.with_inside(["Tickets for Kevin Marsh live"])) == []


def test_option_texts_are_keys_descriptions_and_levels():
    questions = {
        "a": {"type": "choice", "criteria": {"Harbor Oak": "Pet Supplies", "None": None}},
        "b": {"type": "score", "criteria": ["silent", "digest"]},
        "c": {"type": "noul", "instructions": "x"},
    }
    assert list(option_texts(questions)) == ["Harbor Oak", "Pet Supplies", "None", "silent", "digest"]


def test_a_redaction_shows_first_characters_only():
    assert redact("Kevin Marsh") == "K···· M····"


@given(st.text(alphabet="abz@.comA-Z 0123456789-()/张先生\n", max_size=80))
def test_hits_are_ordered_disjoint_and_quote_the_text(text: str):
    hits = find_private(text)
    assert all(text[hit.start : hit.end] == hit.text and hit.start < hit.end for hit in hits)
    assert all(first.end <= second.start for first, second in pairwise(hits))


@given(st.text(alphabet="ab@.com/www 0123456789-()", max_size=80))
def test_scrubbing_leaves_no_contact_data(text: str):
    assert not {hit.kind for hit in find_private(scrub_contacts(text))} & {"email", "phone"}
