"""Google Local 2021 in the published format, by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from forthwith.errors import DataError
from forthwith.personal.sources.google_local import city_of, first_food_category, load_google
from forthwith.personal.sources.rows import hashed_user

DAY = 86_400_000
START = 1_500_000_000_000


def _review(user: str, place: int | str, day: int, **other: Any) -> dict[str, Any]:
    return {
        "user_id": user, "name": "A Reviewer", "time": START + day * DAY, "rating": 5, "text": "Great noodles.",
        "pics": None, "resp": {"time": 1, "text": "Thanks"}, "gmap_id": f"0x{place}", **other,
    }  # fmt: skip


def _place(place: int | str, **other: Any) -> dict[str, Any]:
    return {
        "name": f"Place {place}", "address": f"Place {place}, 12 Elm St, Wilmington, DE 19801", "gmap_id": f"0x{place}",
        "description": None, "latitude": 39.7, "longitude": -75.5, "category": ["Gift shop", "Thai restaurant"],
        "avg_rating": 4.4, "num_of_reviews": 88, "price": "$$", "hours": None, "MISC": {}, "state": "Open",
        "relative_results": [], "url": "x", **other,
    }  # fmt: skip


def _write(folder: Path, reviews: list[dict[str, Any]], places: list[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in (("review-Delaware_10", reviews), ("meta-Delaware", places)):
        with gzip.open(folder / f"{name}.json.gz", "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
    return folder


def _eight(user: str, **other: Any) -> list[dict[str, Any]]:
    return [_review(user, place, day=place * 10, **other) for place in range(8)]


def test_restaurants_and_their_frequent_reviewers_are_kept(tmp_path: Path):
    reviews = _eight("9") + _eight("few")[:7] + _eight("silent", text=None) + _eight("hasty", time=START)
    places = [*(_place(number) for number in range(8)), _place("shop", category=["Gift shop"])]
    tables = load_google(_write(tmp_path / "raw", reviews, places), ("Delaware",))
    assert tables.interactions["user_id"].unique().to_list() == [hashed_user("google", "9")]
    place = tables.items.row(0, named=True)
    assert (place["item_id"], place["category"], place["city"]) == ("gmap:0x0", "Thai restaurant", "Wilmington")
    assert (place["price_level"], place["price"], place["popularity"]) == (2, None, 88)
    assert json.loads(place["attributes"])["categories"] == ["Gift shop", "Thai restaurant"]
    assert tables.items.height == 8
    assert "A Reviewer" not in str(tables.interactions.rows())


def test_reviews_before_2005_go_and_the_minimum_is_applied_again(tmp_path: Path):
    nine = [*_eight("keeps"), _review("keeps", 8, day=0, time=1)]
    eight = [*_eight("falls")[:7], _review("falls", 8, day=0, time=1)]
    places = [_place(number) for number in range(9)]
    tables = load_google(_write(tmp_path / "raw", nine + eight, places), ("Delaware",))
    assert tables.interactions["user_id"].unique().to_list() == [hashed_user("google", "keeps")]
    assert tables.interactions.height == 8


@pytest.mark.parametrize(
    ("categories", "first"),
    [(["Coffee shop"], "Coffee shop"), (["Restaurant supply store", "Deli"], "Deli"),
     (["Coffee machine supplier"], None),
     (["Hardware store"], None), (["Barber shop"], None), ([], None)],
)  # fmt: skip
def test_the_first_food_category_is_no_supplier_or_store(categories: list[str], first: str | None):
    assert first_food_category(categories) == first


@pytest.mark.parametrize(
    ("address", "city"),
    [("Nam, 1 Elm St, Dover, DE 19901", "Dover"), ("Nam", None), (None, None), ("Dover, DE", "Dover"), (", DE", None)],
)
def test_the_city_is_the_second_to_last_part(address: str | None, city: str | None):
    assert city_of(address) == city


def test_broken_lines_and_rows_are_named(tmp_path: Path):
    folder = _write(tmp_path / "raw", [*_eight("9"), {"time": "soon"}], [_place(0)])
    with pytest.raises(DataError) as caught:
        load_google(folder, ("Delaware",))
    assert (caught.value.path, caught.value.line) == (folder / "review-Delaware_10.json.gz", 9)
    folder = _write(tmp_path / "raw2", _eight("9"), [_place(0), _place(1, gmap_id=7)])
    with pytest.raises(DataError, match="gmap_id") as caught:
        load_google(folder, ("Delaware",))
    assert caught.value.line == 2
