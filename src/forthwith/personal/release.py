"""A file of records made fit to hand out: keyed pseudonyms, placeholders, removals, checks, a card and a receipt.

Per record and deterministically for one key: the user id becomes a keyed hash; detected names become keyed made-up
names of the same shape; other contact data become placeholders. Strings that occur in an option are never touched, so
options, labels and soft labels stay byte for byte; the anchors are checked again and a failure stops the release.
By default each release has its own key, which is not published. This is pseudonymisation, not anonymisation.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from forthwith.errors import ArtifactError, ConfigError, DataError
from forthwith.personal.anchor_text import absent, present
from forthwith.personal.privacy import KINDS, PLACEHOLDERS, Protected
from forthwith.personal.privacy_names import FIRST_NAMES, NOT_A_SURNAME
from forthwith.personal.privacy_scan import forbidden_anchors, iter_json_objects, required_anchors
from forthwith.personal.pseudonyms import ReleaseKey, name_parts, pseudonym
from forthwith.personal.record_text import private_hits, protected_in, replace_texts

__all__ = ["ReleaseOptions", "ReleaseReceipt", "read_receipts", "read_removals", "release_file", "release_record"]


@dataclass(frozen=True)
class ReleaseOptions:
    """What a release may do.

    Attributes:
        protected: names that are no private data (catalogue names, fictional contacts).
        removals: record ids, user ids or released user ids that must not be in the release; each must be in the source.
        keep_foreign: keep records without `meta`, untouched, instead of dropping them.
        publish_key: write the key into the receipt; the pseudonyms are then reversible by anyone.
    """

    protected: Protected = field(default_factory=Protected)
    removals: frozenset[str] = frozenset()
    keep_foreign: bool = False
    publish_key: bool = False


@dataclass(frozen=True)
class ReleaseReceipt:
    """What a release did: hashes and counts, no contents.

    `residual` counts detections that are left (not the pseudonyms themselves); `protected_hits` those kept because
    they stand in an option or are protected names.
    """

    source: str
    released: str
    source_sha256: str
    released_sha256: str
    records_in: int
    records_out: int
    dropped_foreign: int
    removed: int
    users: int
    questions: int
    replaced: dict[str, int]
    residual: dict[str, int]
    synthetic: int
    key_fingerprint: str
    published_key: str | None


def release_file(
    records: str | Path, out: str | Path, key: ReleaseKey, options: ReleaseOptions | None = None
) -> ReleaseReceipt:
    """Write the released records to `out`, with `<out>.receipt.json` beside it.

    Raises:
        DataError: a line is not a record (path and line), an id to be removed is not there, or `out` cannot be written; nothing
            is written then.
        ArtifactError: a required anchor would be lost or a forbidden one appear; nothing is written then.
        ConfigError: `out` is the source file.
    """
    records, out, options = Path(records), Path(out), options or ReleaseOptions()
    if records.resolve() == out.resolve():
        raise ConfigError("the release would overwrite its source; give another output file", "out")
    counts: Counter[str] = Counter()
    replaced: Counter[str] = Counter()
    residual: Counter[str] = Counter()
    users: set[str] = set()
    unmatched = set(options.removals)
    temporary = out.with_name(out.name + ".partial")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as sink:
            for line, record in iter_json_objects(records):
                counts["in"] += 1
                unmatched -= _ids_of(record, key)
                released = _admitted(record, key, options, counts, replaced, residual, f"{records}:{line}")
                if released is not None:
                    users.add(str(dict(released.get("meta") or {}).get("user_id")))
                    counts["questions"] += len(released["questions"])
                    sink.write(json.dumps(released, ensure_ascii=False) + "\n")
        _check_all_found(unmatched, records)
        temporary.replace(out)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise DataError(f"cannot be written: {error}", out) from error
    except (ArtifactError, DataError):
        temporary.unlink(missing_ok=True)
        raise
    receipt = ReleaseReceipt(
        source=records.name,
        released=out.name,
        source_sha256=_sha256(records),
        released_sha256=_sha256(out),
        records_in=counts["in"],
        records_out=counts["out"],
        dropped_foreign=counts["foreign"],
        removed=counts["removed"],
        users=len(users - {"None"}),
        questions=counts["questions"],
        replaced={name: replaced[name] for name in KINDS},
        residual={name: residual[name] for name in KINDS},
        synthetic=counts["synthetic"],
        key_fingerprint=key.fingerprint,
        published_key=key.secret.hex() if options.publish_key else None,
    )
    out.with_name(out.name + ".receipt.json").write_text(json.dumps(asdict(receipt), indent=2) + "\n", encoding="utf-8")
    return receipt


def release_record(
    record: Mapping[str, Any], key: ReleaseKey, protected: Protected | None = None
) -> tuple[dict[str, Any], Counter[str], Counter[str]]:
    """The released record, replacements by kind, and detections that are left by kind.

    Raises:
        ArtifactError: a required anchor would be lost or a forbidden one appear.
    """
    protected = protected or Protected()
    hits = private_hits(record, protected)
    replacements = _replacements(record, [hit.text for hit in hits if hit.kind == "name"], key, protected)
    stand_ins = set(replacements.values())
    replacements |= {hit.text: PLACEHOLDERS[hit.kind] for hit in hits if hit.kind != "name"}
    released = replace_texts(record, replacements)
    meta = dict(cast("Mapping[str, Any]", record["meta"]))
    _check_anchors(record, released)
    replaced = Counter(str(hit.kind) for hit in hits)
    released["meta"] = {**released["meta"], "release": {"anonymized": True, "replacements": sum(replaced.values())}}
    if meta.get("user_id") is not None:
        released["meta"]["user_id"] = key.user_id(str(meta["user_id"]))
    made_up = Protected(protected.phrases | {" ".join(name.lower().split()) for name in stand_ins})
    residual = Counter(str(hit.kind) for hit in private_hits(released, made_up))
    return released, replaced, residual


def read_receipts(folder: str | Path) -> list[ReleaseReceipt]:
    """The receipts of all files released into a folder, by file name.

    Raises:
        DataError: a receipt is broken.
    """
    receipts: list[ReleaseReceipt] = []
    for path in sorted(Path(folder).glob("*.receipt.json")):
        try:
            receipts.append(ReleaseReceipt(**json.loads(path.read_text(encoding="utf-8"))))
        except (ValueError, TypeError) as error:
            raise DataError(f"is not a receipt: {error}; release the file again", path) from error
    return receipts


def read_removals(path: str | Path) -> frozenset[str]:
    """Ids to be left out, one a line; `#` begins a comment.

    Raises:
        DataError: the file cannot be read.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}", path) from error
    return frozenset(entry for line in lines if (entry := line.split("#", 1)[0].strip()))


