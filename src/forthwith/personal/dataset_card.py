"""The page that goes with a released data set: what it is, how it was made, what is left in it, and its limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from forthwith.personal.release import ReleaseReceipt

__all__ = ["card_text", "write_card"]


def card_text(name: str, receipts: Sequence[ReleaseReceipt]) -> str:
    """The card in Markdown, from the receipts of the files it describes."""
    return "\n".join(
        [
            f"# {name}",
            "",
            "Each record is the context of one user's assistant (`state`) and typed decisions about it (`questions`).",
            "Labels come from a structured knowledge base and rules that were fixed before any text was written.",
            "",
            *_provenance(receipts),
            "",
            "| file | records | users | questions | names replaced | contact data masked | detections left | SHA-256 |",
            "|---|---|---|---|---|---|---|---|",
            *(_row(receipt) for receipt in receipts),
            "",
            "## Privacy",
            "",
            *_privacy(receipts),
            "",
            "Detections are rule based; a name without a frequent given name, a title or a mail header beside it can",
            "be missed. A person who finds themselves in the data can ask for removal: records, users and released",
            "user ids can be left out of the next release by a removal list.",
            "",
            "## Limits",
            "",
            "- The rules of a user (limits, quiet hours, clearances, contacts) are invented, also in real histories.",
            "- A decision is right by these rules, not by a person's later opinion (`pick_option` aside).",
            "- Where a soft label has no unique maximum the state does not decide; those count for no accuracy.",
            "",
        ]
    )


def write_card(path: str | Path, name: str, receipts: Sequence[ReleaseReceipt]) -> Path:
    """Write the card."""
    path = Path(path)
    path.write_text(card_text(name, receipts), encoding="utf-8")
    return path


def _provenance(receipts: Sequence[ReleaseReceipt]) -> list[str]:
    synthetic = sum(receipt.synthetic for receipt in receipts)
    total = sum(receipt.records_out for receipt in receipts)
    if synthetic == total:
        return ["**Synthetic:** every user, shop, place, review and mail in it is made up."]
    return [
        f"{synthetic} of {total} records are synthetic. The others quote reviews, places and mail of public research",
        "releases; see `LICENSES.json` of the sources. Raw data and the knowledge base are not redistributed.",
    ]


def _row(receipt: ReleaseReceipt) -> str:
    masked = sum(count for kind, count in receipt.replaced.items() if kind != "name")
    left = sum(receipt.residual.values())
    cells = (
        receipt.released,
        receipt.records_out,
        receipt.users,
        receipt.questions,
        receipt.replaced["name"],
        masked,
        left,
        f"`{receipt.released_sha256[:16]}`",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _privacy(receipts: Sequence[ReleaseReceipt]) -> list[str]:
    if any(receipt.published_key for receipt in receipts):
        return [
            "User ids and names are keyed pseudonyms and **the key is published with the receipts**: anybody can test",
            "whether an id or a name stands behind one. This is reversible pseudonymisation, not anonymisation.",
        ]
    return [
        "User ids and names are keyed pseudonyms; the key belongs to this release alone and is not published. Whoever",
        "holds it can test guesses: pseudonymisation, not anonymisation.",
    ]
