"""How sentences stand on the page: headings, bullets, speakers, letters. One function a layout, paragraphs out."""

from __future__ import annotations

from collections.abc import Callable

from forthwith.personal.render.sheet import PendingText, Sheet

__all__ = ["LAYOUTS"]


def _gap(sheet: Sheet) -> str:
    return "" if sheet.voice.language == "zh" else " "


def _frame(sheet: Sheet, section: str) -> str:
    return sheet.voice.say("frame", section)


def _with_options(item: PendingText, mark: str) -> str:
    return "\n".join([item.text, *(f"{mark}{option}" for option in item.options)])


def _chunks(sentences: tuple[str, ...], sheet: Sheet, most: int) -> list[list[str]]:
    """Sentences in runs of one to `most`."""
    runs: list[list[str]] = []
    at = 0
    while at < len(sentences):
        size = 1 + int(sheet.voice.rng.random() * most)
        runs.append(list(sentences[at : at + size]))
        at += size
    return runs


def bullets(sheet: Sheet) -> list[str]:
    """Headings with bullets under them."""
    mark, rule = sheet.voice.rng.choice((("- ", "## {}"), ("* ", "{}:"), ("• ", "{}"), ("- ", "== {} ==")))
    paragraphs = [f"{_frame(sheet, 'brief_title')}\n{sheet.now}"]
    for section in sheet.sections:
        head = rule.format(_frame(sheet, f"heading.{section.name}"))
        paragraphs.append("\n".join([head, *(mark + sentence for sentence in section.sentences)]))
    paragraphs.append(rule.format(_frame(sheet, "heading.pending")))
    paragraphs += [_with_options(item, mark) for item in sheet.pending]
    return paragraphs


def chat(sheet: Sheet) -> list[str]:
    """Two speakers; the second only acknowledges."""
    chinese = sheet.voice.language == "zh"
    names = (
        (("我", "助手"), ("用户", "AI"))
        if chinese
        else (("Me", "Assistant"), ("User", "Bot"), ("me", "agent"), ("U", "A"))
    )
    user, other = sheet.voice.rng.choice(names)
    colon = "\uff1a" if chinese else ": "
    paragraphs = [f"{user}{colon}{_frame(sheet, 'chat_open')}\n{user}{colon}{sheet.now}"]
    for section in sheet.sections:
        for run in _chunks(section.sentences, sheet, 3):
            turn = "\n".join(f"{user}{colon}{sentence}" for sentence in run)
            paragraphs.append(f"{turn}\n{other}{colon}{_frame(sheet, 'chat_ack')}")
    paragraphs += [f"{user}{colon}{_with_options(item, '  - ')}" for item in sheet.pending]
    paragraphs.append(f"{user}{colon}{_frame(sheet, 'chat_close')}")
    return paragraphs


def email(sheet: Sheet) -> list[str]:
    """Several mails of one thread, some of them quoted."""
    paragraphs: list[str] = []
    for index, section in enumerate(sheet.sections):
        if index % 2 == 0:
            paragraphs.append(f"Subject: {_frame(sheet, 'mail_subject')}\n\n{_frame(sheet, 'mail_open')}")
            if index == 0:
                paragraphs.append(sheet.now)
        quote = "> " if sheet.voice.rng.random() < 0.25 else ""
        runs = _chunks(section.sentences, sheet, 4)
        paragraphs += ["\n".join(quote + sentence for sentence in run) for run in runs]
        if index % 2 == 1:
            paragraphs.append(_frame(sheet, "mail_close"))
    if not sheet.sections:
        paragraphs.append(sheet.now)
    paragraphs.append(f"Subject: {_frame(sheet, 'mail_subject')}")
    paragraphs += [_with_options(item, "   * ") for item in sheet.pending]
    paragraphs.append(_frame(sheet, "mail_close"))
    return paragraphs


def terse(sheet: Sheet) -> list[str]:
    """One short tag a line, no headings."""
    bracket = sheet.voice.rng.choice(("[{}] ", "{}> ", "#{} ", "({}) "))
    tags = {"preference_updates": "taste", "forget_requests": "forget"}
    paragraphs = [sheet.now]
    for section in sheet.sections:
        tag = bracket.format(tags.get(section.name, section.name))
        paragraphs.append("\n".join(tag + sentence for sentence in section.sentences))
    paragraphs += [_with_options(item, "   ") for item in sheet.pending]
    return paragraphs


