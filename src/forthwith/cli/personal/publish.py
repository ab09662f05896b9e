"""`forthwith personal privacy-scan`, `release`, `commit` and `export`: records made fit to hand out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forthwith.cli.personal.receipt import print_receipt

if TYPE_CHECKING:
    from forthwith.personal.privacy import Protected

__all__ = ["commit", "export", "privacy_scan", "release"]

Names = Annotated[
    Path | None, typer.Option("--kb", help="A knowledge base whose catalogue and contacts are no private data.")
]


def privacy_scan(
    records: Annotated[list[Path], typer.Argument(help="Files of records.")],
    kb: Names = None,
    examples: Annotated[int, typer.Option(min=0, help="Redacted examples of each kind.")] = 0,
    counts_only: Annotated[list[Path] | None, typer.Option(help="Files of which no example is ever shown.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where the report goes, as JSON.")] = None,
) -> None:
    """Count contact data and names by the rules that a release applies."""
    import dataclasses
    import json

    from forthwith.personal.privacy_scan import scan_records

    shield = _protected(kb)
    silent = {path.resolve() for path in counts_only or []}
    files = [*records, *(path for path in counts_only or [] if path not in records)]
    reports = [scan_records(path, shield, examples=0 if path.resolve() in silent else examples) for path in files]
    payload = [dataclasses.asdict(report) for report in reports]
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(payload, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    for report in payload:
        print_receipt(report)


def release(
    records: Annotated[Path, typer.Argument(help="The records, in Pev's layout with meta.")],
    out: Annotated[Path, typer.Option(help="Where the released records go.")],
    key_file: Annotated[Path, typer.Option(help="The release key; made and kept there when the file is new.")],
    kb: Names = None,
    removals: Annotated[Path | None, typer.Option(help="Ids to leave out, one a line.")] = None,
    keep_foreign: Annotated[bool, typer.Option("--keep-foreign", help="Keep records without meta.")] = False,  # noqa: FBT002
    publish_key: Annotated[  # noqa: FBT002
        bool, typer.Option("--publish-key", help="Write the key into the receipt: anyone can then reverse user ids.")
    ] = False,
    name: Annotated[str, typer.Option(help="Name of the data set on its card.")] = "personal decisions",
) -> None:
    """Replace user ids, names and contact data, re-check anchors, and write receipt and data set card."""
    from forthwith.personal.dataset_card import write_card
    from forthwith.personal.pseudonyms import ReleaseKey
    from forthwith.personal.release import ReleaseOptions, read_receipts, read_removals, release_file

    options = ReleaseOptions(
        protected=_protected(kb),
        removals=read_removals(removals) if removals else frozenset(),
        keep_foreign=keep_foreign,
        publish_key=publish_key,
    )
    receipt = release_file(records, out, ReleaseKey.load(key_file), options)
    write_card(out.parent / "README.md", name, read_receipts(out.parent))
    print_receipt(receipt)


def commit(
    files: Annotated[list[Path], typer.Argument(help="The files of the test set, in order.")],
    out: Annotated[Path, typer.Option(help="Where the commitment goes; never replaced.")],
    preregistration: Annotated[Path | None, typer.Option(help="The analysis plan.")] = None,
    attach: Annotated[list[Path] | None, typer.Option(help="Receipts and reports to name by hash.")] = None,
    recipe: Annotated[Path | None, typer.Option(help="JSON of how the files were made.")] = None,
    seal_key: Annotated[Path | None, typer.Option(help="Also write encrypted copies under this key.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Check the files against an existing commitment.")] = False,  # noqa: FBT002
) -> None:
    """Commit to a test set by hash before any model runs on it, or check files against a commitment."""
    import json
    from datetime import UTC, datetime

    from forthwith.personal.commitment import commit_files, read_commitment, verify_commitment, write_commitment
    from forthwith.personal.pseudonyms import ReleaseKey
    from forthwith.personal.sealed_copy import seal_file

    if check:
        commitment = read_commitment(out)
        not_given = verify_commitment(commitment, files)
        print_receipt({"verified": [file.name for file in files], "not_given": list(not_given)})
        return
    commitment = commit_files(
        files,
        committed_at=datetime.now(UTC).isoformat(timespec="seconds"),
        recipe=json.loads(recipe.read_text(encoding="utf-8")) if recipe else None,
        preregistration=preregistration,
        attachments=attach or (),
    )
    write_commitment(commitment, out)
    if seal_key is not None:
        key = ReleaseKey.load(seal_key)
        for path in files:
            seal_file(path, out.parent / f"{path.name}.sealed", key)
    print_receipt(commitment)


def export(
    records: Annotated[Path, typer.Argument(help="Records in any layout: JSONL, JSONL.gz or Parquet.")],
    out: Annotated[Path, typer.Option(help="Ending in .jsonl, .jsonl.gz or .parquet.")],
    layout: Annotated[str, typer.Option(help="pev, kev or forthwith.")] = "forthwith",
    no_soft: Annotated[bool, typer.Option("--no-soft", help="Labels only, no soft targets.")] = False,  # noqa: FBT002
) -> None:
    """Write records in another layout or file format."""
    from typing import cast

    from forthwith.personal.export import Layout, export_file

    print_receipt(export_file(records, out, cast("Layout", layout), soft=not no_soft))


def _protected(kb: Path | None) -> Protected:
    from forthwith.personal.privacy import Protected

    if kb is None:
        return Protected()
    from forthwith.personal.kb_names import protected_names

    return protected_names(kb)
