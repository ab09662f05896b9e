"""Enron e-mail corpus (parquet mirror): bodies as distractor text, without senders, recipients and contact data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import polars as pl

from forthwith.errors import DataError
from forthwith.personal.privacy import scrub_contacts
from forthwith.personal.tables import SCHEMAS

__all__ = ["EnronRules", "load_enron"]

_SOURCE = "enron"
_COLUMNS = ("message_id", "subject", "date", "body")


@dataclass(frozen=True)
class EnronRules:
    """How many mails are drawn and how long they may be; defaults are the benchmark's."""

    seed: int = 20260930
    emails: int = 20_000
    min_body_chars: int = 80
    max_subject_chars: int = 300
    max_body_chars: int = 4_000


def load_enron(paths: tuple[Path, ...], rules: EnronRules | None = None) -> tuple[pl.DataFrame, dict[str, int]]:
    """The drawn mails (the table `emails`, in drawing order) and counts of what was left out.

    Two passes: ranks of all usable mails first, then the text of those drawn. The rank is
    `sha256("<seed>:<message_id>")`; of mails with the same body the first read counts. A mail
    without a readable date is not usable.

    Raises:
        DataError: a file is missing, is no parquet file, lacks a column, or holds no usable mail.
    """
    rules = rules or EnronRules()
    seen: set[bytes] = set()
    ranked: list[tuple[str, int]] = []
    read = 0
    for number, (message_id, date, body) in enumerate(_columns(paths, ("message_id", "date", "body"))):
        read += 1
        digest = hashlib.sha256(body.encode()).digest()
        if len(body) >= rules.min_body_chars and message_id and digest not in seen and parse_date(date):
            seen.add(digest)
            ranked.append((hashlib.sha256(f"{rules.seed}:{message_id}".encode()).hexdigest(), number))
    if not ranked:
        raise DataError(f"no mail has a body of {rules.min_body_chars} characters or more", paths[0])
    places = {number: place for place, (_, number) in enumerate(sorted(ranked)[: rules.emails])}
    rows: list[dict[str, Any]] = [{} for _ in places]
    for number, values in enumerate(_columns(paths, _COLUMNS)):
        if number in places:
            rows[places[number]] = _email(values, rules)
    return pl.DataFrame(rows, schema=SCHEMAS["emails"]), {
        "emails_read": read,
        "distinct_usable": len(ranked),
        "emails": len(rows),
    }


def _columns(paths: tuple[Path, ...], names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for path in paths:
        try:
            table = pl.read_parquet(path, columns=list(names))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise DataError(
                f"cannot be read as Parquet with the columns {', '.join(names)}: {error}; fetch the file again", path
            ) from error
        for row in table.select(names).iter_rows():
            yield tuple(_text(value) for value in row)


def _text(value: object) -> str:
    if value is None:
        return ""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _email(values: tuple[str, ...], rules: EnronRules) -> dict[str, Any]:
    message_id, subject, date, body = values
    return {
        "email_id": "enron-" + hashlib.sha256(message_id.encode()).hexdigest()[:16],
        "date": parse_date(date),
        "subject": scrub_contacts(subject)[: rules.max_subject_chars],
        "body": scrub_contacts(body)[: rules.max_body_chars],
        "source": _SOURCE,
    }


def parse_date(text: str) -> datetime | None:
    """A mail's date in UTC: ISO or RFC 2822, a text without a zone read as UTC; None where it is neither."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = parse(text)
        except (ValueError, TypeError, IndexError):
            continue
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return None
