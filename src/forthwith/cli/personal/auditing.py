"""`forthwith personal audit` and `capacity`: what a data set gives away, and what a knowledge base can give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forthwith.cli.personal.receipt import print_receipt

if TYPE_CHECKING:
    from rich.console import Console

    from forthwith.personal.audit import AuditReport

__all__ = ["audit", "capacity"]


def audit(
    records: Annotated[Path, typer.Argument(help="The file of records.")],
    train: Annotated[
        Path | None, typer.Option(help="What the learned guesser is fitted on; else cross-validation.")
    ] = None,
    kb: Annotated[Path | None, typer.Option(help="The knowledge base, for the ceiling of pick_option.")] = None,
    split: Annotated[str, typer.Option(help="Whose users the records are of, with --kb.")] = "dev",
    out: Annotated[Path | None, typer.Option(help="Where the report goes, as JSON.")] = None,
) -> None:
    """Measure what can be guessed without reading; exit 1 when a gate that stops a release fails."""
    import dataclasses
    import json
    from typing import cast

    from rich.console import Console

    from forthwith.personal.audit import audit_file
    from forthwith.personal.kb.knowledge import open_kb
    from forthwith.personal.vocabulary import Split

    opened = None if kb is None else open_kb(kb, cast("Split", split))
    report = audit_file(records, train=train, kb=opened)
    _show(Console(highlight=False, width=None if Console().is_terminal else 110), report)
    if opened is not None and report.ceiling is None and report.hard.get("pick_option"):
        typer.echo(
            f"warning: no ceiling of pick_option: the {split} users of {kb} asked none of these questions; --split names theirs",
            err=True,
        )
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(dataclasses.asdict(report), indent=2) + "\n", encoding="utf-8")
    failed = [gate.name for gate in report.gates if not gate.ok]
    print_receipt({"records": report.records, "gates": len(report.gates), "failed": failed})
    if failed:
        raise typer.Exit(1)


def capacity(
    kb: Annotated[Path, typer.Option(help="The knowledge base.")],
    split: Annotated[str, typer.Option(help="Whose users.")] = "dev",
    trials: Annotated[int, typer.Option(min=1, help="Users tried for each cell.")] = 6,
) -> None:
    """Show how often each kind of question can be made at all for the users of a split."""
    import dataclasses
    from typing import cast

    from forthwith.personal.capacity import measure_capacity
    from forthwith.personal.kb.knowledge import open_kb
    from forthwith.personal.vocabulary import Split

    found = measure_capacity(open_kb(kb, cast("Split", split)), trials=trials)
    print_receipt([dataclasses.asdict(family) for family in found])


def _show(console: Console, report: AuditReport) -> None:
    from rich.table import Table

    title = f"{report.records} records; accuracy of guessing, in points above chance"
    table = Table(
        "family", "hard", "soft", "chance", "best shortcut", "above", "state-blind", "above", "noise", title=title
    )
    blind = {score.family: score for score in report.blind}
    for family, hard in report.hard.items():
        best = max((s for s in report.shortcuts if s.family == family), key=lambda s: s.excess)
        row = [
            family,
            str(hard),
            str(report.soft.get(family, 0)),
            f"{best.chance:.3f}",
            best.name,
            f"{100 * best.excess:+.1f}",
        ]
        if family in blind:
            row += [f"{blind[family].accuracy:.3f}", f"{100 * blind[family].excess:+.1f}"]
        else:
            row += ["–", "–"]
        table.add_row(*row, f"±{100 * report.noise_floor[family]:.1f}")
    console.print(table)
    variants = Table("family", "variants", "hard labels", title="What was realised")
    for family, counts in report.variants.items():
        total = sum(counts.values())
        shares = ", ".join(f"{name} {count / total:.0%}" for name, count in counts.items())
        variants.add_row(
            family, shares, ", ".join(f"{label}: {count}" for label, count in report.labels[family].items())
        )
    console.print(variants)
    if (ceiling := report.ceiling) is not None:
        console.print(f"pick_option can be answered to: {ceiling}")
    for gate in report.gates:
        if not gate.ok:
            console.print(f"[bold red]gate failed[/bold red] {gate.name}: {gate.value:.3f} > {gate.limit:.3f}")
