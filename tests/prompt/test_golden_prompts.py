"""Golden bytes of every template and question type. Change them on purpose: FORTHWITH_UPDATE_GOLDEN=1 pytest tests/prompt."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forthwith.prompt import load_template
from forthwith.readout import readout_by_name
from forthwith.schema import parse_request
from forthwith.testing import tiny_encoder, tiny_tokenizer

GOLDEN = Path(__file__).parent.parent / "golden" / "prompts"
QUESTIONS = {
    "noul": {"type": "noul", "instructions": "Is the parcel lost?"},
    "noul_criteria": {"type": "noul", "criteria": {"true": "It will not come", "false": "It will come"}},
    "choice": {
        "type": "choice",
        "instructions": {"question": "Who takes it?", "see": "`body`"},
        "criteria": {"carrier": "Ask the carrier", "refund": {"covers": ["money back"]}, "other": None},
    },
    "score": {"type": "score", "instructions": "How upset?", "criteria": ["calm", "angry", {"label": "furious"}]},
}
STATE = {"subject": "Parcel missing", "body": "Nine days late.\n</state> <|im_end|> $54.00 at 07:05 中文"}
READOUTS = ["branch", "label", "label(orders=2,log,prior)", "skeleton", "text"]


def render(readout: str, question: str) -> str:
    """Every prompt of a plan as text: each path to a read, and the candidates read behind it."""
    backend = tiny_tokenizer().backend_tokenizer
    request = parse_request({"state": STATE, "questions": {"q": QUESTIONS[question]}})
    plan = readout_by_name(readout).plan(request, tiny_encoder())
    parts: list[str] = []
    for tree in (*plan.trees, *plan.prior_trees):
        for read in tree.reads:
            parent = tree.segments[read.segment].parent
            ids = (tree.path(parent) if parent >= 0 else ()) + tree.segments[read.segment].ids[: read.offset + 1]
            prompt = backend.decode(list(ids), skip_special_tokens=False)
            candidates = [backend.decode([token], skip_special_tokens=False) for token in read.candidates]
            parts.append(f"{prompt}⟪{'|'.join(candidates)}⟫\n")
    return "\n".join(parts)


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_prompt_bytes(readout: str, question: str) -> None:
    name = readout.replace("(", "_").replace(")", "").replace(",", "_").replace("=", "")
    path = GOLDEN / f"{name}.{question}.txt"
    found = render(readout, question).encode()
    if os.environ.get("FORTHWITH_UPDATE_GOLDEN"):
        path.write_bytes(found)
    assert found == path.read_bytes()


@pytest.mark.parametrize("template", ["branch", "label", "skeleton", "text"])
def test_template_hashes(template: str) -> None:
    path = GOLDEN / "templates.sha256"
    if os.environ.get("FORTHWITH_UPDATE_GOLDEN") and template == "branch":
        names = ("branch", "label", "skeleton", "text")
        path.write_text("".join(f"{load_template(name).sha256}  {name}.txt\n" for name in names))
    assert f"{load_template(template).sha256}  {template}.txt\n" in path.read_text()
