"""`forthwith commit`: promise, before they are opened, which data a gate will judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["commit"]


def commit(
    data: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="The data that will decide.")],
    out: Annotated[Path, typer.Option(help="The commitment; a new file.")],
    gate: Annotated[Path | None, typer.Option(help="The gate that will judge: TOML, or `pev`.")] = None,
    guard: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="The guard set.")] = None,
) -> None:
    """Write hashes and counts of the data, the guard set and the gate; `forthwith gate` refuses anything else."""
    from datetime import UTC, datetime

    from forthwith.evaluation.commitment import commit as run
    from forthwith.evaluation.commitment import write_commitment
    from forthwith.evaluation.gate_spec import read_gate
    from forthwith.evaluation.judge import gate_path

    spec = None if gate is None else gate_path(gate)
    if spec is not None:
        read_gate(spec)  # a gate that cannot be read is found now, not when it is to judge
    files = {"data": data} | ({} if guard is None else {"guard": guard})
    commitment = run(files, created=datetime.now(UTC), gate=spec)
    write_commitment(commitment, out)
    for item in commitment.files:
        typer.echo(f"{item.role}: {item.n_lines} lines, {item.n_bytes} bytes, SHA-256 {item.sha256}")
    typer.echo(f"{out}: SHA-256 {commitment.sha256}; publish this hash before the data are opened")
