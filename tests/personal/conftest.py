"""A small synthetic world and its knowledge base, built once for all tests of the benchmark."""

import warnings

import pytest

from forthwith.personal.kb.build import build_kb
from forthwith.personal.kb.knowledge import open_kb
from forthwith.personal.kb.split import split_users, write_splits
from forthwith.personal.world import WorldConfig, build_world


@pytest.fixture(scope="session")
def world_folder(tmp_path_factory):
    config = WorldConfig(seed=11, users=420, per_category=120, cities=4, emails=400)
    return build_world(tmp_path_factory.mktemp("world"), config)


@pytest.fixture(scope="session")
def kb_folder(tmp_path_factory, world_folder):
    import polars as pl

    folder = tmp_path_factory.mktemp("kb")
    build_kb(world_folder, folder)
    users = pl.read_parquet(folder / "users.parquet")["user_id"].to_list()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_splits(folder, split_users(users, {"test": 60, "dev": 120, "val": 40, "hidden": 40}))
    return folder


@pytest.fixture(scope="session")
def kb(kb_folder):
    return open_kb(kb_folder, "dev")
