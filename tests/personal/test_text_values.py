"""Numbers, dates, times and money as a reader finds them, in English and Chinese."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.personal.render.formats import Formats
from forthwith.personal.text_values import read_values

CASES = [
    ("$50", [("money", "5000")]),
    ("US$1,250.50 or 12 dollars", [("money", "125050"), ("money", "1200")]),
    ("fifty dollars", [("money", "5000")]),
    ("one hundred and twenty-five dollars", [("money", "12500")]),
    ("五十美元", [("money", "5000")]),
    ("一百二十五美元", [("money", "12500")]),
    ("54 USD", [("money", "5400")]),
    ("2021-03-09", [("date", "2021-03-09")]),
    ("2021/03/09 and 2021.03.09", [("date", "2021-03-09"), ("date", "2021-03-09")]),
    ("9 March 2021", [("date", "2021-03-09")]),
    ("March 9, 2021", [("date", "2021-03-09")]),
    ("Mar 9", [("date", "--03-09")]),
    ("the 9th of March", [("date", "--03-09")]),
    ("2021年3月9日", [("date", "2021-03-09")]),
    ("3月9日", [("date", "--03-09")]),
    ("at 15:35", [("time", "15:35")]),
    ("10 pm to 7 am", [("time", "22:00"), ("time", "07:00")]),
    ("12 a.m. and 12:20 p.m.", [("time", "00:00"), ("time", "12:20")]),
    ("22h00", [("time", "22:00")]),
    ("22点, 15点35分", [("time", "22:00"), ("time", "15:35")]),
    ("晚上九点", [("time", "09:00")]),
    ("ninety minutes, 45 minutes", [("number", "90"), ("number", "45")]),
    ("12 lb, 1,200 and 4.50", [("number", "12"), ("number", "1200"), ("number", "4.5")]),
    ("write to a.b@example.com 7", [("email", "a.b@example.com"), ("number", "7")]),
    ("one of these, two minds, a second thought", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "values"), CASES)
def test_values_of_a_text(text, values):
    assert [(value.kind, value.canonical) for value in read_values(text)] == values


def test_places_are_those_of_the_text():
    text = "pay $50 by 9 March 2021"
    assert [text[value.start : value.end] for value in read_values(text)] == ["$50", "9 March 2021"]


formats = st.builds(
    Formats,
    st.sampled_from(
        ["iso", "slashes", "dots", "day_month", "month_day", "day_mon", "mon_day", "chinese", "iso_weekday"]
    ),
    st.sampled_from(["24h", "12h", "12h_dots", "h_mark", "chinese"]),
    st.sampled_from(["dollar", "dollar_cents", "usd", "us_dollar", "words", "chinese"]),
)


@given(formats, st.datetimes(dt.datetime(1999, 1, 1), dt.datetime(2039, 1, 1)), st.integers(0, 999_999))
def test_every_spelling_is_read_back(spelling, moment, cents):
    found = [
        (value.kind, value.canonical) for value in read_values(f"({spelling.moment(moment)}: {spelling.money(cents)}.)")
    ]
    assert found == [("date", f"{moment:%Y-%m-%d}"), ("time", f"{moment:%H:%M}"), ("money", str(cents))]
