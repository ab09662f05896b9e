"""`forthwith show`: what a bundle is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["show"]


def show(
    bundle: Annotated[str, typer.Argument(help="A shipped bundle's name or a bundle folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="The manifest and calibration as one JSON object.")] = False,  # noqa: FBT002
) -> None:
    """Show a bundle: base, adapter, readout, template, calibration, thresholds and provenance, every file's hash checked."""
    import json

    from rich.console import Console
    from rich.table import Table

    from forthwith.bundle import load_bundle, packaged_bundles

    loaded = load_bundle(packaged_bundles().get(bundle, Path(bundle)))
    manifest, calibration = loaded.manifest, loaded.calibration
    if as_json:
        body = {
            "bundle_id": manifest.bundle_id,
            "manifest": manifest.model_dump(mode="json"),
            "calibration": None if calibration is None else calibration.model_dump(mode="json"),
        }
        typer.echo(json.dumps(body, ensure_ascii=False))
        return
    console = Console(highlight=False)
    table = Table(show_header=False, box=None, padding=(0, 2))
    rows = {
        "bundle": f"{manifest.name} {manifest.version} ({manifest.bundle_id})",
        "base": f"{manifest.base.model}, weights {manifest.base.weights_sha256[:12]}",
        "adapter": manifest.adapter_sha256[:12] if manifest.adapter_sha256 else "none",
        "readout": f"{manifest.readout}, template {manifest.template_sha256[:12]}",
        "precision": manifest.precision,
        "calibrated": "yes" if calibration else "no",
    }
    for name, value in rows.items():
        table.add_row(f"[bold]{name}[/bold]", value)
    if calibration is not None:
        temperatures = ", ".join(f"{kind} {value:.3f}" for kind, value in calibration.temperature.items()) or "1"
        table.add_row("[bold]temperature[/bold]", temperatures)
        if calibration.noul_bias:
            table.add_row("[bold]yes/no bias[/bold]", f"{calibration.noul_bias:+.3f}")
        if calibration.thresholds is not None:
            table.add_row(
                "[bold]thresholds[/bold]",
                _thresholds(calibration.thresholds.by_family | calibration.thresholds.by_type),
            )
    console.print(table)


def _thresholds(thresholds: dict[str, float | None]) -> str:
    return ", ".join(
        f"{family} {'ask always' if value is None else format(value, '.3f')}"
        for family, value in sorted(thresholds.items())
    )
