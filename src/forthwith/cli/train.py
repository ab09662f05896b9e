"""`forthwith train`: records to an adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["train"]


def train(
    config: Annotated[str, typer.Option(help="A TOML file, or a shipped one by name, such as smollm2-135m-branch.")],
    data: Annotated[list[Path], typer.Option(exists=True, dir_okay=False, help="Training records; may be repeated.")],
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    val: Annotated[
        list[Path] | None, typer.Option(exists=True, dir_okay=False, help="Records that select checkpoints.")
    ] = None,
    general: Annotated[
        list[Path] | None,
        typer.Option(exists=True, dir_okay=False, help="Records mixed in, so that other abilities stay."),
    ] = None,
    guard: Annotated[
        list[Path] | None, typer.Option(exists=True, dir_okay=False, help="Records that must not get worse.")
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option(help="Instead of the configuration's; several make several runs.")
    ] = None,
    base: Annotated[str | None, typer.Option(help="Instead of the configuration's base model.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in OUT.")] = False,  # noqa: FBT002
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, … Default: CUDA where there is one.")] = None,
    max_seconds: Annotated[
        float | None, typer.Option(min=1, help="End the schedule with the step that passes this.")
    ] = None,
) -> None:
    """Train a LoRA adapter on records with targets. Stop it at any moment and go on with --resume."""
    from forthwith.errors import ArtifactError
    from forthwith.training.config import load_config
    from forthwith.training.run import DataFiles
    from forthwith.training.run import train as run

    chosen = load_config(config)
    if base is not None:
        chosen = chosen.model_copy(update={"base": chosen.base.model_copy(update={"model": base, "revision": None})})
    files = DataFiles(tuple(data), tuple(val or ()), tuple(general or ()), tuple(guard or ()))
    if resume and not (out.is_dir() and any(out.iterdir())):
        raise ArtifactError(f"{out}: there is no run to resume; check the path, or leave --resume out to start one")
    seeds = seed or [chosen.seed]
    for number in seeds:
        place = out if len(seeds) == 1 else out / f"seed-{number}"
        one = chosen.model_copy(update={"seed": number})
        with _Display() as display:
            result = run(
                one, files, place, resume=resume, device=device, max_seconds=max_seconds, report=display.show
            )  # fmt: skip
        progress = result.progress
        best = "" if progress.best is None else f", best {progress.best:.4f} at step {progress.best_step}"
        typer.echo(
            f"{place}: {progress.step} steps, {progress.questions} questions, {progress.tokens} tokens,"
            f" {progress.seconds:.1f} s{best}"
        )
        _warn_of_skipped(result.summary["rows"])


def _warn_of_skipped(rows: dict[str, Any]) -> None:
    """Training records that gave no row, with the first one's reason."""
    skipped: dict[str, str] = rows["skipped"]
    if skipped:
        first, reason = next(iter(skipped.items()))
        typer.echo(
            f"warning: {len(skipped)} of {rows['records']} training records were left out, {first!r} because {reason};"
            " run.json has all of them",
            err=True,
        )


class _Display:
    """Progress with the time left, on a terminal; a line an event elsewhere."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._console = Console(stderr=True, highlight=False)
        columns = (
            TextColumn("step {task.fields[step]}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("loss {task.fields[loss]:.4f}  {task.fields[speed]:,.0f} tokens/s"),
            TimeElapsedColumn(), TimeRemainingColumn(),
        )  # fmt: skip
        self._progress = Progress(*columns, console=self._console, disable=not self._console.is_terminal)
        self._task = self._progress.add_task("train", total=1.0, step=0, loss=float("nan"), speed=0.0)

    def __enter__(self) -> _Display:
        self._progress.start()
        return self

    def show(self, event: dict[str, Any]) -> None:
        """Show one event."""
        if event["event"] == "step":
            self._progress.update(
                self._task, completed=event["done"], step=event["step"], loss=event["loss"], speed=event["tokens_per_s"]
            )
            if self._console.is_terminal:
                return
        figures = "  ".join(f"{name} {_short(value)}" for name, value in event.items() if name != "event")
        self._console.print(f"{event['event']}  {figures}", soft_wrap=True)

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


def _short(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
