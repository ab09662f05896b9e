from hypothesis import given
from hypothesis import strategies as st

from forthwith.personal.kb.facts import MAX_EVIDENCE, MIN_EVIDENCE, evidence_of, polarity_of, traits_of


def test_the_first_sentence_of_fitting_length_is_taken():
    assert evidence_of("Ok. This one is far too smoky. More text.") == "This one is far too smoky."


def test_a_long_sentence_is_cut_at_a_word():
    text = "word " * 60
    assert evidence_of(text) == ("word " * 40).strip()


def test_short_reviews_have_no_evidence():
    assert evidence_of("") == ""
    assert evidence_of("Nice.") == ""


@given(st.text(max_size=400))
def test_evidence_is_a_substring_of_fitting_length(text):
    evidence = evidence_of(text)
    assert evidence in text
    assert evidence == "" or MIN_EVIDENCE <= len(evidence) <= MAX_EVIDENCE


def test_polarity_by_hand():
    assert [polarity_of(rating) for rating in range(1, 6)] == ["dislikes", "dislikes", "mixed", "likes", "likes"]


def test_traits_come_from_traits_else_from_other_categories():
    assert traits_of('{"traits": ["smoky", "decaf"]}', "coffee") == ("smoky", "decaf")
    assert traits_of('{"categories": ["Thai", "Noodle shop", "Bar"]}', "Thai") == ("Noodle shop", "Bar")
    assert traits_of(None, "coffee") == ()