def dump(sheet: Sheet) -> list[str]:
    """A dump of context windows: a different notation for every block."""
    paragraphs = [f"<context>\n{sheet.now}"]
    for section in sheet.sections:
        name = section.name
        shape = int(sheet.voice.rng.random() * 4)
        if shape == 0:
            lines = [f"<{name}>", *section.sentences, f"</{name}>"]
        elif shape == 1:
            lines = [f"### {_frame(sheet, f'heading.{name}')}", *(f"- {sentence}" for sentence in section.sentences)]
        elif shape == 2:
            lines = [f"{name}:", *(f"    {sentence}" for sentence in section.sentences)]
        else:
            lines = [" ".join(section.sentences)]
        paragraphs.append("\n".join(lines))
    paragraphs += [_with_options(item, "    - ") for item in sheet.pending]
    paragraphs.append("</context>")
    return paragraphs


def prose(sheet: Sheet, opening: str, between: str, closing: str | None) -> list[str]:
    """Running text with transitions."""
    gap = _gap(sheet)
    paragraphs = [f"{_frame(sheet, opening)}{gap}{sheet.now}"]
    for section in sheet.sections:
        for run in _chunks(section.sentences, sheet, 5):
            lead = [_frame(sheet, between)] if sheet.voice.rng.random() < 0.6 else []
            paragraphs.append(gap.join([*lead, *run]))
    paragraphs += [_with_options(item, "– ") for item in sheet.pending]
    if closing is not None:
        paragraphs.append(_frame(sheet, closing))
    return paragraphs


def diary(sheet: Sheet) -> list[str]:
    """A page of a journal."""
    return prose(sheet, "diary_open", "transition", None)


def memo(sheet: Sheet) -> list[str]:
    """Spoken words, written down with their fillers."""
    return prose(sheet, "memo_open", "filler", "chat_close")


def letter(sheet: Sheet) -> list[str]:
    """From one assistant to the next."""
    return prose(sheet, "letter_open", "transition", "letter_close")


def messages(sheet: Sheet) -> list[str]:
    """Short messages, one sentence each."""
    mark = sheet.voice.rng.choice(("> ", "me> ", "→ ", ""))
    paragraphs = [mark + sheet.now]
    for section in sheet.sections:
        runs = _chunks(section.sentences, sheet, 2)
        paragraphs += ["\n".join(mark + sentence for sentence in run) for run in runs]
    paragraphs += [mark + _with_options(item, "  ~ ") for item in sheet.pending]
    return paragraphs


def call(sheet: Sheet) -> list[str]:
    """A telephone call, typed up."""
    agent, client = sheet.voice.rng.choice((("AGENT", "CLIENT"), ("Desk", "Caller"), ("Operator", "Customer")))
    paragraphs = [f"{agent}: {_frame(sheet, 'call_open')}\n{client}: {sheet.now}"]
    for section in sheet.sections:
        runs = _chunks(section.sentences, sheet, 3)
        paragraphs += [f"{client}: {' '.join(run)}\n{agent}: {_frame(sheet, 'call_agent')}" for run in runs]
    paragraphs += [f"{client}: {_with_options(item, '   - ')}" for item in sheet.pending]
    return paragraphs


def sheet_of_questions(sheet: Sheet) -> list[str]:
    """Questions and answers about the user."""
    asks, answers = sheet.voice.rng.choice((("Q: ", "A: "), ("? ", "! "), ("Question – ", "Answer – ")))
    paragraphs = [sheet.now]
    for section in sheet.sections:
        head = asks + _frame(sheet, f"sheet_question.{section.name}")
        paragraphs += ["\n".join([head, *(answers + sentence for sentence in section.sentences)])]
    paragraphs.append(asks + _frame(sheet, "sheet_question.pending"))
    paragraphs += [_with_options(item, "   - ") for item in sheet.pending]
    return paragraphs


def board(sheet: Sheet) -> list[str]:
    """Sticky notes on a board, in no order."""
    notes = [f"{_frame(sheet, f'heading.{s.name}')} // {sentence}" for s in sheet.sections for sentence in s.sentences]
    edge = sheet.voice.rng.choice(("* ", "[ ] ", "~ ", "+ "))
    paragraphs = [edge + sheet.now]
    paragraphs += ["\n".join(edge + note for note in run) for run in _chunks(tuple(notes), sheet, 3)]
    paragraphs += [edge + _with_options(item, "    . ") for item in sheet.pending]
    return paragraphs


LAYOUTS: dict[str, Callable[[Sheet], list[str]]] = {
    "bullets": bullets,
    "notes": bullets,
    "chat": chat,
    "email": email,
    "terse": terse,
    "dump": dump,
    "diary": diary,
    "memo": memo,
    "letter": letter,
    "messages": messages,
    "call": call,
    "sheet": sheet_of_questions,
    "board": board,
}
"""The layouts of unstructured styles."""
