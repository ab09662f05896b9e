"""One serving process: loads the model, warms it, then opens the port; on SIGTERM it answers what it has and leaves."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import uvicorn

from forthwith.bundle import read_calibration
from forthwith.engine.served import load_served
from forthwith.engine.server_calls import CallSettings
from forthwith.errors import ConfigError
from forthwith.model import Model
from forthwith.readout import readout_by_name
from forthwith.serving.app import DecisionService, create_app
from forthwith.serving.connections import allow_open_files, bounded_protocol
from forthwith.serving.request_log import LOG_LEVELS, configure_logging
from forthwith.serving.settings import RequestLimits, ServingSettings
from forthwith.serving.tracing import configured_traces

__all__ = ["ModelChoice", "ServerPlan", "bind", "serve_here", "warm_up"]

_log = logging.getLogger("forthwith.serving")
_BACKLOG = 2048
_SWITCH_S = (
    0.001  # the event loop and the model's thread take turns; the default of 5 ms would be most of a short answer
)


@dataclass(frozen=True)
class ModelChoice:
    """Which model to load, as `Model.load` takes it; or which completions server runs it.

    Attributes:
        name: the model; with `engine_url`, the folder or hub id of its tokenizer (None: what the server calls it).
        engine_url: address of a vLLM, llama.cpp or other server with OpenAI-style completions.
        engine_model: the model's name there; None takes the only one.
        engine_key_env: environment variable with the bearer token that it wants; unset for a server that wants none.
        threads: of torch, for several processes on one CPU.
    """

    name: str | None = None
    adapter: str | None = None
    readout: str | None = None
    calibration: str | None = None
    device: str | None = None
    precision: str | None = None
    cache_dir: str | None = None
    engine_url: str | None = None
    engine_model: str | None = None
    engine_key_env: str = "OPENAI_API_KEY"
    threads: int | None = None

    def load(self) -> Model:
        """Load it."""
        if self.engine_url is not None:
            return self._served(self.engine_url)
        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)
        return Model.load(
            self.name,
            adapter=self.adapter,
            readout=self.readout,
            calibration=self.calibration,
            device=self.device,
            precision=self.precision,
            cache_dir=None if self.cache_dir is None else Path(self.cache_dir),
        )

    def _served(self, url: str) -> Model:
        settings = CallSettings(url, api_key=os.environ.get(self.engine_key_env))
        engine, encoder = load_served(settings, self.engine_model, tokenizer=self.name)
        calibration = None if self.calibration is None else read_calibration(self.calibration)
        readout = readout_by_name(self.readout or "label")
        return Model(engine, encoder, readout, calibration, name=engine.identity.model)


@dataclass(frozen=True)
class ServerPlan:
    """Everything one serving process needs to know.

    Attributes:
        load: gives the model; must be picklable for worker processes.
        settings: limits, keys, names.
        log_level: debug, info, warning or error.
        traces: OTLP/HTTP endpoint, or None.
        drain_s: how long a stopping process still takes requests, so that clients move on between two of theirs.
        answer_s: how long it then waits for the answers it owes.
    """

    load: Callable[[], Model] = field(default_factory=lambda: ModelChoice().load)
    settings: ServingSettings = field(default_factory=ServingSettings)
    log_level: str = "info"
    traces: str | None = None
    drain_s: float = 0.5
    answer_s: float = 60.0

    def __post_init__(self) -> None:
        if self.log_level not in LOG_LEVELS:
            raise ConfigError(f"unknown log level {self.log_level!r}; use {', '.join(LOG_LEVELS)}", "log_level")


class _DrainingServer(uvicorn.Server):
    """Stops in two steps: requests are still taken and every answer closes its connection; then it leaves."""

    def __init__(
        self, config: uvicorn.Config, service: DecisionService, drain_s: float, ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._service = service
        self._drain_s = drain_s
        self._ready = ready
        self._leave_at: float | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the port, then say so."""
        await super().startup(sockets)
        self._ready()

    async def on_tick(self, counter: int) -> bool:
        """Whether it is time to leave."""
        is_time = self._leave_at is not None and time.monotonic() >= self._leave_at
        return await super().on_tick(counter) or is_time

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to drain; a second SIGINT leaves at once."""
        del frame
        if self._leave_at is None:
            self._service.draining = True
            self._leave_at = time.monotonic() + self._drain_s
            _log.info("draining")
        elif sig == signal.SIGINT:
            self.should_exit = self.force_exit = True


def bind(host: str, port: int) -> socket.socket:
    """A bound TCP socket, not yet listening: until a process is ready, callers are refused.

    Raises:
        ConfigError: the address cannot be had.
    """
    listener: socket.socket | None = None
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
            0
        ]
        # asyncio sends without delay only on sockets that say they are TCP; else each kept connection waits 40 ms an answer
        listener = socket.socket(family, kind, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.setblocking(False)  # noqa: FBT003
    except OSError as error:
        if listener is not None:
            listener.close()
        why = error.strerror or error
        raise ConfigError(f"cannot listen on {host} port {port}: {why}; choose another", "port") from error
    return listener


def warm_up(model: Model) -> None:
    """Answer two made-up requests: no real one pays for first calls, and a model that fails fails here."""
    question = {"type": "choice", "instructions": "Which?", "criteria": {"this": None, "that": None}}
    for state in ("warm", "up " * 40):
        model.decide(state, {"question": question, "other": {"type": "noul", "instructions": "Is it so?"}})


def serve_here(plan: ServerPlan, listener: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
    """Serve in this process until SIGTERM or SIGINT.

    Args:
        plan: what to serve.
        listener: from `bind`.
        ready: called when the port is open.
    """
    configure_logging(plan.log_level)
    sys.setswitchinterval(_SWITCH_S)
    model = plan.load()
    warm_up(model)
    limits = _fitting(plan.settings.limits)
    app = create_app(model, plan.settings, traces=configured_traces(plan.traces))
    config = uvicorn.Config(
        app,
        http=bounded_protocol(limits),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=int(limits.keep_alive_s),
        timeout_graceful_shutdown=int(plan.answer_s),
        backlog=_BACKLOG,
    )
    host, port = listener.getsockname()[:2]
    fields = {"host": host, "port": port, "model": model.name, "bundle": model.bundle_id, "pid": os.getpid()}
    _log.info("serving", extra={"fields": fields})
    _DrainingServer(config, app.state.service, plan.drain_s, ready).run(sockets=[listener])


def _fitting(limits: RequestLimits) -> RequestLimits:
    connections = allow_open_files(limits.connections)
    if connections < limits.connections:
        fields = {"wanted": limits.connections, "allowed": connections}
        _log.warning("the system allows fewer open files than connections are wanted", extra={"fields": fields})
    return RequestLimits(**(vars(limits) | {"connections": connections}))
