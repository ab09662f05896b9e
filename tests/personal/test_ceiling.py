import pytest

from forthwith.personal.benchmark_record import benchmark_record
from forthwith.personal.ceiling import pick_ceiling
from forthwith.personal.compose import draft
from forthwith.personal.plan import PlanConfig, make_plan
from forthwith.personal.render import render_record
from forthwith.personal.shortcuts import hard_questions
from forthwith.schema import parse_record


@pytest.fixture(scope="module")
def picks(kb):
    plan = make_plan(kb, PlanConfig("dev", 80, seed=4, families=("pick_option",), questions_per_state=1, p_buried=0))
    drafts = [draft(record, kb) for record in plan.records]
    return hard_questions([parse_record(benchmark_record(item, render_record(item))) for item in drafts])


def test_who_knows_the_tastes_beats_who_reads_and_both_beat_chance(picks, kb):
    ceiling = pick_ceiling(picks, kb)
    assert ceiling.questions == len(picks) == 60
    assert ceiling.taste > 0.65
    assert ceiling.chance + 0.08 < ceiling.memory < ceiling.taste


def test_no_shortcut_rank_is_commoner_than_its_share(picks):
    """The target is the cheapest, the most popular and so on as often as chance has it, give or take two questions."""
    from forthwith.personal.shortcuts import shortcut_baselines

    for score in shortcut_baselines(picks):
        assert score.excess * score.questions <= 2.5, score


def test_strangers_have_no_ceiling(picks, kb):
    import dataclasses

    assert pick_ceiling(picks, dataclasses.replace(kb, users={})) is None
