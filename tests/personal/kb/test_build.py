import hashlib
import json

import polars as pl
import pytest

from forthwith.errors import DataError
from forthwith.personal.kb.build import BuildConfig, build_kb
from forthwith.personal.kb.habits import LIMITS, draw_habits
from forthwith.personal.kb.history import cut_of
from forthwith.personal.kb.knowledge import open_kb
from forthwith.personal.kb.population import PopulationConfig
from forthwith.personal.kb.profile import profile_json, read_profile
from forthwith.personal.tables import read_table


def test_a_profile_reads_back_the_same(kb):
    profile = next(iter(kb.users.values()))
    assert read_profile(profile_json(profile)) == profile


def test_the_history_is_cut_where_the_formula_says():
    assert [cut_of(n) for n in (4, 5, 8, 10, 30)] == [3, 3, 5, 6, 18]


def test_evidence_is_verbatim(kb, world_folder):
    rows = read_table(world_folder, "interactions")
    texts = {(user, item): text for user, item, text in rows.select("user_id", "item_id", "text").iter_rows()}
    facts = [(user, fact) for user, profile in kb.users.items() for fact in profile.facts]
    assert all(fact.evidence in texts[user, fact.item_id] for user, fact in facts)
    assert sum(bool(fact.evidence) for _, fact in facts) > 0.9 * len(facts)


def test_rules_depend_on_the_user_alone_and_changes_lie_within_the_history(kb):
    for user, profile in kb.users.items():
        habits = profile.habits
        assert draw_habits(user, profile.first_day, profile.cut_day) == habits
        assert habits.limit in LIMITS
        if habits.limit_update is not None:
            assert habits.limit_update[0] != habits.limit
            assert profile.first_day <= habits.limit_update[1] <= profile.cut_day
        assert habits.clearance["public"] == "public"
        assert "private" not in habits.clearance.values()
        assert len({person.name for person in habits.people}) == len(habits.people)


def test_the_mail_domain_does_not_tell_contacts_from_strangers(kb):
    domains = {person.email.split("@")[1] for profile in kb.users.values() for person in profile.habits.people}
    assert domains == {"example.com", "example.org", "example.net"}


def test_forget_requests_follow_their_fact(kb):
    for profile in kb.users.values():
        for forget in profile.forgets:
            assert profile.facts[forget.fact_index].date < forget.date <= profile.later[0].when.date()


def test_the_manifest_holds_the_hashes_of_the_files(kb_folder):
    manifest = json.loads((kb_folder / "manifest.json").read_text())
    digest = hashlib.sha256((kb_folder / "users.parquet").read_bytes()).hexdigest()
    assert manifest["files"]["users.parquet"]["sha256"] == digest
    assert manifest["synthetic"] is True


def test_building_twice_gives_the_same_bytes(kb_folder, world_folder, tmp_path):
    build_kb(world_folder, tmp_path)
    assert (tmp_path / "users.parquet").read_bytes() == (kb_folder / "users.parquet").read_bytes()


def test_too_few_users_are_an_error_that_counts_them(world_folder, tmp_path):
    config = BuildConfig(population=PopulationConfig(per_domain=(("product", 10_000),)))
    with pytest.raises(DataError, match=r"10000 product users are wanted and \d+ are eligible"):
        build_kb(world_folder, tmp_path, config)


def test_an_unknown_split_or_folder_is_refused(kb_folder, tmp_path):
    with pytest.raises(DataError, match="build it first"):
        open_kb(tmp_path, "dev")
    with pytest.raises(DataError, match="has no users"):
        open_kb(kb_folder, "nosuch")


def test_a_reader_gets_only_the_users_of_its_split(kb, kb_folder):
    everyone = pl.read_parquet(kb_folder / "users.parquet")["user_id"].to_list()
    assert len(kb.users) == 120 < len(everyone)
    assert {document.author for document in kb.reviews} <= set(kb.users)
