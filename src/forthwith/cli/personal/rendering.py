"""`forthwith personal render`: texts by a chat endpoint, or by writers elsewhere through files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forthwith.cli.personal.receipt import print_receipt

__all__ = ["app"]

app = typer.Typer(help="Texts by a chat endpoint, or by writers elsewhere.", no_args_is_help=True)

Kb = Annotated[Path, typer.Option(help="The knowledge base.")]
PlanPath = Annotated[Path, typer.Option("--plan", help="The plan.")]
Out = Annotated[Path, typer.Option(help="The file of records; the log goes beside it.")]


@app.command("export")
def export_(
    kb: Kb,
    plan: PlanPath,
    out: Annotated[Path, typer.Option(help="The folder of requests.")],
    batches: Annotated[int, typer.Option(min=0, help="Also deal the requests into so many batches.")] = 0,
) -> None:
    """Write render requests for outside writers; they see neither questions nor labels."""
    from forthwith.personal.exchange import export_requests
    from forthwith.personal.kb.knowledge import open_kb
    from forthwith.personal.outside_run import plan_requests
    from forthwith.personal.plan_file import read_plan

    made = read_plan(plan)
    print_receipt(export_requests(plan_requests(made, open_kb(kb, made.config.split)), out, batches=batches))


@app.command()
def ingest(
    kb: Kb,
    plan: PlanPath,
    requests: Annotated[Path, typer.Option(help="The requests.jsonl that the writers worked from.")],
    outputs: Annotated[list[Path], typer.Argument(help="Files of lines {id, text}.")],
    renderer: Annotated[str, typer.Option(help="Name of the writer, kept in each record.")],
    out: Out,
) -> None:
    """Take texts back, verify each, and write the records; prompts that have changed since are refused."""
    from forthwith.personal.exchange import ingest_texts
    from forthwith.personal.kb.knowledge import open_kb
    from forthwith.personal.outside_run import plan_requests, write_outside
    from forthwith.personal.plan_file import read_plan

    made = read_plan(plan)
    opened = open_kb(kb, made.config.split)
    taken = ingest_texts(plan_requests(made, opened), requests, outputs)
    report = write_outside(made, opened, ((key, text, 1, 0, 0) for key, text in taken.texts.items()), out, renderer)
    lines = {"malformed": len(taken.malformed), "duplicate": len(taken.duplicate), "unknown": len(taken.unknown)}
    print_receipt({**vars(report), "lines": lines})


@app.command()
def chat(
    kb: Kb,
    plan: PlanPath,
    out: Out,
    base_url: Annotated[str, typer.Option(envvar="RENDER_BASE_URL", help="Up to and without /chat/completions.")],
    model: Annotated[str, typer.Option(envvar="RENDER_MODEL", help="The name the endpoint knows.")],
    api_key: Annotated[str | None, typer.Option(envvar="RENDER_API_KEY", help="Bearer token.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Answers already paid for; beside the output by default.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Calls in flight.")] = 4,
    attempts: Annotated[int, typer.Option(min=1, help="Calls for one answer from a busy endpoint.")] = 5,
    price_in: Annotated[float, typer.Option(help="Price of a million input tokens.")] = 0.0,
    price_out: Annotated[float, typer.Option(help="Price of a million output tokens.")] = 0.0,
    ceiling: Annotated[float | None, typer.Option(help="Most that may be spent now.")] = None,
) -> None:
    """Have texts written by any OpenAI-compatible endpoint; run again to go on, nothing is paid for twice."""
    from forthwith.errors import EngineError
    from forthwith.personal.kb.knowledge import open_kb
    from forthwith.personal.outside_run import write_outside, write_texts_by_chat
    from forthwith.personal.plan_file import read_plan
    from forthwith.personal.render_cache import RenderCache
    from forthwith.personal.render_chat import ChatSettings, ChatWriter

    made = read_plan(plan)
    opened = open_kb(kb, made.config.split)
    settings = ChatSettings(
        base_url, model, api_key, attempts=attempts, price_in=price_in, price_out=price_out, ceiling=ceiling
    )
    written: list[tuple[str, str, int, int, int]] = []
    stopped: EngineError | None = None
    with ChatWriter(settings, RenderCache(cache or out.with_name(out.name + ".cache.jsonl"))) as writer:
        try:
            for text in write_texts_by_chat(made, opened, writer, concurrency=concurrency):
                row = (text.id, text.text, text.rounds, text.input_tokens, text.output_tokens)
                written.append(row)
        except EngineError as error:
            stopped = error  # what came is written first
        report = write_outside(made, opened, written, out, model)
        print_receipt({**vars(report), "spent": round(writer.spent, 6)})
    if stopped is not None:
        raise stopped
