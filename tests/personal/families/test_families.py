"""Fragments of all families, checked against the rules applied to what their lines say."""

from collections import Counter, defaultdict

import pytest

from forthwith.personal.compose import draft
from forthwith.personal.families.builders import DESIGNS
from forthwith.personal.kb.habits import LIMITS
from forthwith.personal.lines import ConnectedServices, FactMarking, QuietHours, SpendLimit, TypeCap
from forthwith.personal.plan import PlanConfig, make_plan
from forthwith.personal.vocabulary import FAMILIES


@pytest.fixture(scope="module")
def drafts(kb):
    plan = make_plan(kb, PlanConfig("dev", 210, seed=3))
    assert plan.unplaced == ()
    return [draft(record, kb) for record in plan.records]


@pytest.fixture(scope="module")
def by_family(drafts):
    found = defaultdict(list)
    for item in drafts:
        for fragment in item.fragments:
            found[fragment.family].append((item, fragment))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_the_design_of_a_family_is_balanced(family):
    hard = Counter(cell.label for cell in DESIGNS[family] if cell.is_hard)
    assert len(set(hard.values())) == 1
    if family not in ("route", "pick_option", "apply_memory"):
        by_scenario = Counter((cell.scenario, cell.label) for cell in DESIGNS[family] if cell.is_hard)
        for scenario in {cell.scenario for cell in DESIGNS[family] if cell.is_hard}:
            counts = [count for (name, _), count in by_scenario.items() if name == scenario]
            assert max(counts) - min(counts) <= (0 if family != "forgotten_violation" else 1), scenario


@pytest.mark.parametrize("family", FAMILIES)
def test_labels_and_targets_are_keys_of_the_question(by_family, family):
    for _, fragment in by_family[family]:
        assert fragment.label in fragment.question.keys
        if fragment.soft is not None:
            assert {key for key, _ in fragment.soft} <= set(fragment.question.keys)
            assert sum(share for _, share in fragment.soft) == pytest.approx(1)
            assert fragment.variant == "removed"


@pytest.mark.parametrize("family", FAMILIES)
def test_planned_slots_are_what_comes_out(by_family, family):
    for item, fragment in by_family[family]:
        slot = next(slot for slot in item.planned.families if slot.family == family)
        assert (fragment.variant, fragment.scenario, fragment.is_hard) == (slot.variant, slot.scenario, slot.is_hard)
        if slot.label is not None:
            assert fragment.label == slot.label
        if slot.position is not None:
            assert fragment.question.keys[slot.position] == fragment.label


def test_hard_labels_are_even(by_family):
    for family in ("apply_memory", "forgotten_violation", "needs_approval", "share_ok", "notify_level", "route"):
        counts = Counter(fragment.label for _, fragment in by_family[family] if fragment.is_hard)
        assert max(counts.values()) - min(counts.values()) <= 1, family


def test_every_required_anchor_belongs_to_a_line_of_the_snapshot(drafts):
    for item in drafts:
        ids = {line.line_id for line in item.snapshot.lines()}
        assert {anchor.line_id for fragment in item.fragments for anchor in fragment.required} <= ids


def test_a_state_says_each_thing_once(drafts):
    for item in drafts:
        ids = [line.line_id for line in item.snapshot.lines()]
        assert len(set(ids)) == len(ids)
        days = [line.date for line in item.snapshot.memory]
        assert len(set(days)) == len(days)


def test_forgotten_facts_are_shown_only_where_they_decide(drafts, kb):
    for item in drafts:
        user = kb.users[item.planned.user_id]
        forgotten = {user.facts[forget.fact_index].fact_id for forget in user.forgets}
        needed = {fact for fragment in item.fragments for fact in fragment.needed_facts}
        shown = {line.fact_id for line in item.snapshot.memory if line.owner is None}
        assert shown & forgotten <= needed


def test_whether_a_note_is_still_there_tells_nothing_of_forgetting(kb):
    plan = make_plan(
        kb, PlanConfig("dev", 300, 77, families=("forgotten_violation",), questions_per_state=1, p_buried=0)
    )
    shown = {"true": [], "false": []}
    for item in (draft(record, kb) for record in plan.records):
        (fragment,) = item.fragments
        use = fragment.pending.body
        if fragment.scenario in ("item", "note", "reallowed"):
            notes = item.snapshot.memory
            shown[fragment.label].append(any(use.item_name == it.item_name or use.note_date == it.date for it in notes))
    share = {label: sum(values) / len(values) for label, values in shown.items()}
    assert min(len(values) for values in shown.values()) > 70
    assert 0.35 < share["true"] < 0.65
    assert abs(share["true"] - share["false"]) < 0.15


