import hashlib
import json

import numpy as np
import polars as pl
import pytest

from forthwith.errors import ConfigError
from forthwith.personal.tables import TABLE_NAMES, read_stats, read_table
from forthwith.personal.world import WorldConfig, build_world
from forthwith.personal.world.people import latent_taste

SMALL = WorldConfig(seed=5, users=60, per_category=40, cities=3, emails=30)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return build_world(tmp_path_factory.mktemp("world"), SMALL)


def test_the_same_seed_gives_the_same_bytes(world, tmp_path):
    again = build_world(tmp_path, SMALL)
    for name in TABLE_NAMES:
        digests = {hashlib.sha256((folder / f"{name}.parquet").read_bytes()).hexdigest() for folder in (world, again)}
        assert len(digests) == 1, name


def test_a_user_does_not_depend_on_how_many_there_are(world, tmp_path):
    fewer = build_world(tmp_path, WorldConfig(seed=5, users=10, per_category=40, cities=3, emails=10))
    some, more = read_table(fewer, "interactions"), read_table(world, "interactions")
    assert some.equals(more.head(len(some)))


def test_everything_is_marked_synthetic(world):
    for name in TABLE_NAMES:
        assert read_table(world, name)["source"].unique().to_list() == ["synthetic"]
    assert read_stats(world)["synthetic"] is True


def test_item_ids_and_names_within_a_category_are_unique(world):
    items = read_table(world, "items")
    assert items["item_id"].n_unique() == len(items)
    assert items.select("category", "city", "name").n_unique() == len(items)


def test_each_user_keeps_to_one_domain_and_reviews_an_item_once(world):
    rows = read_table(world, "interactions").join(read_table(world, "items"), on="item_id")
    per_user = rows.group_by("user_id").agg(pl.col("domain").n_unique(), pl.col("item_id").n_unique(), pl.len())
    assert per_user["domain"].max() == 1
    assert (per_user["item_id"] == per_user["len"]).all()
    assert per_user["len"].min() >= 12


def test_ratings_follow_latent_tastes(world):
    rows = read_table(world, "interactions").join(read_table(world, "items"), on="item_id")
    tastes = [
        latent_taste(5, row["user_id"], row["category"], json.loads(row["attributes"])["traits"])
        for row in rows.iter_rows(named=True)
    ]
    assert np.corrcoef(tastes, rows["rating"].to_numpy())[0, 1] > 0.8


def test_reviews_vary(world):
    texts = [text for text in read_table(world, "interactions")["text"] if text]
    assert len(set(texts)) > 0.95 * len(texts)


def test_some_city_names_lie_in_two_countries(world):
    airports = read_table(world, "airports")
    countries = airports.group_by("city").agg(pl.col("country").n_unique())
    assert 5 <= (countries["country"] > 1).sum() <= 60
    assert airports["iata"].n_unique() == len(airports)


@pytest.mark.parametrize("wrong", [{"users": 1}, {"per_category": 3}, {"cities": 0}, {"emails": 0}])
def test_an_impossible_size_names_its_field(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        WorldConfig(**wrong)
