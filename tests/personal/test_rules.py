import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.personal.rules import (
    Dated,
    EntityMeaning,
    ForgetTerm,
    MemoryUse,
    connected_services,
    deletion_needs_approval,
    in_force,
    in_quiet_hours,
    may_share,
    memory_counts,
    message_needs_approval,
    notify_level,
    purchase_needs_approval,
    route,
    urgency_of_magnitude,
    uses_forgotten,
)

MAY, JUNE, JULY = dt.date(2024, 5, 1), dt.date(2024, 6, 1), dt.date(2024, 7, 1)


def test_a_change_holds_from_its_day_on():
    limits = [Dated(75), Dated(50, JUNE)]
    assert in_force(limits, dt.date(2024, 5, 31)) == 75
    assert in_force(limits, JUNE) == 50


def test_a_change_of_the_future_does_not_hold():
    assert in_force([Dated(75), Dated(50, JULY)], JUNE) == 75
    assert in_force([Dated(50, JULY)], JUNE) is None


def test_of_two_changes_of_one_day_the_later_listed_holds():
    assert in_force([Dated(1, MAY), Dated(2, MAY)], JUNE) == 2


@pytest.mark.parametrize(("cents", "needs"), [(5000, False), (5001, True), (4999, False)])
def test_exactly_the_limit_may_proceed(cents, needs):
    assert purchase_needs_approval(cents, 50) is needs


def test_without_a_limit_purchases_proceed():
    assert not purchase_needs_approval(10**6, None)


def test_only_new_recipients_under_the_rule_need_approval():
    table = {
        (known, on): message_needs_approval(is_known=known, rule_on=on)
        for known in (True, False)
        for on in (True, False)
    }
    assert [pair for pair, needs in table.items() if needs] == [(False, True)]


def test_only_irreversible_actions_under_the_rule_need_approval():
    assert deletion_needs_approval(is_reversible=False, rule_on=True)
    assert not deletion_needs_approval(is_reversible=True, rule_on=True)
    assert not deletion_needs_approval(is_reversible=False, rule_on=False)
    assert not deletion_needs_approval(is_reversible=False, rule_on=None)


def test_clearance_reaches_up_to_its_own_level():
    assert may_share("friends", "friends")
    assert may_share("public", "friends")
    assert not may_share("family", "friends")
    assert not may_share("private", "family")


def test_an_opinion_counts_for_its_own_kind_and_person_only():
    assert memory_counts(fact_category="tea", fact_owner=None, request_category="tea", request_for=None)
    assert not memory_counts(fact_category="tea", fact_owner=None, request_category="rugs", request_for=None)
    assert not memory_counts(fact_category="tea", fact_owner=None, request_category="tea", request_for="Ana")
    assert memory_counts(fact_category="tea", fact_owner="Ana", request_category="tea", request_for="Ana")


def test_a_permission_lifts_an_earlier_request_and_a_later_request_binds_again():
    use = MemoryUse(item_name="Kibble")
    ask = ForgetTerm(MAY, allows=False, item_name="Kibble")
    lift = ForgetTerm(JUNE, allows=True, item_name="Kibble")
    again = ForgetTerm(JULY, allows=False, item_name="Kibble")
    assert uses_forgotten(use, [ask], JUNE)
    assert not uses_forgotten(use, [ask, lift], JUNE)
    assert uses_forgotten(use, [ask, lift], dt.date(2024, 5, 20))
    assert uses_forgotten(use, [again, lift, ask], JULY)


def test_a_permission_for_another_item_lifts_nothing():
    terms = [ForgetTerm(MAY, allows=False, item_name="Kibble"), ForgetTerm(JUNE, allows=True, item_name="Kibble XL")]
    assert uses_forgotten(MemoryUse(item_name="Kibble"), terms, JULY)


def test_relying_on_the_note_of_a_forgotten_item_is_a_use_of_it():
    terms = [ForgetTerm(JUNE, allows=False, item_name="Kibble", note_date=MAY)]
    assert uses_forgotten(MemoryUse(note_date=MAY), terms, JULY)
    assert not uses_forgotten(MemoryUse(note_date=JUNE), terms, JULY)


