"""Records: a request with its gold targets and what is known about it; and the one reader of their JSONL dialects.

Three layouts are recognised, by their fields alone:

- **ours**: `{id, task?, state, questions, targets?, meta?}`, the label in `targets[qid].label`, shares in `.distribution`;
- **Pev's**: `{id, state, questions, meta}`, the label inside the question (`label`, `soft_label`, `src`);
- **Kev's**: `{state, questions, _meta}`, the label inside the question (`label`, `target`, `src`).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from pydantic import Field

from forthwith.errors import DataError, RequestError
from forthwith.schema.frozen import Frozen
from forthwith.schema.hashes import state_sha256
from forthwith.schema.json_text import parse_json
from forthwith.schema.questions import Choice, Noul, Question, Request, Score, option_keys, parse_request

__all__ = [
    "AMBIGUITY_TOLERANCE",
    "BadLine",
    "Record",
    "Target",
    "iter_records",
    "parse_record",
    "read_records",
    "records_from_stream",
]

AMBIGUITY_TOLERANCE = 1e-9
"""Two shares this close are a tie."""

_LABEL_FIELDS = ("label", "soft_label", "target", "src")
_YES, _NO = {"true", "yes", "1"}, {"false", "no", "0"}


class Target(Frozen):
    """What is right: the key of the right option, the shares of several people's answers, or both.

    `label` is an option key as `option_keys` writes it; `distribution` maps option keys to shares that sum to 1.
    """

    label: str | None = None
    distribution: dict[str, float] | None = None

    def vector(self, keys: tuple[str, ...]) -> tuple[float, ...]:
        """Gold distribution over `keys`: the shares where there are any, else one-hot at the label."""
        if self.distribution is not None:
            return tuple(self.distribution.get(key, 0.0) for key in keys)
        return tuple(1.0 if key == self.label else 0.0 for key in keys)

    def is_ambiguous(self) -> bool:
        """Whether two options tie for the largest share; such a question has no right answer to count."""
        if self.distribution is None:
            return False
        shares = sorted(self.distribution.values(), reverse=True)
        return len(shares) > 1 and shares[0] - shares[1] <= AMBIGUITY_TOLERANCE

    def best_key(self) -> str:
        """The key that counts as right: the label where given, else the option with the largest share."""
        if self.label is not None:
            return self.label
        distribution = self.distribution or {}
        return max(distribution, key=lambda key: distribution[key])


class Record(Frozen):
    """One request, its targets by question id (none at inference), and metadata."""

    id: str
    state: Any
    questions: dict[str, Question]
    targets: dict[str, Target] = Field(default_factory=dict)
    families: dict[str, str] = Field(default_factory=dict)
    meta: dict[str, Any] = Field(default_factory=dict)

    @property
    def request(self) -> Request:
        """The request, without the answers."""
        return Request(state=self.state, questions=self.questions)

    @property
    def cluster_id(self) -> str:
        """Records that share a state share this, named by the data or equal as text; resampling keeps them together."""
        return str(self.meta.get("state_id") or self.meta.get("group_id") or f"state:{state_sha256(self.state)[:16]}")

    @property
    def user_id(self) -> str | None:
        """Whose state it is, where the data say."""
        user = self.meta.get("user_id")
        return None if user is None else str(user)

    def known_families(self) -> dict[str, str]:
        """Families by question id, of those questions whose family the data name."""
        task = self.meta.get("task")
        named = {qid: self.families.get(qid) or task for qid in self.questions}
        return {qid: str(family) for qid, family in named.items() if family}

    def family(self, qid: str) -> str:
        """The kind of question that `qid` is: the family given, else the record's task, else the question id."""
        return self.known_families().get(qid, qid)


class BadLine(NamedTuple):
    """A line that holds no usable record, and why."""

    path: Path
    line: int
    error: DataError


def parse_record(payload: object, fallback_id: str = "record") -> Record:
    """A record from the members of one JSON object, in any of the three layouts; a question may also be a question object.

    Raises:
        RequestError: names the field at fault.
    """
    members = _mapping(payload)
    if members is None:
        raise RequestError(f"a record must be an object with state and questions, found {type(payload).__name__}")
    return _record(members, fallback_id)


