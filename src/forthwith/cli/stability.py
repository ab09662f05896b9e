"""`forthwith stability`: whether answers survive what should not matter, and whether linked answers agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forthwith.cli.model_options import (
    Adapter,
    CacheDir,
    Calibration,
    Device,
    ModelName,
    Precision,
    Readout,
    Tokenizer,
    load,
)

if TYPE_CHECKING:
    from forthwith.evaluation.family_coherence import CoherenceReport
    from forthwith.evaluation.stability import StabilityReport

__all__ = ["stability"]


def stability(
    data: Annotated[Path, typer.Option(help="Records: JSONL, JSONL.gz or Parquet.")],
    out: Annotated[Path | None, typer.Option(help="Where the numbers go, as JSON.")] = None,
    model: ModelName = None,
    adapter: Adapter = None,
    readout: Readout = None,
    calibration: Calibration = None,
    device: Device = None,
    precision: Precision = None,
    cache_dir: CacheDir = None,
    tokenizer: Tokenizer = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many records.")] = None,
    orders: Annotated[int, typer.Option(min=0, help="Other option orders to try.")] = 2,
    apart: Annotated[bool, typer.Option("--apart", help="Ask every variant in its own request.")] = False,  # noqa: FBT002
    coherence: Annotated[bool, typer.Option(help="Also ask families of linked questions.")] = True,  # noqa: FBT002
) -> None:
    """Ask in other orders, wordings and words for yes and no, alone and in company, and compare the answers."""
    import json
    from itertools import islice

    from forthwith.errors import RequestError
    from forthwith.evaluation.family_coherence import FamilyAnswers, ask_families, summarise
    from forthwith.evaluation.stability import StabilityOptions, measure_stability
    from forthwith.schema import read_records

    decider = load(model, adapter, readout, calibration, device, precision, cache_dir, tokenizer)
    # Whether a remote model lets questions see one another is not known, so it is asked one variant at a time.
    together = not apart and not decider.binding.weights_sha256.startswith("remote:")
    options = StabilityOptions(orders=orders, together=together)
    report = measure_stability(islice(read_records(data), limit), decider, options=options)
    _show_probes(report)
    body: dict[str, object] = {"stability": report.model_dump(mode="json")}
    if coherence:
        answers = list(ask_families(islice(read_records(data), limit), decider, together=together))
        families = [answer for answer in answers if isinstance(answer, FamilyAnswers)]
        skipped = sum(isinstance(answer, RequestError) for answer in answers)
        linked = summarise(families, model=decider.name, skipped=skipped)
        _show_coherence(linked)
        body["coherence"] = linked.model_dump(mode="json")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(body, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        typer.echo(str(out))


def _show_probes(report: StabilityReport) -> None:
    from forthwith.cli.terminal import new_table, open_console

    title = f"Stability of {report.model}: {report.questions} questions, {report.skipped} requests skipped"
    table = new_table(
        "probe",
        "variant",
        "questions",
        "flips",
        "95 % interval",
        "near ties",
        "mean TVD",
        "accuracy",
        title=title,
        text=(0, 1),
    )
    for probe in report.probes:
        accuracy = "–"
        if probe.accuracy is not None and probe.accuracy_varied is not None:
            accuracy = f"{probe.accuracy:.3f} → {probe.accuracy_varied:.3f}"
        table.add_row(
            probe.probe,
            probe.variant,
            str(probe.questions),
            f"{probe.flip_rate:.3f}",
            f"{probe.flip_low:.3f} to {probe.flip_high:.3f}",
            str(probe.near_tie_flips),
            f"{probe.mean_tvd:.4f}",
            accuracy,
        )
    open_console().print(table)


def _show_coherence(report: CoherenceReport) -> None:
    from forthwith.cli.terminal import new_table, open_console

    title = f"Coherence: macro sure loss {report.macro_sure_loss:.4f}"
    heads = (
        "type",
        "families",
        "sure loss",
        "unit bets",
        "incoherent",
        "accuracy",
        "projected",
        "weight",
        "acquiescence",
    )
    table = new_table(*heads, title=title)
    for part in report.by_type:
        numbers = (part.accuracy, part.accuracy_projected, part.weight, part.acquiescence)
        table.add_row(
            part.name,
            str(part.families),
            f"{part.sure_loss:.4f}",
            f"{part.unit_bet_loss:.4f}",
            f"{part.share_incoherent:.2f}",
            *("–" if number is None else f"{number:.3f}" for number in numbers),
        )
    open_console().print(table)
