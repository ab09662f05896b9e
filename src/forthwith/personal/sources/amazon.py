"""Amazon Reviews 2023 (McAuley Lab): product histories of sampled users, and the products they are about.

Two passes over the review files, so that memory follows the number of users kept, not of reviews read: the first spills
(user, item, rating, time, has text) into parquet buckets by user and decides who is eligible; the second takes the text
of the chosen users only.
"""

from __future__ import annotations

import hashlib
import math
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl

from forthwith.errors import DataError
from forthwith.personal.sources.json_lines import iter_objects, iter_tables
from forthwith.personal.sources.rows import ItemText, SourceTables, hashed_user, interaction_frame, items_frame, silent

__all__ = ["AmazonRules", "load_amazon", "parse_price", "select_users"]

_TAG = "amazon"
_SOURCE = "amazon-reviews-2023"
_BUCKETS = 16
_REVIEW_SCHEMA = pl.Schema(
    {
        "rating": pl.Float64(),
        "title": pl.String(),
        "text": pl.String(),
        "parent_asin": pl.String(),
        "user_id": pl.String(),
        "timestamp": pl.Float64(),  # ms since 1970
    }
)
_DAY_MS = 86_400_000


@dataclass(frozen=True)
class AmazonRules:
    """Who is taken and how much of each text; defaults are the benchmark's."""

    seed: int = 20260930
    min_items: int = 8
    max_items: int = 200
    min_texts: int = 8
    min_text_chars: int = 20
    min_span_days: int = 30
    users_with_both: int = 6_000
    users_other: int = 2_000
    popular_per_category: int = 5_000
    max_review_chars: int = 2_000


def load_amazon(
    folder: Path,
    categories: tuple[str, ...],
    work: Path,
    rules: AmazonRules | None = None,
    on_step: Callable[[str], None] | None = None,
) -> SourceTables:
    """Items and interactions of the sampled users, from `<C>.jsonl.gz` and `meta_<C>.jsonl.gz` in `folder`.

    Args:
        folder: where the published files lie.
        categories: their names, without `meta_` and ending.
        work: scratch folder for the spilled keys; removed again.
        rules: sampling rules.
        on_step: told what is being read.

    Raises:
        DataError: a file is missing or a line is broken (path and line), or no user is eligible.
    """
    rules, say = rules or AmazonRules(), on_step or silent
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    counts = _spill_keys(folder, categories, work, rules, say)
    chosen = select_users(work, rules)
    shutil.rmtree(work)
    if not chosen:
        raise DataError(
            f"no user has {rules.min_items} to {rules.max_items} items, {rules.min_texts} texts and a span of "
            f"{rules.min_span_days} days; give the full review files",
            folder,
        )
    reviews = _chosen_reviews(folder, categories, frozenset(chosen), rules, say)
    items = _items(folder, categories, frozenset(reviews["parent_asin"].unique().to_list()), counts, rules, say)
    known = reviews.with_columns(item_id="amz:" + pl.col("parent_asin")).join(items, on="item_id", how="semi")
    interactions = interaction_frame(known, source=_SOURCE, user_tag=_TAG)
    stats = {
        "reviews_read": int(sum(sum(by_item.values()) for by_item in counts.values())),
        "users": len(chosen),
        "reviews_without_metadata_dropped": reviews.height - known.height,
    }
    return SourceTables(items, interactions, stats)


def select_users(work: Path, rules: AmazonRules) -> list[str]:
    """Original ids of the sampled users, in sampling order: those with low and high ratings first, then others.

    The order is that of `sha256("<seed>:<hashed user id>")`. Reads the buckets that the first pass spilled into `work`.
    """
    both: list[tuple[str, str]] = []
    other: list[tuple[str, str]] = []
    for bucket in sorted(work.glob("bucket-*")):
        for user, low, high in _eligible(pl.read_parquet(bucket / "*.parquet"), rules).iter_rows():
            rank = hashlib.sha256(f"{rules.seed}:{hashed_user(_TAG, user)}".encode()).hexdigest()
            (both if low and high else other).append((rank, user))
    taken = sorted(both)[: rules.users_with_both] + sorted(other)[: rules.users_other]
    return [user for _, user in taken]


def _eligible(keys: pl.DataFrame, rules: AmazonRules) -> pl.DataFrame:
    latest = _latest(keys)
    users = latest.group_by("user_id").agg(
        items=pl.len(),
        texts=pl.col("has_text").sum(),
        span=pl.col("timestamp").max() - pl.col("timestamp").min(),
        low=(pl.col("rating") <= 3).any(),
        high=(pl.col("rating") >= 4).any(),
    )
    return users.filter(
        pl.col("items").is_between(rules.min_items, rules.max_items)
        & (pl.col("texts") >= rules.min_texts)
        & (pl.col("span") >= rules.min_span_days * _DAY_MS)
    ).select("user_id", "low", "high")


