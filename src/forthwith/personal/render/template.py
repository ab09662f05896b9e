"""The template renderer: a draft in, a text with its questions and anchors out. A pure function of the draft."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random

from forthwith.personal.determinism import seeded_rng
from forthwith.personal.fragment import DraftRecord
from forthwith.personal.lines import Line
from forthwith.personal.pending import Pending
from forthwith.personal.render.bury import Document, bury
from forthwith.personal.render.confusable import confusable_document
from forthwith.personal.render.context_lines import line_sentence, one_full_stop
from forthwith.personal.render.formats import Formats
from forthwith.personal.render.grammar import Language
from forthwith.personal.render.layouts import LAYOUTS
from forthwith.personal.render.pending_lines import pending_options, pending_sentence
from forthwith.personal.render.phraser import Phraser
from forthwith.personal.render.question_words import word_question
from forthwith.personal.render.rendered import QuestionText, RenderedAnchor, RenderedRecord, Wording
from forthwith.personal.render.sheet import Paragraphs, PendingText, SectionText, Sheet, ordered_sections
from forthwith.personal.render.spelling import find_spelling
from forthwith.personal.render.structured import structured_paragraphs, structured_rows
from forthwith.personal.render.styles import Style, style
from forthwith.personal.vocabulary import Split

__all__ = ["record_wording", "render_record", "wrap_text"]

_TEXT_LIMIT = 1_000_000
_CHINESE_QUESTIONS = {"zh": 0.5, "mixed": 0.3, "en": 0.0}


def record_wording(split: Split, record_id: str) -> Wording:
    """Which phrasings a record uses: those of training; in HIDDEN and TEST half of the records, the held-out ones."""
    if split in ("hidden", "test") and seeded_rng("record-wording", record_id).random() < 0.5:
        return "held_out"
    return "seen"


def render_record(draft: DraftRecord) -> RenderedRecord:
    """The draft as text in its planned style, with buried documents where it has some.

    Raises:
        ConfigError: the planned style does not exist.
    """
    planned = draft.planned
    look = style(planned.style_id)
    rng = seeded_rng("render", planned.record_id, look.style_id)
    formats = look.formats(rng)
    wording = record_wording(planned.wording_split, planned.record_id)
    voices = _Voices(look, rng, wording, formats, draft.snapshot.now.date())
    laid = _structured(draft, voices) if look.structured else _prose(draft, voices)
    unburied = "\n\n".join(laid.texts)
    state = unburied
    documents = _documents(draft, voices)
    if documents:
        state = "\n\n".join(bury(laid.texts, documents, formats, rng))
    return RenderedRecord(
        record_id=planned.record_id,
        state=state,
        questions=_questions(draft, voices),
        anchors=_anchors(draft, laid.contexts, formats),
        style_id=look.style_id,
        renderer="template",
        wording=wording,
        buried=len(documents),
        unburied=unburied,
    )


def wrap_text(draft: DraftRecord, text: str, renderer: str) -> RenderedRecord:
    """A text of an outside writer with this renderer's questions and buried documents.

    Anchors carry no context: only the text itself shows where they stand.
    """
    planned = draft.planned
    look = style(planned.style_id)
    rng = seeded_rng("render", planned.record_id, look.style_id)
    formats = look.formats(rng)
    wording = record_wording(planned.wording_split, planned.record_id)
    paragraphs = [part for part in text.strip().split("\n\n") if part.strip()]
    voices = _Voices(look, rng, wording, formats, draft.snapshot.now.date())
    documents = _documents(draft, voices)
    buried = bury(paragraphs, documents, formats, rng) if documents else paragraphs
    anchors = tuple(
        RenderedAnchor(fragment.qid, anchor, anchor.text, None)
        for fragment in draft.fragments
        for anchor in fragment.required
    )
    return RenderedRecord(
        record_id=planned.record_id,
        state="\n\n".join(buried),
        questions=_questions(draft, voices),
        anchors=anchors,
        style_id=look.style_id,
        renderer=renderer,
        wording=wording,
        buried=len(documents),
        unburied="\n\n".join(paragraphs),
    )


class _Voices:
    """The voices of one record: one, or in a mixed style an English and a Chinese one that take turns."""

    def __init__(self, look: Style, rng: random.Random, wording: Wording, formats: Formats, today: dt.date) -> None:
        self.look, self.rng, self.formats = look, rng, formats
        first = look.voice == "first"
        languages: tuple[Language, ...] = ("en", "zh") if look.language == "mixed" else (look.language,)
        self._by_language = {
            name: Phraser(rng, name, first_person=first, wording=wording, formats=formats, today=today)
            for name in languages
        }
        self._questions = {
            name: Phraser(rng, name, first_person=False, wording=wording, formats=formats, today=today)
            for name in dict.fromkeys(("en", *languages))
        }

    def main(self) -> Phraser:
        """The voice of headings and connecting words."""
        return next(iter(self._by_language.values()))

    def next(self) -> Phraser:
        """The voice of the next sentence."""
        voices = list(self._by_language.values())
        return voices[0] if len(voices) == 1 else voices[int(self.rng.random() * len(voices))]

    def question(self) -> Phraser:
        """The voice of the next question."""
        chinese = self._questions.get("zh")
        if chinese is not None and self.rng.random() < _CHINESE_QUESTIONS[self.look.language]:
            return chinese
        return self._questions["en"]


def _documents(draft: DraftRecord, voices: _Voices) -> list[Document]:
    """The draft's documents and, among them, one of somebody else's rules; none where the draft has none."""
    documents: list[Document] = list(draft.documents)
    if documents:
        text = confusable_document(draft, dataclasses.replace(voices.main(), first_person=True))
        if text is not None:
            documents.append(("mail", documents[0][1], text))
    return documents


def _questions(draft: DraftRecord, voices: _Voices) -> tuple[QuestionText, ...]:
    return tuple(word_question(voices.question(), fragment) for fragment in draft.fragments)


def _structured(draft: DraftRecord, voices: _Voices) -> Paragraphs:
    voice = voices.main()
    lines: list[Line] = [line for _, members in ordered_sections(draft.snapshot, voice) for line in members]
    rows = structured_rows(draft.snapshot, voice, [*lines, *draft.snapshot.pending])
    return structured_paragraphs(voices.look.layout, rows, voice)


def _prose(draft: DraftRecord, voices: _Voices) -> Paragraphs:
    snapshot, contexts = draft.snapshot, dict[str, str]()
    sections: list[SectionText] = []
    for name, lines in ordered_sections(snapshot, voices.main()):
        sentences = [line_sentence(voices.next(), line) for line in lines]
        contexts.update(zip((line.line_id for line in lines), sentences, strict=True))
        sections.append(SectionText(name, tuple(sentences)))
    now_voice = voices.next()
    now = one_full_stop(now_voice.say("context", "now", now=now_voice.formats.moment(snapshot.now)))
    contexts["now"] = now
    label_voice = voices.main()
    shape = int(voices.rng.random() * _TEXT_LIMIT)
    pending = tuple(_pending(item, voices, label_voice, shape, contexts) for item in snapshot.pending)
    texts = LAYOUTS[voices.look.layout](Sheet(voices.main(), now, tuple(sections), pending))
    return Paragraphs(texts, contexts)


def _pending(item: Pending, voices: _Voices, labels: Phraser, shape: int, contexts: dict[str, str]) -> PendingText:
    voice = voices.next()
    sentence = one_full_stop(pending_sentence(voice, item.body))
    label_voice = dataclasses.replace(labels, rng=random.Random(shape), wording="seen")
    text = label_voice.say("frame", "label", label=item.label, text=sentence)
    options = pending_options(voice, item.body)
    contexts[item.line_id] = "\n".join([text, *options])
    return PendingText(text, options)


def _anchors(draft: DraftRecord, contexts: dict[str, str], formats: Formats) -> tuple[RenderedAnchor, ...]:
    found: list[RenderedAnchor] = []
    for fragment in draft.fragments:
        for anchor in fragment.required:
            phrases = contexts.get(anchor.line_id, "").split("\n")
            spelled = find_spelling(anchor, formats, [*phrases, "\n".join(phrases)])
            text, context = (anchor.text, None) if spelled is None else spelled
            found.append(RenderedAnchor(fragment.qid, anchor, text, context))
    return tuple(found)