def _admitted(
    record: dict[str, Any],
    key: ReleaseKey,
    options: ReleaseOptions,
    counts: Counter[str],
    replaced: Counter[str],
    residual: Counter[str],
    place: str,
) -> dict[str, Any] | None:
    """The record as released, or None when it is left out; keeps the counts."""
    meta = record.get("meta")
    if not isinstance(meta, dict):
        counts["out" if options.keep_foreign else "foreign"] += 1
        return record if options.keep_foreign else None
    if _ids_of(record, key) & options.removals:
        counts["removed"] += 1
        return None
    try:
        released, now_replaced, now_residual = release_record(record, key, options.protected)
    except ArtifactError as error:
        raise ArtifactError(f"{place}: record {record.get('id')!r}: {error}") from error
    counts["out"] += 1
    counts["synthetic"] += bool(cast("dict[str, Any]", meta).get("synthetic"))
    replaced.update(now_replaced)
    residual.update(now_residual)
    return released


def _check_all_found(unmatched: set[str], records: Path) -> None:
    if unmatched:
        raise DataError(
            f"holds nothing of {len(unmatched)} ids that are to be removed: {', '.join(sorted(unmatched)[:5])}; correct them, so"
            " that nobody who asked to be left out stays in",
            records,
        )


def _ids_of(record: Mapping[str, Any], key: ReleaseKey) -> set[str]:
    """What a removal may call a record by: its id, its user's and that user's released id."""
    meta = record.get("meta")
    user = str(cast("dict[str, Any]", meta).get("user_id")) if isinstance(meta, dict) else None
    return {str(record.get("id"))} | (set() if user is None else {user, key.user_id(user)})


def _replacements(record: Mapping[str, Any], names: list[str], key: ReleaseKey, protected: Protected) -> dict[str, str]:
    """Every full name, and the parts of it that stand alone elsewhere in the record, to their stand-ins."""
    shield = protected_in(record, protected)
    replacements: dict[str, str] = {}
    for name in names:
        for part, stand_in in name_parts(name, key).items():
            lowered = part.lower()
            telling = lowered in FIRST_NAMES or (len(part) > 3 and lowered not in NOT_A_SURNAME)
            if telling and not shield.covers(part):
                replacements.setdefault(part, stand_in)
    return replacements | {name: pseudonym(name, key) for name in names}


def _check_anchors(record: Mapping[str, Any], released: Mapping[str, Any]) -> None:
    meta, before = cast("dict[str, Any]", released["meta"]), cast("dict[str, Any]", record["meta"])
    state = (
        json.dumps(released["state"], ensure_ascii=False)
        if not isinstance(released["state"], str)
        else released["state"]
    )
    if lost := absent(state, required_anchors(meta)):
        raise ArtifactError(
            f"the release would lose the required anchor {lost[0]!r}; protect the name or remove the record"
        )
    if leaked := present(state, forbidden_anchors(meta)):
        raise ArtifactError(f"the released state holds the forbidden anchor {leaked[0]!r}; remove the record")
    if before.get("option_features") != meta.get("option_features"):
        raise ArtifactError("the release changed option features; they must stay as they are")
    for qid, question in cast("dict[str, dict[str, Any]]", record["questions"]).items():
        after = released["questions"][qid]
        if any(after.get(member) != question.get(member) for member in ("criteria", "label", "soft_label", "target")):
            raise ArtifactError(f"the release changed options or labels of {qid!r}; they must stay as they are")


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
