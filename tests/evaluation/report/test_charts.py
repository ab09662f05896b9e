"""Pictures: well formed, to scale, named for readers who do not see them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from forthwith.evaluation.report.charts import (
    CurvePoint,
    Interval,
    ReliabilityBin,
    difference_chart,
    interval_chart,
    reliability_chart,
    risk_coverage_chart,
)


def parse(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def bins() -> list[ReliabilityBin]:
    return [
        ReliabilityBin(low_edge=0.4, high_edge=0.5, questions=100, confidence=0.45, correctness=0.5, low=0.4, high=0.6),
        ReliabilityBin(
            low_edge=0.9, high_edge=1.0, questions=400, confidence=0.95, correctness=0.9, low=0.87, high=0.93
        ),
    ]


def test_a_perfectly_calibrated_bin_lies_on_the_diagonal() -> None:
    even = bins()[0]._replace(confidence=0.5, correctness=0.5)
    root = parse(reliability_chart([even], "Reliability"))
    diagonal = next(line for line in root.iter("line") if line.get("class") == "diagonal")
    x1, y1, x2, y2 = (float(diagonal.get(name, "nan")) for name in ("x1", "y1", "x2", "y2"))
    dot = next(root.iter("circle"))
    assert float(dot.get("cx", "nan")) == pytest.approx((x1 + x2) / 2)
    assert float(dot.get("cy", "nan")) == pytest.approx((y1 + y2) / 2)


def test_dot_area_grows_with_the_number_of_questions() -> None:
    radii = [float(dot.get("r", "nan")) for dot in parse(reliability_chart(bins(), "Reliability")).iter("circle")]
    assert radii == pytest.approx([2.5 + 6.5 * 0.5, 9.0], abs=0.06)


def test_a_curve_runs_from_left_to_right_and_keeps_within_the_frame() -> None:
    curve = [CurvePoint(coverage=c, risk=c / 5) for c in (0.001, 0.25, 0.5, 1.0)]
    svg = risk_coverage_chart([("one", curve), ("two", curve[1:])], "Risk", budget=0.05)
    root = parse(svg)
    lines = [line.get("points", "") for line in root.iter("polyline")]
    assert len(lines) == 2
    xs = [float(point.split(",")[0]) for point in lines[0].split()]
    assert len(xs) == 3  # a thousandth of the questions is too little to draw
    assert xs == sorted(xs)
    assert "budget 5%" in svg
    assert [line.get("class") for line in root.iter("polyline")] == ["curve s1", "curve s2"]


def test_intervals_are_drawn_to_scale() -> None:
    root = parse(interval_chart([("route", [Interval("m", 0.5, 0.25, 1.0)])], "Accuracy"))
    dot = next(root.iter("circle"))
    whisker = next(line for line in root.iter("line") if line.get("class") == "whisker s1")
    x1, x2, cx = float(whisker.get("x1", "")), float(whisker.get("x2", "")), float(dot.get("cx", ""))
    assert (cx - x1) / (x2 - x1) == pytest.approx(1 / 3, abs=1e-3)


def test_differences_say_better_worse_or_level_by_their_interval() -> None:
    rows = [Interval("up", 0.1, 0.05, 0.15), Interval("down", -0.1, -0.2, -0.01), Interval("even", 0.02, -0.03, 0.07)]
    svg = difference_chart(rows, "Differences")
    assert [dot.get("class") for dot in parse(svg).iter("circle")] == ["dot better", "dot worse", "dot level"]
    assert "+10.0" in svg
    assert "-10.0" in svg


def test_names_are_escaped_and_every_picture_has_a_title() -> None:
    nasty = '<script>alert(1)</script> & "co"'
    pictures = [
        interval_chart([(nasty, [Interval(nasty, 0.5, 0.4, 0.6)])], nasty),
        difference_chart([Interval(nasty, 0.5, 0.4, 0.6)], nasty),
        reliability_chart(bins(), nasty),
        risk_coverage_chart([(nasty, [CurvePoint(coverage=1, risk=0.1)])], nasty),
    ]
    for svg in pictures:
        root = parse(svg)
        assert "<script>" not in svg
        assert root.get("role") == "img"
        title, description = root.find("title"), root.find("desc")
        assert title is not None
        assert description is not None
        assert title.text == nasty
        assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"


def test_equal_input_gives_equal_bytes() -> None:
    assert reliability_chart(bins(), "R") == reliability_chart(bins(), "R")
    ids = re.findall(r'id="(c\w+?)t"', reliability_chart(bins(), "R") + reliability_chart(bins()[:1], "R"))
    assert len(set(ids)) == 2


def test_nothing_to_draw_is_drawn_as_an_empty_frame() -> None:
    for svg in (
        reliability_chart([], "R"),
        risk_coverage_chart([], "R"),
        interval_chart([], "R"),
        difference_chart([], "R"),
    ):
        assert parse(svg).tag == "svg"