def _record(payload: Mapping[str, Any], fallback_id: str) -> Record:
    given_questions = _mapping(payload.get("questions")) or {}
    questions: dict[str, Any] = {
        qid: question.model_dump() if isinstance(question, Noul | Choice | Score) else question
        for qid, question in given_questions.items()
    }
    bare = {qid: _without_labels(question) for qid, question in questions.items()}
    asked = {name: payload[name] for name in ("state", "questions") if name in payload}
    request = parse_request({**asked, "questions": bare} if questions else asked)
    meta = {**_object(payload, "meta"), **_object(payload, "_meta")}
    if "task" in payload:
        meta.setdefault("task", payload["task"])
    given = _object(payload, "targets")
    if strays := sorted(set(given) - set(request.questions)):
        raise RequestError(f"targets: {strays[0]!r} is not the id of a question; ids are {sorted(request.questions)}")
    targets = {
        qid: target
        for qid, question in request.questions.items()
        if (target := _target(f"targets.{qid}", given.get(qid) or questions[qid], question)) is not None
    }
    named = _mapping(meta.pop("families", None)) or {}
    families = {qid: str(named[qid]) for qid in request.questions if qid in named}
    for qid in request.questions:
        source = questions[qid].get("src")
        if qid not in families and isinstance(source, str):
            families[qid] = source.split("/", 1)[-1]
    return Record(
        id=str(payload.get("id") or meta.get("id") or fallback_id),
        state=request.state,
        questions=request.questions,
        targets=targets,
        families=families,
        meta=meta,
    )


def iter_records(path: str | Path) -> Iterator[Record | BadLine]:
    """The records of a JSONL (or gzipped JSONL, or Parquet) file, streamed; a bad line comes as a `BadLine`.

    A Parquet row holds the same members; `questions`, `targets`, `meta` and non-text states as JSON text.

    Raises:
        DataError: the file cannot be read at all.
    """
    path = Path(path)
    if path.suffix == ".parquet":
        yield from _iter_parquet(path)
        return
    try:
        with _open(path) as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _read_line(path, number, line)
    except (OSError, EOFError) as error:
        raise DataError(f"cannot be read: {error}", path) from error


def records_from_stream(stream: IO[bytes], path: Path) -> Iterator[Record | BadLine]:
    """The records of an open stream: JSON lines, or one JSON object over several lines; `path` names it in errors."""
    numbered = ((number, line) for number, line in enumerate(stream, start=1) if line.strip())
    first = next(numbered, None)
    if first is None:
        raise DataError("is empty; it needs a request or records, one JSON object a line", path)
    opening = _read_line(path, *first)
    if isinstance(opening, BadLine) and not _is_json(first[1]):
        rest = list(numbered)
        whole = b"".join(line for _, line in [first, *rest])
        if _is_json(whole):
            yield _read_line(path, first[0], whole)
            return
        numbered = iter(rest)
    yield opening
    for number, line in numbered:
        yield _read_line(path, number, line)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def read_records(path: str | Path) -> Iterator[Record]:
    """The records of a file, streamed; the first bad line and the first repeated id end it.

    Raises:
        DataError: with path and line.
    """
    seen: set[str] = set()
    for item in iter_records(path):
        if isinstance(item, BadLine):
            raise item.error
        if item.id in seen:
            raise DataError(
                f"the record id {item.id!r} appears twice, the second time as record {len(seen) + 1} of the file; ids must be unique",
                path,
            )
        seen.add(item.id)
        yield item


