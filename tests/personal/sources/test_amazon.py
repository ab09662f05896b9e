"""Amazon Reviews 2023 in the published format, by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from forthwith.errors import DataError
from forthwith.personal.sources.amazon import AmazonRules, load_amazon, parse_price
from forthwith.personal.sources.rows import hashed_user

DAY = 86_400_000
START = 1_600_000_000_000  # 2020-09-13


def _review(user: str, item: int | str, day: int, **other: Any) -> dict[str, Any]:
    return {
        "rating": 5.0, "title": "Good one", "text": "Lasted the whole winter.", "images": [], "asin": f"V{item}",
        "parent_asin": f"P{item}", "user_id": user, "timestamp": START + day * DAY, "helpful_vote": 0,
        "verified_purchase": True, **other,
    }  # fmt: skip


def _meta(item: int | str, **other: Any) -> dict[str, Any]:
    return {
        "main_category": "Pet Supplies", "title": f"Product {item}", "average_rating": 4.1, "rating_number": 17,
        "features": ["soft"] * 7, "description": ["d" * 600], "price": 12.5, "images": [], "videos": [],
        "store": "Acme", "categories": ["Pet Supplies", "Dogs"], "details": {"Color": "red"},
        "parent_asin": f"P{item}", "bought_together": None, **other,
    }  # fmt: skip


def _write(folder: Path, reviews: list[dict[str, Any]], meta: list[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in (("Pet_Supplies", reviews), ("meta_Pet_Supplies", meta)):
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
    return folder


def _load(folder: Path, tmp_path: Path, **rules: Any):
    return load_amazon(folder, ("Pet_Supplies",), tmp_path / "work", AmazonRules(**rules))


def _eight(user: str, **other: Any) -> list[dict[str, Any]]:
    return [_review(user, item, day=item * 10, **other) for item in range(8)]


def test_only_users_with_enough_items_texts_and_span_are_taken(tmp_path: Path):
    reviews = _eight("ok") + _eight("short span", timestamp=START) + _eight("no text", title="", text="short")
    reviews += [*_eight("seven")[:7], _review("seven", 0, day=90)]  # a second review of an item is no eighth item
    tables = _load(_write(tmp_path / "raw", reviews, [_meta(item) for item in range(8)]), tmp_path)
    assert tables.interactions["user_id"].unique().to_list() == [hashed_user("amazon", "ok")]
    assert (tables.interactions.height, tables.stats["users"], tables.stats["reviews_read"]) == (8, 1, 32)
    assert not (tmp_path / "work").exists()


def test_the_latest_review_of_an_item_counts_and_half_stars_are_rounded(tmp_path: Path):
    reviews = [_review("u", 0, day=500, rating=2.0, text="Broke after a month."), *_eight("u", rating=4.0)]
    tables = _load(_write(tmp_path / "raw", reviews, [_meta(item) for item in range(8)]), tmp_path)
    row = tables.interactions.filter(item_id="amz:P0").row(0, named=True)
    assert (row["rating"], row["text"]) == (2, "Good one\nBroke after a month.")


def test_a_title_that_the_body_repeats_is_skipped_and_texts_are_clipped(tmp_path: Path):
    reviews = _eight("u", title="Lasted the whole", text="Lasted the whole " + "x" * 3000)
    tables = _load(_write(tmp_path / "raw", reviews, [_meta(item) for item in range(8)]), tmp_path)
    text = tables.interactions["text"][0]
    assert text.startswith("Lasted the whole xxx")
    assert len(text) == 2000


def test_users_with_low_and_high_ratings_are_drawn_before_others_in_hash_order(tmp_path: Path):
    reviews: list[dict[str, Any]] = []
    for number in range(6):
        rows = _eight(f"mixed{number}")
        rows[0]["rating"] = 1.0
        reviews += rows + _eight(f"happy{number}")
    folder = _write(tmp_path / "raw", reviews, [_meta(item) for item in range(8)])
    first = _load(folder, tmp_path, users_with_both=4, users_other=1).interactions
    again = _load(folder, tmp_path, users_with_both=4, users_other=1).interactions
    taken = set(first["user_id"].to_list())
    mixed = {hashed_user("amazon", f"mixed{number}") for number in range(6)}
    assert (len(taken), len(mixed & taken)) == (5, 4)
    assert first.equals(again)


def test_items_keep_price_features_and_categories_and_reviews_without_metadata_go(tmp_path: Path):
    folder = _write(tmp_path / "raw", _eight("u"), [_meta(item) for item in range(7)])
    tables = _load(folder, tmp_path)
    item = tables.items.row(0, named=True)
    attributes = json.loads(item["attributes"])
    assert (item["item_id"], item["price"], item["category"], item["popularity"]) == (
        "amz:P0",
        12.5,
        "Pet Supplies",
        17,
    )
    assert (len(attributes["features"]), len(attributes["description"])) == (5, 500)
    assert (attributes["categories"], attributes["popular_pool"]) == (["Pet Supplies", "Dogs"], True)
    assert tables.stats["reviews_without_metadata_dropped"] == 1
    assert tables.interactions.height == 7


def test_the_popular_pool_holds_the_most_reviewed_products_nobody_chosen_reviewed(tmp_path: Path):
    popular = [_review(f"passer{number}", "hit", day=1) for number in range(3)]
    meta = [_meta(item) for item in range(8)] + [_meta("hit"), _meta("never")]
    tables = _load(_write(tmp_path / "raw", _eight("u") + popular, meta), tmp_path, popular_per_category=1)
    ids = tables.items["item_id"].to_list()
    assert "amz:Phit" in ids
    assert "amz:Pnever" not in ids


@pytest.mark.parametrize(
    ("value", "price"),
    [(12.99, 12.99), ("12.99", 12.99), ("$1,299.00", 1299.0), (0, None), (-1, None), ("None", None), (None, None),
     ("from 14.99", None), (float("inf"), None), (True, None)],
)  # fmt: skip
def test_prices_are_finite_and_positive_or_absent(value: object, price: float | None):
    assert parse_price(value) == price


def test_a_broken_review_line_is_named(tmp_path: Path):
    folder = _write(tmp_path / "raw", _eight("u"), [_meta(0)])
    with gzip.open(folder / "Pet_Supplies.jsonl.gz", "at") as out:
        out.write('{"rating": 5.0, "title": "cut\n')
    with pytest.raises(DataError) as caught:
        _load(folder, tmp_path)
    assert (caught.value.path, caught.value.line) == (folder / "Pet_Supplies.jsonl.gz", 9)


def test_a_product_row_without_its_id_is_named(tmp_path: Path):
    folder = _write(tmp_path / "raw", _eight("u"), [_meta(0), _meta(1, parent_asin=None)])
    with pytest.raises(DataError, match="parent_asin") as caught:
        _load(folder, tmp_path)
    assert caught.value.line == 2


def test_no_eligible_user_is_an_error_that_says_the_rule(tmp_path: Path):
    with pytest.raises(DataError, match="8 to 200 items"):
        _load(_write(tmp_path / "raw", _eight("u")[:5], [_meta(0)]), tmp_path)