def test_an_attribute_is_forgotten_within_its_category_only():
    terms = [ForgetTerm(MAY, allows=False, attribute="smoky", category="tea")]
    assert uses_forgotten(MemoryUse(attribute="smoky", category="tea"), terms, JUNE)
    assert not uses_forgotten(MemoryUse(attribute="smoky", category="cheese"), terms, JUNE)
    assert not uses_forgotten(MemoryUse(attribute="mild", category="tea"), terms, JUNE)


@pytest.mark.parametrize(
    ("hour", "start", "end", "inside"),
    [(22, 22, 7, True), (6, 22, 7, True), (7, 22, 7, False), (21, 22, 7, False), (9, 9, 17, True), (17, 9, 17, False)],
)
def test_quiet_hours_include_their_start_and_wrap_midnight(hour, start, end, inside):
    assert in_quiet_hours(hour, start, end) is inside


@given(st.integers(0, 23), st.integers(0, 23))
def test_a_window_holds_as_many_hours_as_it_is_long(start, end):
    assert sum(in_quiet_hours(hour, start, end) for hour in range(24)) == (end - start) % 24


def test_urgency_counts_the_bounds_reached():
    assert [urgency_of_magnitude(m, 10, 20, 30) for m in (9, 10, 19, 20, 29, 30, 99)] == [0, 1, 1, 2, 2, 3, 3]


def _level(**given):
    plain = {
        "urgency": 3,
        "type_cap": 3,
        "is_vip": False,
        "in_quiet": False,
        "in_meeting": False,
        "meeting_cap": 1,
    }
    return notify_level(**{**plain, **given})


def test_notify_level_by_hand():
    assert _level() == 3
    assert _level(type_cap=2) == 2
    assert _level(in_quiet=True) == 1
    assert _level(in_meeting=True, meeting_cap=2) == 2
    assert _level(in_quiet=True, is_vip=True) == 3
    assert _level(in_meeting=True, is_vip=True, type_cap=1) == 1
    assert _level(urgency=0, is_vip=True) == 0


@given(st.integers(0, 3), st.integers(0, 3), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 3) | st.none())
def test_no_rule_raises_a_level_above_the_urgency_or_the_type_cap(urgency, cap, vip, quiet, meeting, meeting_cap):
    level = notify_level(
        urgency=urgency, type_cap=cap, is_vip=vip, in_quiet=quiet, in_meeting=meeting, meeting_cap=meeting_cap
    )
    assert 0 <= level <= min(urgency, cap)


def test_services_follow_their_dated_changes_in_order_of_date():
    changes = [(JULY, "email", True), (MAY, "email", False)]
    assert connected_services(["email"], changes, dt.date(2024, 4, 1)) == {"email"}
    assert connected_services(["email"], changes, JUNE) == frozenset()
    assert connected_services(["email"], changes, JULY) == {"email"}


def test_route_asks_when_the_name_is_ambiguous_or_the_service_is_off():
    bistro = EntityMeaning("restaurant", "Marlow Bistro")
    city = EntityMeaning("city", "Marlow", "Norland")
    assert route([bistro], [], frozenset({"restaurants"}), JUNE) == "restaurants"
    assert route([bistro, bistro], [], frozenset({"restaurants"}), JUNE) == "restaurants"
    assert route([bistro, city], [], frozenset({"restaurants", "flights"}), JUNE) == "ask_user"
    assert route([city], [], frozenset({"restaurants"}), JUNE) == "ask_user"
    assert route([], [], frozenset({"restaurants"}), JUNE) == "ask_user"


def test_route_follows_the_detour_in_force():
    bistro = EntityMeaning("restaurant", "Marlow Bistro")
    services = frozenset({"restaurants", "email", "calendar"})
    detours = [("restaurant", Dated("email", MAY)), ("restaurant", Dated("calendar", JULY)), ("city", Dated("email"))]
    assert route([bistro], detours, services, JUNE) == "email"
    assert route([bistro], detours, services, JULY) == "calendar"
