import dataclasses
from collections import Counter

import pytest

from forthwith.errors import ArtifactError, ConfigError, DataError
from forthwith.personal.compose import CHARS_PER_TOKEN, draft
from forthwith.personal.plan import PlanConfig, make_plan
from forthwith.personal.plan_file import read_plan, write_plan

CONFIG = PlanConfig("dev", 70, seed=5)


@pytest.fixture(scope="module")
def plan(kb):
    return make_plan(kb, CONFIG)


def test_every_record_is_placed_and_the_questions_add_up(plan):
    assert plan.unplaced == ()
    assert [record.index for record in plan.records] == list(range(70))
    assert sum(len(record.families) for record in plan.records) == 175


def test_a_state_asks_each_family_once(plan):
    for record in plan.records:
        names = [slot.family for slot in record.families]
        assert len(set(names)) == len(names)


def test_the_same_configuration_gives_the_same_plan(plan, kb):
    assert make_plan(kb, CONFIG) == plan


def test_another_seed_gives_another_plan_and_fingerprint(plan, kb):
    other = make_plan(kb, dataclasses.replace(CONFIG, seed=6))
    assert other.records != plan.records
    assert other.fingerprint != plan.fingerprint


def test_the_number_of_processes_changes_nothing(kb):
    config = PlanConfig("dev", 260, seed=8, families=("route", "apply_memory"), questions_per_state=1)
    assert make_plan(kb, config, processes=2) == make_plan(kb, config)


def test_the_share_of_buried_records_is_exact(plan):
    assert sum(record.buried_tokens > 0 for record in plan.records) == round(0.25 * 70)
    assert all(1_000 <= record.buried_tokens <= 6_000 for record in plan.records if record.buried_tokens)


def test_styles_are_dealt_out_evenly(plan):
    counts = Counter(record.style_id for record in plan.records)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_a_plan_reads_back_the_same(plan, tmp_path):
    assert read_plan(write_plan(plan, tmp_path / "plan.jsonl")) == plan


def test_a_plan_that_is_cut_short_is_refused(plan, tmp_path):
    path = write_plan(plan, tmp_path / "plan.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    with pytest.raises(ArtifactError, match="cut short"):
        read_plan(path)
    path.write_text("".join(lines[:-1]) + '{"half')
    with pytest.raises(DataError, match=rf"plan\.jsonl:{len(lines)}"):
        read_plan(path)
    path.write_text("{}\n")
    with pytest.raises(DataError, match="no plan"):
        read_plan(path)


def test_a_draft_is_a_pure_function_of_its_record(plan, kb):
    backwards = {record.record_id: draft(record, kb) for record in reversed(plan.records)}
    assert all(backwards[record.record_id] == draft(record, kb) for record in plan.records[:20])


def test_a_plan_for_other_users_is_refused(plan, kb):
    record = dataclasses.replace(plan.records[0], user_id="0" * 16)
    with pytest.raises(ArtifactError, match="plan again"):
        draft(record, kb)


def test_buried_documents_keep_to_the_budget_and_hold_nothing_that_matters(plan, kb):
    buried = [draft(record, kb) for record in plan.records if record.buried_tokens]
    assert all(item.documents for item in buried)
    for item in buried:
        texts = [text for _, _, text in item.documents]
        assert sum(map(len, texts)) <= CHARS_PER_TOKEN * item.planned.buried_tokens
        names = [fragment.pending.body for fragment in item.fragments if fragment.family == "forgotten_violation"]
        assert not any(body.item_name and body.item_name in text for body in names for text in texts)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"states": 0}, "states"),
        ({"styles": ("nosuch",)}, "styles"),
        ({"families": ("nosuch",)}, "families"),
        ({"questions_per_state": 9}, "questions_per_state"),
        ({"p_buried": 2}, "p_buried"),
        ({"p_buried": 0.25, "p_brief": 0.8}, "p_brief"),
        ({"p_buried": 0.25, "p_brief": 0.5, "p_short": 0.3}, "p_short"),
    ],
)
def test_an_impossible_setting_names_its_field(wrong, field):
    with pytest.raises(ConfigError) as caught:
        PlanConfig(**{"split": "dev", "states": 5, "seed": 1, **wrong})
    assert caught.value.field == field


def test_a_plan_for_another_split_is_refused(kb):
    with pytest.raises(ConfigError, match="the plan is for 'test'"):
        make_plan(kb, PlanConfig("test", 5, 1))


def test_brief_records_hold_nothing_that_their_questions_do_not_need(kb):
    full = make_plan(kb, PlanConfig("dev", 40, seed=9, p_buried=0.25))
    brief = make_plan(kb, PlanConfig("dev", 40, seed=9, p_buried=0.25, p_brief=0.5))
    marked = [record for record in brief.records if record.extent == "brief"]
    assert len(marked) == 20
    assert not any(record.buried_tokens for record in marked)
    by_index = {record.index: record for record in full.records}
    for record in marked:
        short = draft(record, kb)
        long = draft(dataclasses.replace(record, extent="full"), kb)
        assert [fragment.label for fragment in short.fragments] == [fragment.label for fragment in long.fragments]
        assert {line.line_id for line in short.snapshot.lines()} <= {line.line_id for line in long.snapshot.lines()}
        kept = {line.line_id for line in short.snapshot.lines()}
        assert all(anchor.line_id in kept for part in short.fragments for anchor in part.required)
        assert record.families[0].family == by_index[record.index].families[0].family


@pytest.mark.parametrize("family", ["notify_level", "needs_approval", "share_ok", "route", "forgotten_violation"])
def test_a_brief_record_says_no_line_that_must_not_change_the_answer(kb, family):
    config = PlanConfig("dev", 30, seed=4, families=(family,), questions_per_state=1, p_buried=0, p_brief=1)
    found = 0
    for record in make_plan(kb, config).records:
        long = draft(dataclasses.replace(record, extent="full"), kb)
        said = {line.line_id for line in draft(record, kb).snapshot.lines()}
        found += len(long.fragments[0].distractors)
        assert not long.fragments[0].distractors & said
    assert found > 0


def test_steps_are_asked_in_training_alone(kb):
    with pytest.raises(ConfigError, match="training alone") as caught:
        PlanConfig("dev", 30, seed=4, asks_steps=True)
    assert caught.value.field == "asks_steps"
