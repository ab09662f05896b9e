"""`forthwith personal`: the benchmark of an agent that remembers one user, from sources to a released test set."""

from __future__ import annotations

import typer

from forthwith.cli.personal.auditing import audit, capacity
from forthwith.cli.personal.demo import demo
from forthwith.cli.personal.knowledge import build, split, world
from forthwith.cli.personal.making import generate, plan, verify
from forthwith.cli.personal.publish import commit, export, privacy_scan, release
from forthwith.cli.personal.rendering import app as render_app
from forthwith.cli.personal.sources import app as sources_app

__all__ = ["app"]

app = typer.Typer(
    help="Make and audit records of an agent that remembers one user; the synthetic world needs no file.",
    no_args_is_help=True,
)
app.add_typer(sources_app, name="sources")
app.add_typer(render_app, name="render")
for command in (demo, world, build, split, plan, generate, verify, audit, capacity, release, commit, export):
    app.command()(command)
app.command("privacy-scan")(privacy_scan)