def _latest(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per (user, item): the latest; of equally late ones the last read."""
    return rows.sort("timestamp", maintain_order=True).unique(
        ["user_id", "parent_asin"], keep="last", maintain_order=True
    )


def _review_blocks(path: Path, rules: AmazonRules) -> Iterator[pl.DataFrame]:
    """Blocks of reviews with user, item, time and rating present; title and body made one text."""
    title, body = pl.col("title").fill_null("").str.strip_chars(), pl.col("text").fill_null("").str.strip_chars()
    joined = (
        pl.when((title == "") | body.str.starts_with(title))
        .then(body)
        .when(body == "")
        .then(title)
        .otherwise(title + "\n" + body)
    )
    for frame in iter_tables(path, _REVIEW_SCHEMA):
        yield frame.drop_nulls(["rating", "parent_asin", "user_id", "timestamp"]).select(
            "user_id",
            "parent_asin",
            timestamp=pl.col("timestamp").cast(pl.Int64),
            rating=pl.col("rating").round().cast(pl.Int8).clip(1, 5),
            text=joined.str.slice(0, rules.max_review_chars),
        )


def _spill_keys(
    folder: Path, categories: tuple[str, ...], work: Path, rules: AmazonRules, say: Callable[[str], None]
) -> dict[str, dict[str, int]]:
    """First pass: keys into buckets by user; review counts by category and item."""
    counts: dict[str, dict[str, int]] = {}
    for category in categories:
        say(f"reading {category} (who is eligible)")
        tally: dict[str, int] = {}
        for number, block in enumerate(_review_blocks(folder / f"{category}.jsonl.gz", rules)):
            for asin, reviews in block["parent_asin"].value_counts().iter_rows():
                tally[asin] = tally.get(asin, 0) + reviews
            _spill(block, rules, work, f"{category}-{number:06d}")
        counts[category] = tally
    return counts


def _spill(block: pl.DataFrame, rules: AmazonRules, work: Path, name: str) -> None:
    keys = block.select(
        "user_id",
        "parent_asin",
        "timestamp",
        "rating",
        has_text=pl.col("text").str.len_chars() >= rules.min_text_chars,
        bucket=pl.col("user_id").hash(seed=0) % _BUCKETS,  # stable within one run, which is all that is needed
    )
    for (bucket,), part in keys.partition_by("bucket", as_dict=True, include_key=False).items():
        folder = work / f"bucket-{bucket:02d}"
        folder.mkdir(exist_ok=True)
        part.write_parquet(folder / f"{name}.parquet")


def _chosen_reviews(
    folder: Path, categories: tuple[str, ...], chosen: frozenset[str], rules: AmazonRules, say: Callable[[str], None]
) -> pl.DataFrame:
    kept: list[pl.DataFrame] = []
    wanted = pl.Series(sorted(chosen), dtype=pl.String).implode()
    for category in categories:
        say(f"reading {category} (reviews of the chosen users)")
        kept += [
            block.filter(pl.col("user_id").is_in(wanted))
            for block in _review_blocks(folder / f"{category}.jsonl.gz", rules)
        ]
    return _latest(pl.concat(kept))


def _items(
    folder: Path,
    categories: tuple[str, ...],
    reviewed: frozenset[str],
    counts: dict[str, dict[str, int]],
    rules: AmazonRules,
    say: Callable[[str], None],
) -> pl.DataFrame:
    """Metadata rows of reviewed and popular products; the first of several rows of one product counts."""
    items: dict[str, ItemText] = {}
    for category in categories:
        say(f"reading meta_{category}")
        tally = counts[category]
        popular = frozenset(sorted(tally, key=lambda asin: (-tally[asin], asin))[: rules.popular_per_category])
        path = folder / f"meta_{category}.jsonl.gz"
        for line, row in iter_objects(path):
            asin = row.get("parent_asin")
            if not isinstance(asin, str) or not asin:
                raise DataError(f"parent_asin is {asin!r}; every product row needs one", path, line)
            if asin not in items and (asin in reviewed or asin in popular):
                item = _item(asin, row, category, popular=asin in popular)
                if item is not None:
                    items[asin] = item
    return items_frame(items)


def _item(asin: str, row: dict[str, Any], category: str, *, popular: bool) -> ItemText | None:
    name = _text(row.get("title"))[:400]
    if not name:
        return None
    return ItemText(
        item_id=f"amz:{asin}",
        domain="product",
        name=name,
        category=_text(row.get("main_category")) or category.replace("_", " "),
        price=parse_price(row.get("price")),
        price_level=None,
        city=None,
        popularity=_count(row.get("rating_number")),
        source=_SOURCE,
        attributes={
            "features": [_text(feature)[:200] for feature in _list(row.get("features"))[:5]],
            "description": " ".join(_text(part) for part in _list(row.get("description")))[:500],
            "store": _text(row.get("store")) or None,
            "categories": [_text(part) for part in _list(row.get("categories"))],
            "average_rating": row.get("average_rating"),
            "popular_pool": popular,
        },
    )


def parse_price(value: object) -> float | None:
    """The price of a metadata row in dollars: a number, or the number in a text; None unless finite and above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        price = float(value.replace("$", "").replace(",", "").strip()) if isinstance(value, str) else float(value)
    except ValueError:
        return None
    return price if math.isfinite(price) and price > 0 else None


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value] if isinstance(value, str) else []


def _count(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