def test_purchases_follow_the_limit_in_force_by_hand(by_family):
    for item, fragment in by_family["needs_approval"]:
        if fragment.scenario not in ("purchase", "boundary") or fragment.variant == "removed":
            continue
        limits = [line for line in item.snapshot.rules if isinstance(line, SpendLimit) and line.owner is None]
        begun = [line for line in limits if line.since is None or line.since <= item.snapshot.now.date()]
        in_force = max(begun, key=lambda line: line.since or item.snapshot.now.date().min)
        body = fragment.pending.body
        assert body.quantity * body.unit_price_cents + body.delivery_fee_cents == body.amount_cents
        assert fragment.label == str(body.amount_cents > 100 * in_force.amount).lower()
        if fragment.scenario == "boundary":
            assert body.amount_cents in {100 * limit for limit in LIMITS}


def test_boundary_amounts_at_the_own_limit_may_proceed(by_family):
    cases = [fragment for _, fragment in by_family["needs_approval"] if fragment.scenario == "boundary"]
    assert {fragment.label for fragment in cases} == {"true", "false"}


def test_an_amount_alone_does_not_tell(by_family):
    """Within each band between limits, both answers occur over many fragments."""
    bands = defaultdict(Counter)
    for _, fragment in by_family["needs_approval"]:
        if fragment.scenario == "purchase" and fragment.is_hard:
            band = sum(fragment.pending.body.amount_cents > 100 * limit for limit in LIMITS)
            bands[band][fragment.label] += 1
    above, below = (sum(counts[label] for counts in bands.values()) for label in ("true", "false"))
    assert abs(above - below) <= 1


def test_override_of_sharing_is_a_later_marking_that_turns_the_answer(by_family):
    seen = 0
    for item, fragment in by_family["share_ok"]:
        if fragment.variant != "override":
            continue
        own = [line for line in item.snapshot.rules if isinstance(line, FactMarking)]
        own = [line for line in own if line.fact_id == fragment.pending.body.fact_id]
        assert [line.since is None for line in sorted(own, key=lambda line: line.line_id)] == [True, False]
        seen += 1
    assert seen > 5


def test_removed_sharing_shows_no_marking_of_the_fact(by_family):
    for item, fragment in by_family["share_ok"]:
        if fragment.variant == "removed":
            marked = {line.fact_id for line in item.snapshot.rules if isinstance(line, FactMarking)}
            assert fragment.pending.body.fact_id not in marked


def test_events_arrive_after_the_present(by_family):
    for item, fragment in by_family["notify_level"]:
        assert fragment.pending.body.arrival > item.snapshot.now


def test_removed_notifications_leave_graded_targets(by_family):
    removed = [fragment for _, fragment in by_family["notify_level"] if fragment.variant == "removed"]
    assert all(len(fragment.soft) > 1 for fragment in removed)
    shares = {share for fragment in removed for _, share in fragment.soft}
    assert len(shares) > 1


def test_the_request_of_a_route_names_no_service(by_family):
    for item, fragment in by_family["route"]:
        assert any(isinstance(line, ConnectedServices) and line.owner is None for line in item.snapshot.rules)
        meanings = [n for n in item.snapshot.notes if getattr(n, "name", None) == fragment.pending.body.name]
        assert len(meanings) == (2 if fragment.scenario == "ambiguous" else 1)


def test_pick_options_are_untouched_items_beside_the_target(by_family, kb):
    for item, fragment in by_family["pick_option"]:
        user = kb.users[item.planned.user_id]
        remembered = {fact.item_id for fact in user.facts}
        low = {choice.item_id for choice in user.later if choice.rating <= 2}
        touched = {choice.item_id for choice in user.later}
        options = {option.option_id for option in fragment.question.options}
        assert fragment.label in options
        assert not options & remembered
        assert (options & touched) - {fragment.label} <= low
        names = [option.name for option in fragment.question.options]
        assert not any(a in b for a in names for b in names if a is not b)


def test_opinion_flips_use_no_future(by_family, kb):
    for item, fragment in by_family["pick_option"]:
        for line in fragment.preference_updates:
            assert line.since <= item.snapshot.now.date()


def test_distractors_belong_to_somebody_else_or_another_thing(by_family):
    owned = 0
    for item, fragment in by_family["notify_level"]:
        for line in item.snapshot.rules:
            if isinstance(line, TypeCap | QuietHours) and line.owner is not None:
                assert line.line_id in fragment.distractors
                owned += 1
    assert owned > 3
