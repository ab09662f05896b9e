from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forthwith.encoding import Encoder, TreeBuilder
from forthwith.errors import ArtifactError, ContextTooLongError
from forthwith.testing import tiny_encoder, tiny_tokenizer

ENCODER = tiny_encoder()
BACKEND = tiny_tokenizer().backend_tokenizer
START, END = (BACKEND.token_to_id(token) for token in ("<|im_start|>", "<|im_end|>"))


def decode(ids: tuple[int, ...]) -> str:
    return BACKEND.decode(list(ids), skip_special_tokens=False)


def test_the_frame_opens_and_closes_the_users_turn() -> None:
    opening, closing = ENCODER.frame("Be brief.")
    assert decode(opening) == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n"
    assert decode(closing) == "<|im_end|>\n<|im_start|>assistant\n"
    assert opening.count(START) == 2


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_becomes_a_special_token(text: str) -> None:
    assert not {START, END} & set(ENCODER.text(text + "<|im_end|>" + text))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=5))
def test_many_texts_at_once_equal_one_by_one(texts: list[str]) -> None:
    assert ENCODER.texts(texts) == [Encoder(tiny_tokenizer()).text(text) for text in texts]


def test_remembered_texts_survive_the_moment_they_are_forgotten() -> None:
    encoder = tiny_encoder()
    encoder.texts([str(number) for number in range(20_001)])
    assert encoder.texts(["7", "a new text"]) == [ENCODER.text("7"), ENCODER.text("a new text")]
    assert encoder.texts(["7", "8"]) == [ENCODER.text("7"), ENCODER.text("8")]


def test_a_model_without_chat_template_gets_a_plain_frame() -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = None
    opening, closing = Encoder(tokenizer).frame("Be brief.")
    assert (decode(opening), decode(closing)) == ("Be brief.\n\n", "\n\nAnswer: ")


def test_a_template_without_system_role_takes_the_text_into_the_users_turn() -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}"
    )
    opening, closing = Encoder(tokenizer).frame("Be brief.")
    assert (decode(opening), decode(closing)) == ("<|im_start|>Be brief.\n\n", "<|im_end|>")


@pytest.mark.parametrize(
    ("template", "message"),
    [("nothing", "drops the user's text"), ("{{ raise_exception('never') }}", "cannot be rendered")],
)
def test_a_useless_chat_template_is_an_artifact_error(template: str, message: str) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = template
    with pytest.raises(ArtifactError, match=message):
        Encoder(tokenizer).frame("system")


def test_a_tokenizer_without_a_fast_backend_is_refused() -> None:
    with pytest.raises(ArtifactError, match="no fast backend"):
        Encoder(object())


def test_candidates_are_one_more_token_in_context() -> None:
    cue = ENCODER.frame("s")[1]
    ids = ENCODER.candidates(cue, ["A", "yes", "3"])
    assert [decode((token,)) for token in ids] == ["A", "yes", "3"]
    with pytest.raises(ArtifactError, match=r"\['maybe'\] are not single tokens"):
        ENCODER.candidates(cue, ["A", "maybe"])
    with pytest.raises(ArtifactError, match="are the same token"):
        ENCODER.candidates(cue, ["A", "A"])


def test_a_candidate_that_changes_the_cue_is_no_candidate() -> None:
    assert ENCODER.single_token(ENCODER.text("the N"), "o") is None  # "No" is one token: the cue's own N would go
    assert ENCODER.single_token(ENCODER.text("the X"), "y") is not None


def test_a_word_pair_falls_back_to_other_spellings() -> None:
    cue = ENCODER.text("Answer:")
    ids, words = ENCODER.word_pair(cue, [("nein", "ja"), ("no", "yes")])
    assert words == ("no", "yes")
    assert len(ids) == 2
    with pytest.raises(ArtifactError, match="neither yes/no nor Yes/No"):
        tiny_encoder().word_pair(cue, [("nein", "ja")])


def test_trees_measure_themselves() -> None:
    builder = TreeBuilder((1, 2, 3))
    question = builder.add((4, 5))
    builder.read(builder.add((6,), question), (9,))
    builder.read(builder.add((7, 8), question), (9,))
    tree = builder.build()
    assert (tree.size, tree.depth, tree.plain_size) == (8, 7, 6 + 7)
    assert tree.starts == (0, 3, 5, 5)
    assert tree.path(3) == (1, 2, 3, 4, 5, 7, 8)
    tree.check_fits(7)
    with pytest.raises(ContextTooLongError):
        tree.check_fits(6)


def test_a_continuation_is_read_token_by_token() -> None:
    builder = TreeBuilder((1,))
    assert builder.read_continuation(0, (5, 6, 7)) == range(3)
    assert builder.read_continuation(0, (8,)) == range(3, 4)
    tree = builder.build()
    assert [(tree.segments[read.segment].ids, read.offset, read.candidates) for read in tree.reads] == [
        ((1,), 0, (5,)),
        ((5, 6), 0, (6,)),
        ((5, 6), 1, (7,)),
        ((1,), 0, (8,)),
    ]


def test_the_fingerprint_tells_chat_formats_apart() -> None:
    other = tiny_tokenizer()
    other.chat_template = other.chat_template.replace("assistant", "model")
    assert tiny_encoder().fingerprint == ENCODER.fingerprint
    assert Encoder(other).fingerprint != ENCODER.fingerprint
