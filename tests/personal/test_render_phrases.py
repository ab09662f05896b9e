"""The pattern files: enough phrasings, shared out without overlap, and readable as what they are about."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.errors import ArtifactError
from forthwith.personal.cue_words import cue_of, demands_approval
from forthwith.personal.render.grammar import (
    HELD_OUT_SHARE,
    compile_pattern,
    count_surfaces,
    expand,
    patterns,
    section_names,
    wording_share,
)

RULES = (
    *(("approval", name) for name in ("spend_limit", "spend_limit_changed", "new_recipient_on", "new_recipient_off")),
    *(("approval", name) for name in ("irreversible_on", "irreversible_off", "spend_limit_announced")),
    *(("privacy", name) for name in ("level_order", "clearance", "marking", "re_marking")),
    *(("privacy", name) for name in ("forget", "forget_attribute", "re_permission")),
    *(("notifications", name) for name in ("quiet_hours", "quiet_hours_changed", "meeting_cap", "type_cap")),
    *(("notifications", name) for name in ("vip_list", "vip_none", "connected_services", "service_on", "service_off")),
    *(("context", name) for name in ("routing_rule", "priority_code", "urgency_scale")),
)
QUESTIONS = (
    "apply_memory", "forgotten_violation", "needs_approval", "share_ok", "route", "notify_level", "pick_option",
)  # fmt: skip
PENDING = (
    "taste_product", "taste_restaurant", "forgotten_recommend", "forgotten_tell", "forgotten_personalise", "purchase",
    "message", "delete_booking", "delete_notes", "delete_event", "share", "share_public", "entity", "event_code",
    "event_magnitude", "pick_product", "pick_restaurant",
)  # fmt: skip
WANTED = (*RULES, *(("questions", name) for name in QUESTIONS), *(("pending", name) for name in PENDING))
FILES = ("approval", "privacy", "notifications", "context", "pending", "questions", "criteria", "frame", "terms")
CUES = {
    "spend_limit": "spend_limit", "spend_limit_changed": "spend_limit", "spend_limit_announced": "spend_limit",
    "level_order": "privacy_order",
    "clearance": "clearance", "marking": "fact_marking", "re_marking": "fact_marking", "forget": "forget_request",
    "forget_attribute": "forget_request", "re_permission": "repermission", "quiet_hours": "quiet_hours",
    "quiet_hours_changed": "quiet_hours", "meeting_cap": "meeting_cap", "vip_list": "vip_list",
    "connected_services": "connected_services", "service_on": "service_change", "service_off": "service_change",
    "routing_rule": "routing_rule", "priority_code": "priority_code", "urgency_scale": "urgency_scale",
}  # fmt: skip


class AnyValue(dict):
    def __missing__(self, key: str) -> str:
        return "\u00a4"


def sentences(language: str, file: str, section: str):
    rng = random.Random(3)
    values = AnyValue(the="the user", The="The user")
    for wording in ("seen", "held_out"):
        for pattern in patterns(language, file, section, wording):
            for first_person in (True, False):
                for _ in range(6):
                    yield expand(pattern, rng, values, first_person=first_person)


@pytest.mark.parametrize(("file", "section"), WANTED)
def test_every_rule_question_and_pending_item_has_25_english_phrasings(file, section):
    shares = wording_share("en", file, section)
    assert len(shares["seen"]) + len(shares["held_out"]) >= 25


@pytest.mark.parametrize(("file", "section"), [found for found in WANTED if found[0] not in ("context",)])
def test_every_rule_question_and_pending_item_has_25_chinese_sentences(file, section):
    compiled = [p for wording in ("seen", "held_out") for p in patterns("zh", file, section, wording)]
    assert sum(count_surfaces(pattern) for pattern in compiled) >= 25


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("file", FILES)
def test_held_out_phrasings_are_a_fixed_share_and_never_among_the_seen(language, file):
    for section in section_names(language, file):
        shares = wording_share(language, file, section)
        seen, held_out = set(shares["seen"]), set(shares["held_out"])
        total = len(seen | held_out)
        if total >= 4:
            assert not seen & held_out
            assert len(held_out) == max(1, round(HELD_OUT_SHARE * total))
        assert len(shares["seen"]) == len(seen), section


def test_a_pattern_stays_in_its_share_when_it_is_asked_for_again():
    first = wording_share("en", "approval", "spend_limit")
    wording_share.cache_clear()
    assert wording_share("en", "approval", "spend_limit") == first


@pytest.mark.parametrize("file", ["approval", "privacy", "notifications", "pending", "questions", "frame"])
def test_chinese_has_every_section_that_english_has(file):
    english_only = {name for name in section_names("en", file) if name.split(".")[0] != "sheet_question"}
    letters = {"mail_subject", "mail_open", "mail_close", "memo_open", "letter_open", "letter_close"}
    calls = {"call_agent", "call_open"}
    assert english_only - set(section_names("zh", file)) <= letters | calls


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_sentence_shows_what_kind_of_line_it_is(language):
    for file in ("approval", "privacy", "notifications", "context"):
        for section in set(section_names(language, file)) & set(CUES):
            cue = cue_of(CUES[section])
            for sentence in sentences(language, file, section):
                assert cue is not None
                assert cue.search(sentence), (section, sentence)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("about", ["new_recipient", "irreversible"])
@pytest.mark.parametrize("on", [True, False])
def test_an_approval_sentence_reads_as_demanding_or_waiving(language, about, on):
    for sentence in sentences(language, "approval", f"{about}_{'on' if on else 'off'}"):
        assert demands_approval(sentence) is on, sentence


def test_names_of_fields_mean_one_thing_each():
    meaning: dict[tuple[str, str], str] = {}
    for section in section_names("en", "fields"):
        for share in wording_share("en", "fields", section).values():
            for name in share:
                assert meaning.setdefault((section.split(".")[0], name), section) == section


def test_parts_slots_and_voice_of_a_pattern():
    pattern = compile_pattern("(Ask|Tell) @me <I said|it says> {amount} (brackets stay)")
    values = {"amount": "$5", "the": "the user", "The": "The user"}
    first = {expand(pattern, random.Random(n), values, first_person=True) for n in range(20)}
    assert first == {"Ask me I said $5 (brackets stay)", "Tell me I said $5 (brackets stay)"}
    third = expand(pattern, random.Random(0), values, first_person=False)
    assert third.endswith("the user it says $5 (brackets stay)")
    assert count_surfaces(pattern) == 2


def test_chinese_values_of_latin_letters_do_not_run_together():
    pattern = compile_pattern("@I{date}(a|b)", "zh")
    said = expand(pattern, random.Random(1), {"the": "Dana", "The": "Dana", "date": "2021-03-09"}, first_person=False)
    assert said[:15] == "Dana 2021-03-09"


def test_an_open_bracket_is_refused():
    with pytest.raises(ArtifactError, match="never closed"):
        compile_pattern("(a|b")


@given(st.integers(0, 10_000))
def test_expanding_is_a_function_of_the_seed(seed):
    pattern = patterns("en", "approval", "spend_limit", "seen")[seed % 20]
    values = {"amount": "$5", "the": "the user", "The": "The user"}
    assert expand(pattern, random.Random(seed), values, first_person=True) == expand(
        pattern, random.Random(seed), values, first_person=True
    )