def _open(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _read_line(path: Path, number: int, line: bytes) -> Record | BadLine:
    try:
        return parse_record(parse_json(line), fallback_id=f"line-{number}")
    except RequestError as error:
        problem = DataError(str(error), path, number)
        problem.__cause__ = error
        return BadLine(path, number, problem)


def _iter_parquet(path: Path) -> Iterator[Record | BadLine]:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise DataError("reading Parquet needs pyarrow; install forthwith[bench]", path) from error
    try:
        file: Any = pq.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read as Parquet: {error}", path) from error
    number = 0
    for batch in file.iter_batches(batch_size=256):
        for row in batch.to_pylist():
            number += 1
            yield _read_row(path, number, row)


def _read_row(path: Path, number: int, row: dict[str, Any]) -> Record | BadLine:
    try:
        payload: dict[str, Any] = {name: value for name, value in row.items() if value is not None}
        for name in ("questions", "targets", "meta", "_meta"):
            if isinstance(payload.get(name), str):
                payload[name] = parse_json(payload[name])
        if payload.pop("state_is_json", False):
            payload["state"] = parse_json(payload["state"])
        return parse_record(payload, fallback_id=f"row-{number}")
    except RequestError as error:
        return BadLine(path, number, DataError(str(error), path, number))


def _mapping(value: object) -> Mapping[Any, Any] | None:
    """A value from outside as a mapping, if it is one."""
    return cast("Mapping[Any, Any]", value) if isinstance(value, Mapping) else None


def _object(payload: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = _mapping(payload.get(name) or {})
    if value is None:
        raise RequestError(f"{name}: must be an object, found {payload[name]!r:.60}")
    return dict(value)


def _without_labels(question: object) -> object:
    asked = _mapping(question)
    if asked is None:
        return question
    bare: dict[str, Any] = {name: value for name, value in asked.items() if name not in _LABEL_FIELDS}
    sides = _mapping(bare.get("criteria"))
    if bare.get("type") == "noul" and sides is not None:
        named = {_noul_key(str(side), "criteria"): text for side, text in sides.items()}
        if len(named) < len(sides):
            raise RequestError(
                f"criteria: {', '.join(map(str, sides))} name one side twice; use true and false, each once"
            )
        bare["criteria"] = named
    return bare


def _target(where: str, given: object, question: Noul | Choice | Score) -> Target | None:
    told = _mapping(given)
    if told is None:
        raise RequestError(f"{where}: must be an object with label or distribution, found {given!r:.60}")
    label = told.get("label")
    shares = told.get("distribution", told.get("soft_label", told.get("target")))
    if label is None and shares is None:
        return None
    keys = option_keys(question)
    key = None if label is None else _label_key(where, label, question, keys)
    distribution = None if shares is None else _distribution(where, shares, question, keys)
    if key is None and distribution is not None:
        key = max(distribution, key=lambda option: distribution[option])
    return Target(label=key, distribution=distribution)


def _label_key(where: str, label: object, question: Noul | Choice | Score, keys: tuple[str, ...]) -> str:
    if isinstance(question, Noul):
        return _noul_key(str(label).lower() if isinstance(label, bool | int) else str(label), f"{where}.label")
    key = str(label)
    if key not in keys or isinstance(label, bool):
        raise RequestError(f"{where}.label: {label!r} is not an option; options are {', '.join(map(repr, keys[:8]))}")
    return key


def _distribution(
    where: str, shares: object, question: Noul | Choice | Score, keys: tuple[str, ...]
) -> dict[str, float]:
    told = _mapping(shares)
    if not told:
        raise RequestError(f"{where}: a distribution must be an object from option to share, found {shares!r:.60}")
    values: dict[str, float] = {}
    for name, share in told.items():
        key = _label_key(where, name, question, keys)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < float("inf"):
            raise RequestError(f"{where}: the share of {name!r} is {share!r}; shares are numbers from 0")
        values[key] = values.get(key, 0.0) + float(share)
    total = sum(values.values())
    if total <= 0:
        raise RequestError(f"{where}: the shares sum to 0; at least one must be positive")
    return {key: value / total for key, value in values.items()}


def _noul_key(text: str, where: str) -> str:
    lowered = text.strip().lower()
    if lowered in _YES:
        return "true"
    if lowered in _NO:
        return "false"
    raise RequestError(f"{where}: {text!r} is neither yes nor no; use true/false or yes/no")
