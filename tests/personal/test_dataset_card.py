"""The card says what the receipts say."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from forthwith.personal.dataset_card import card_text, write_card
from forthwith.personal.privacy import KINDS
from forthwith.personal.release import ReleaseReceipt

RECEIPT = ReleaseReceipt(
    source="dev.jsonl", released="dev.jsonl", source_sha256="a" * 64, released_sha256="b" * 64, records_in=12,
    records_out=11, dropped_foreign=0, removed=1, users=7, questions=30,
    replaced=dict.fromkeys(KINDS, 0) | {"name": 5, "email": 2, "url": 1}, residual=dict.fromkeys(KINDS, 0),
    synthetic=11, key_fingerprint="f" * 16, published_key=None,
)  # fmt: skip


def test_a_synthetic_release_with_a_private_key(tmp_path: Path):
    text = write_card(tmp_path / "README.md", "demo", [RECEIPT]).read_text()
    assert "| dev.jsonl | 11 | 7 | 30 | 5 | 3 | 0 | `bbbbbbbbbbbbbbbb` |" in text
    assert "**Synthetic:**" in text
    assert "not published" in text


def test_a_published_key_and_real_records_are_said():
    text = card_text("demo", [dataclasses.replace(RECEIPT, synthetic=0, published_key="00")])
    assert "0 of 11 records are synthetic" in text
    assert "the key is published" in text
