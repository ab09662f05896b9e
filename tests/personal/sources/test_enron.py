"""Enron mail in the parquet mirror's columns, by hand; the public sample where it is."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from forthwith.errors import DataError
from forthwith.personal.privacy import find_private
from forthwith.personal.sources.enron import EnronRules, load_enron, parse_date

LONG = "The pipeline meeting moved to the third floor; bring the printed figures and the revised contract, please. "


def _write(path: Path, bodies: list[str | None]) -> Path:
    pl.DataFrame(
        {
            "message_id": [f"<{path.stem}.{number}@mail>" for number in range(len(bodies))],
            "subject": ["Re: floor"] * len(bodies),
            "from": ["someone@enron.com"] * len(bodies),
            "to": [["other@enron.com"]] * len(bodies),
            "date": [datetime(2001, 5, 14, 16, 39)] * len(bodies),
            "body": bodies,
            "file_name": ["x"] * len(bodies),
        },
        schema_overrides={"body": pl.String},
    ).write_parquet(path)
    return path


def test_short_and_repeated_bodies_go_and_contact_data_is_masked(tmp_path: Path):
    body = LONG + "Write to jo.bloggs@enron.com or Jo Bloggs/HOU/ECT@ECT, call (713) 853-1234, see www.enron.com/plan."
    first = _write(tmp_path / "a.parquet", [body, "too short", None])
    second = _write(tmp_path / "b.parquet", [body, LONG + "2"])
    emails, counts = load_enron((first, second))
    assert counts == {"emails_read": 5, "distinct_usable": 2, "emails": 2}
    masked = next(text for text in emails["body"] if "Write to" in text)
    assert masked.endswith("Write to [EMAIL] or [EMAIL], call [PHONE], see [URL].")
    assert emails["date"][0] == datetime(2001, 5, 14, 16, 39, tzinfo=UTC)
    assert set(emails.columns) == {"email_id", "date", "subject", "body", "source"}


def test_the_draw_is_the_same_for_any_order_of_files_and_smaller_draws_are_prefixes(tmp_path: Path):
    paths = (
        _write(tmp_path / "a.parquet", [LONG + str(number) for number in range(20)]),
        _write(tmp_path / "b.parquet", [LONG + str(number) for number in range(20, 40)]),
    )
    whole, _ = load_enron(paths)
    ten, _ = load_enron(paths[::-1], EnronRules(emails=10))
    assert ten["email_id"].to_list() == whole["email_id"].to_list()[:10]
    other, _ = load_enron(paths, EnronRules(seed=1))
    assert other["email_id"].to_list() != whole["email_id"].to_list()


def test_long_texts_are_clipped(tmp_path: Path):
    emails, _ = load_enron((_write(tmp_path / "a.parquet", [LONG * 100]),))
    assert len(emails["body"][0]) == 4000


def test_broken_files_missing_columns_and_empty_draws_are_named(tmp_path: Path):
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 not really")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        load_enron((broken,))
    pl.DataFrame({"message_id": ["x"]}).write_parquet(broken)
    with pytest.raises(DataError, match="columns message_id, date, body"):
        load_enron((broken,))
    with pytest.raises(DataError, match="80 characters"):
        load_enron((_write(tmp_path / "short.parquet", ["short"]),))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2001-05-14T16:39:00+02:00", datetime(2001, 5, 14, 14, 39, tzinfo=UTC)),
        ("2001-05-14 16:39:00", datetime(2001, 5, 14, 16, 39, tzinfo=UTC)),
        ("Mon, 14 May 2001 16:39:00 -0700 (PDT)", datetime(2001, 5, 14, 23, 39, tzinfo=UTC)),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_are_read_in_utc(text: str, moment: datetime | None):
    assert parse_date(text) == moment


@pytest.mark.public_data
def test_the_public_sample_goes_through_the_loader(tmp_path: Path):
    folder = Path(os.environ["FORTHWITH_PUBLIC_DATA"]) / "sources" / "enron"
    rows = [json.loads(line) for line in (folder / "emails.jsonl").read_text(encoding="utf-8").splitlines()]
    path = tmp_path / "sample.parquet"
    pl.DataFrame(
        {"message_id": [row["id"] for row in rows], "subject": [row["subject"] for row in rows],
         "date": ["2001-01-01"] * len(rows), "body": [row["body"] for row in rows]}
    ).write_parquet(path)  # fmt: skip
    emails, counts = load_enron((path,))
    assert counts["emails_read"] == 518
    assert 300 < emails.height <= 518
    kinds = {hit.kind for body in emails["body"] for hit in find_private(body)}
    assert not kinds & {"email", "phone", "url"}
