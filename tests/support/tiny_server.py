"""A real server process on a model that answers by script, for tests: `python tiny_server.py '{"options": …}'`.

Prints the port once it is open. Options: port, workers, delay_s (each batch takes that long), hold (batches wait while that file
exists), folder (a torch model instead), keys, cors_origins, limits, batch, plan.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from forthwith.calibration import Calibration
from forthwith.calibration.apply import Thresholds
from forthwith.encoding import TokenTree
from forthwith.errors import EngineError
from forthwith.model import Model
from forthwith.readout import readout_by_name
from forthwith.serving.keys import ApiKey
from forthwith.serving.scheduler import BatchLimits
from forthwith.serving.server import ServerPlan, bind, serve_here
from forthwith.serving.settings import RequestLimits, ServingSettings
from forthwith.serving.supervisor import Supervisor
from forthwith.testing import ScriptedEngine, tiny_encoder

FAULT = "FAIL-HERE"
"""A state that holds this makes the engine fail."""


def scripted_model(*, delay_s: float = 0.0, hold: str = "") -> Model:
    """A calibrated model with thresholds whose answers depend on every token of the question and the state."""
    encoder = tiny_encoder()
    fault = encoder.text(FAULT)

    def before(trees: Sequence[TokenTree]) -> None:
        if delay_s:
            threading.Event().wait(delay_s)
        while hold and Path(hold).exists():
            threading.Event().wait(0.01)
        for tree in trees:
            ids = tree.segments[0].ids
            if any(ids[start : start + len(fault)] == fault for start in range(len(ids))):
                raise EngineError("told to fail")

    engine = ScriptedEngine(before=before)
    readout = readout_by_name("branch")
    plain = Model(engine, encoder, readout, name="tiny")
    thresholds = Thresholds(
        error_budget=0.05, confidence_level=0.95, method="by hand", by_type={"noul": 0.9, "choice": 0.8, "score": 0.7}
    )
    return Model(engine, encoder, readout, Calibration(binding=plain.binding, thresholds=thresholds), name="tiny")


def folder_model(folder: str) -> Model:
    """A torch model from a folder, run by the label readout."""
    return Model.load(folder, readout="label")


def plan_from(options: dict[str, Any]) -> ServerPlan:
    """The plan that a test's options describe."""
    settings = ServingSettings(
        limits=RequestLimits(**options.get("limits", {})),
        batch=BatchLimits(**options.get("batch", {})),
        keys=tuple(ApiKey(**key) for key in options.get("keys", [])),
        cors_origins=tuple(options.get("cors_origins", [])),
    )
    folder = options.get("folder")
    load = (
        partial(folder_model, folder)
        if folder
        else partial(scripted_model, delay_s=options.get("delay_s", 0.0), hold=options.get("hold", ""))
    )
    return ServerPlan(load=load, settings=settings, **({"drain_s": 0.05} | options.get("plan", {})))


def announce(port: int) -> None:
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()


def main() -> None:
    options = json.loads(sys.argv[1])
    plan = plan_from(options)
    listener = bind("127.0.0.1", options.get("port", 0))
    port = listener.getsockname()[1]
    if workers := options.get("workers"):
        announce(port)
        Supervisor([plan] * workers, listener).run()
    else:
        serve_here(plan, listener, partial(announce, port))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
