"""`forthwith personal plan`, `generate` and `verify`: records from a knowledge base by the template renderer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forthwith.cli.personal.receipt import print_receipt

__all__ = ["generate", "plan", "verify"]

Kb = Annotated[Path, typer.Option(help="The knowledge base.")]
PlanPath = Annotated[Path, typer.Option("--plan", help="A plan file.")]
Processes = Annotated[int, typer.Option(min=1, help="Worker processes; the bytes are the same for any number.")]


def plan(
    kb: Kb,
    split: Annotated[str, typer.Option(help="train, val, dev, hidden or test.")],
    states: Annotated[int, typer.Option(min=1, help="How many records.")],
    seed: Annotated[int, typer.Option(help="Everything follows from it.")],
    out: Annotated[Path, typer.Option(help="Where the plan goes.")],
    style: Annotated[list[str] | None, typer.Option(help="Only this style; may be given several times.")] = None,
    family: Annotated[list[str] | None, typer.Option(help="Only this kind of question.")] = None,
    questions_per_state: Annotated[float, typer.Option(help="Mean number of questions, 1 to 3.")] = 2.5,
    p_buried: Annotated[float, typer.Option(help="Share of records with unrelated documents.")] = 0.25,
    p_brief: Annotated[
        float, typer.Option(help="Share of records that hold nothing but what their questions need (for training).")
    ] = 0.0,
    asks_steps: Annotated[  # noqa: FBT002
        bool, typer.Option("--ask-steps", help="Ask the steps of each rule as questions, too (for training).")
    ] = False,
    p_short: Annotated[
        float, typer.Option(help="Share of records without further memories and documents (for training).")
    ] = 0.0,
    lookups: Annotated[
        int,
        typer.Option(min=0, help="Also ask what single lines say, at most so many questions a record (for training)."),
    ] = 0,
    processes: Processes = 1,
) -> None:
    """Decide everything about every record before anything is written: user, questions, answers' places, style, seed."""
    from typing import cast

    from forthwith.errors import ConfigError
    from forthwith.personal.kb.knowledge import open_kb
    from forthwith.personal.plan import PlanConfig, make_plan
    from forthwith.personal.plan_file import write_plan
    from forthwith.personal.render import style_ids
    from forthwith.personal.vocabulary import FAMILIES, SPLITS, Family

    if split not in SPLITS:
        raise ConfigError(f"unknown split {split!r}; splits are {', '.join(SPLITS)}", "split")
    name = split
    config = PlanConfig(
        split=name,
        states=states,
        seed=seed,
        styles=tuple(style or style_ids(name)),
        questions_per_state=questions_per_state,
        p_buried=p_buried,
        p_brief=p_brief,
        asks_steps=asks_steps,
        p_short=p_short,
        lookups=lookups,
        families=cast("tuple[Family, ...]", tuple(family or FAMILIES)),
    )
    made = make_plan(open_kb(kb, name), config, processes=processes, show_progress=True)
    write_plan(made, out)
    print_receipt(
        {
            "plan": str(out),
            "fingerprint": made.fingerprint,
            "records": len(made.records),
            "unplaced": len(made.unplaced),
            "questions": sum(len(record.families) for record in made.records),
        }
    )


def generate(
    kb: Kb,
    plan: PlanPath,
    out: Annotated[Path, typer.Option(help="The file of records; log, statistics and hash go beside it.")],
    processes: Processes = 1,
) -> None:
    """Draft, render and verify the records of a plan; a run that was killed goes on where it stopped."""
    from forthwith.personal.generate import generate as run
    from forthwith.personal.plan_file import read_plan

    print_receipt(run(kb, read_plan(plan), out, processes=processes, show_progress=True))


def verify(
    records: Annotated[Path, typer.Argument(help="The file of records.")],
    kb: Annotated[Path | None, typer.Option(help="The knowledge base; with --plan, for the full check.")] = None,
    plan: Annotated[Path | None, typer.Option(help="The plan that the records come from.")] = None,
) -> None:
    """Check anchors, invented values, labels derived a second time, and options; exit 1 when a record is wrong."""
    from forthwith.errors import ConfigError
    from forthwith.personal.kb.knowledge import open_kb
    from forthwith.personal.plan_file import read_plan
    from forthwith.personal.verify_file import verify_against_plan, verify_file

    if (kb is None) != (plan is None):
        raise ConfigError("the full check needs both --kb and --plan; give both, or neither", "kb")
    if kb is not None and plan is not None:
        made = read_plan(plan)
        report = verify_against_plan(records, made, open_kb(kb, made.config.split))
    else:
        report = verify_file(records)
    for line, record_id, problem in report.examples:
        typer.echo(f"{records}:{line}: {record_id}: {problem}", err=True)
    found = {"records": report.records, "good": report.good, "without_anchors": report.without_anchors}
    if plan is not None:
        found |= {"missing": len(report.missing), "first_missing": report.missing[:5]}
    print_receipt(found | {"problems": dict(report.problems)})
    if not report.ok:
        raise typer.Exit(1)
