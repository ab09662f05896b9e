"""The pipeline on tables that are not synthetic: no traits, prices missing, no world behind them."""

import json
import shutil
import warnings

import polars as pl
import pytest

from forthwith.personal.compose import draft
from forthwith.personal.kb.build import build_kb
from forthwith.personal.kb.knowledge import open_kb
from forthwith.personal.kb.split import split_users, write_splits
from forthwith.personal.plan import PlanConfig, make_plan
from forthwith.personal.render import render_record
from forthwith.personal.tables import read_table, write_table
from forthwith.personal.verify import verify_record


@pytest.fixture(scope="module")
def plain_kb(world_folder, tmp_path_factory):
    tables = tmp_path_factory.mktemp("plain")
    shutil.copytree(world_folder, tables, dirs_exist_ok=True)
    (tables / "STATS.json").unlink()
    items = read_table(tables, "items").with_columns(
        pl.lit(json.dumps({"categories": []})).alias("attributes"),
        pl.when(pl.col("popularity") % 5 == 0).then(None).otherwise(pl.col("price")).alias("price"),
        pl.lit("amazon").alias("source"),
    )
    write_table(tables, "items", items)
    folder = tmp_path_factory.mktemp("plain-kb")
    build_kb(tables, folder)
    users = pl.read_parquet(folder / "users.parquet")["user_id"].to_list()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_splits(folder, split_users(users, {"dev": 150}))
    return open_kb(folder, "dev")


def test_records_are_planned_drafted_and_verified(plain_kb):
    assert not plain_kb.is_synthetic
    assert plain_kb.world_seed is None
    plan = make_plan(plain_kb, PlanConfig("dev", 60, seed=2))
    assert len(plan.unplaced) <= 3
    drafts = [draft(record, plain_kb) for record in plan.records]
    assert not any(item.is_synthetic for item in drafts)
    scenarios = {fragment.scenario for item in drafts for fragment in item.fragments}
    assert "attribute" not in scenarios
    verdicts = [verify_record(item, render_record(item)) for item in drafts]
    assert sum(verdict.ok for verdict in verdicts) >= 0.95 * len(verdicts)


def test_options_share_whether_a_price_is_listed(plain_kb):
    plan = make_plan(plain_kb, PlanConfig("dev", 40, seed=3, families=("pick_option",), questions_per_state=1))
    for record in plan.records:
        (fragment,) = draft(record, plain_kb).fragments
        assert len({option.price_cents is None for option in fragment.question.options}) == 1
