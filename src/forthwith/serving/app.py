"""The web app: routes, and the one path every decision takes from bytes to bytes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse
from starlette.middleware.cors import CORSMiddleware
from starlette.staticfiles import StaticFiles

from forthwith.errors import ArtifactError, ContextTooLongError, OverloadedError, UnknownModelError
from forthwith.model import Model, PreparedRequest
from forthwith.schema import parse_json
from forthwith.serving.body import BodyBudget, ClientLeftError, read_body
from forthwith.serving.dialect import Asked, Dialect
from forthwith.serving.failures import failure_of
from forthwith.serving.keys import ApiKey, KeyRing
from forthwith.serving.metrics import ServingMetrics
from forthwith.serving.model_files import ModelFiles, files_of
from forthwith.serving.openai_decisions import OPENAI_DECISIONS
from forthwith.serving.openapi import describe
from forthwith.serving.openrouter import OPEN_ROUTER
from forthwith.serving.rate_limits import RateLimits
from forthwith.serving.request_log import RequestLog, failure_lines
from forthwith.serving.settings import ServingSettings
from forthwith.serving.systemone import SYSTEM_ONE, render_models
from forthwith.serving.tracing import NoTraces, Traces
from forthwith.serving.worker import ModelWorker, Turn

__all__ = ["DecisionService", "create_app"]

_INLINE_BYTES = 4096  # smaller bodies are read and tokenised at once; a thread would cost more than it saves


class DecisionService:
    """Everything behind the routes: who may ask, what it costs, and the model's answer.

    Args:
        model: what answers.
        settings: limits, keys and names.
        traces: where spans go.
    """

    def __init__(self, model: Model, settings: ServingSettings, traces: Traces) -> None:
        self.model = model
        self.settings = settings
        self.traces = traces
        self.metrics = ServingMetrics()
        self.metrics.model_is(model.name, model.bundle_id)
        self.files = ModelFiles(files_of(model))
        self.worker = ModelWorker(model, settings.batch, check_model=self.files.check, observe=self.metrics.batch_done)
        self.names = _names(model, settings)
        self.in_flight = 0
        self.draining = False
        self._keys = KeyRing(settings.keys)
        self._rates = RateLimits(settings.keys, settings.rate_file)
        self._bodies = BodyBudget(settings.limits.buffered_bytes)
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="forthwith-prepare")

    async def answer(self, http: Request, dialect: Dialect) -> Response:
        """The response to one request for a decision, whatever happens."""
        note: dict[str, Any] = http.state.note
        self.in_flight += 1
        try:
            with self.traces.request(dialect.name, http.headers), self._bodies.reservation() as reserve:
                self._check_room()
                key = self._keys.holder(http.headers.get("authorization"))
                self._rates.take_request(key)
                self.files.check()
                body = await read_body(http.headers, http.receive, self.settings.limits, reserve)
                asked, prepared = await self._prepared(dialect, body, key)
                note |= {"tokens": prepared.tokens, "questions": len(asked.request.questions)}
                note |= {} if key is None else {"key": key.name}
                turn = await _unless_client_leaves(self.worker.decide(prepared), http.receive)
                return self._shown(asked, turn, note)
        except ClientLeftError:
            return Response(status_code=499)
        except Exception as error:  # the border: every error becomes a response here
            return self._failed(error, dialect, note)
        finally:
            self.in_flight -= 1
            note["closing"] = self.draining

    def check_ready(self) -> None:
        """Raise when requests should go elsewhere: draining, a stuck model, or files that changed."""
        if self.draining:
            raise OverloadedError("the server is shutting down")
        self.check_alive()
        self.files.check()

    def check_alive(self) -> None:
        """Raise when only a restart helps."""
        if not self.worker.is_alive:
            raise ArtifactError("the model's thread has ended")
        if self.worker.running_s() > self.settings.limits.stuck_s:
            raise ArtifactError(f"a batch has been running for {self.worker.running_s():.0f} s")

    def models(self) -> dict[str, Any]:
        """The list of models."""
        newest = self.files.newest
        date = self.settings.release_date or (newest.isoformat() if newest else "2026-01-01")
        described = {
            name: f"{self.model.name}, bundle {self.model.bundle_id}" + ("" if name == self.model.name else " (alias)")
            for name in self.names
        }
        return render_models(described, date)

    def authorise(self, http: Request) -> None:
        """Raise unless the request carries a known key, where keys are set."""
        self._keys.holder(http.headers.get("authorization"))

    def _check_room(self) -> None:
        if self.in_flight > self.settings.limits.in_flight:
            raise OverloadedError(f"{self.in_flight - 1} requests are being answered already; try again")

    async def _prepared(self, dialect: Dialect, body: bytes, key: ApiKey | None) -> tuple[Asked, PreparedRequest]:
        if len(body) <= _INLINE_BYTES:
            asked, prepared = self._read(dialect, body)
        else:
            loop = asyncio.get_running_loop()
            asked, prepared = await loop.run_in_executor(self._pool, self._read, dialect, body)
        self._rates.take_tokens(key, prepared.tokens)
        return asked, prepared

    def _read(self, dialect: Dialect, body: bytes) -> tuple[Asked, PreparedRequest]:
        asked = dialect.read(parse_json(body))
        if asked.request.model is not None and asked.request.model not in self.names:
            raise UnknownModelError(asked.request.model[:100], self.names)
        prepared = self.model.prepare(asked.request, asked.families)
        if prepared.tokens > self.settings.limits.tokens:
            raise ContextTooLongError(prepared.tokens, self.settings.limits.tokens)
        return asked, prepared

    def _shown(self, asked: Asked, turn: Turn, note: dict[str, Any]) -> Response:
        self.metrics.decided(turn)
        self.traces.turn(turn)
        note |= {"waited_s": turn.waited_s, "ran_s": turn.ran_s, "cached_tokens": turn.decision.usage.cached_tokens}
        return _json(asked.render(turn.decision))

    def _failed(self, error: Exception, dialect: Dialect, note: dict[str, Any]) -> Response:
        failure = failure_of(error)
        note["failure"] = failure.kind
        if failure.status >= 500:
            note |= failure_lines(error)
        return _json(dialect.render_failure(failure), failure.status, failure.all_headers())


def create_app(model: Model, settings: ServingSettings | None = None, *, traces: Traces | None = None) -> FastAPI:
    """A web app that answers with a model. The model's thread lives as long as the app's lifespan."""
    service = DecisionService(model, settings or ServingSettings(), traces or NoTraces())

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        service.worker.start()
        yield
        service.draining = True
        await asyncio.to_thread(service.worker.close)

    app = FastAPI(title="Forthwith", lifespan=lifespan, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.service = service
    app.add_middleware(RequestLog, finished=service.metrics.request_done)
    if service.settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(service.settings.cors_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
            expose_headers=["x-typesafe-request-id", "retry-after", "retry-after-ms"],
        )
    _add_decisions(app, service)
    _add_operations(app, service)
    describe(app, service.names)
    if service.settings.playground:
        _add_playground(app)
    return app


def _add_decisions(app: FastAPI, service: DecisionService) -> None:
    @app.post("/v1/systemone", name="systemone")
    async def systemone(http: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        return await service.answer(http, SYSTEM_ONE)

    @app.post("/v1/decisions", name="openai")
    async def openai(http: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        return await service.answer(http, OPENAI_DECISIONS)

    @app.post("/api/alpha/decisions", name="openrouter")
    async def openrouter(http: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        return await service.answer(http, OPEN_ROUTER)

    @app.get("/v1/models", name="models")
    async def models(http: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        return _or_failure(lambda: (service.authorise(http), service.models())[1])


def _add_operations(app: FastAPI, service: DecisionService) -> None:
    @app.get("/healthz", name="healthz")
    async def healthz() -> Response:  # pyright: ignore[reportUnusedFunction]
        return _or_failure(lambda: (service.check_alive(), {"status": "alive"})[1], 503)

    @app.get("/readyz", name="readyz")
    async def readyz() -> Response:  # pyright: ignore[reportUnusedFunction]
        return _or_failure(lambda: (service.check_ready(), {"status": "ready"})[1], 503)

    @app.get("/metrics", name="metrics")
    async def metrics() -> Response:  # pyright: ignore[reportUnusedFunction]
        text, media_type = service.metrics.exposition(service.worker, service.in_flight)
        return Response(text, media_type=media_type)


def _add_playground(app: FastAPI) -> None:
    @app.get("/", name="playground", include_in_schema=False)
    async def page() -> Response:  # pyright: ignore[reportUnusedFunction]
        policy = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        return FileResponse(_playground() / "index.html", headers={"content-security-policy": policy})

    app.mount("/playground", StaticFiles(directory=_playground()), name="playground-files")


def _or_failure(act: Callable[[], dict[str, Any]], status: int | None = None) -> Response:
    try:
        return _json(act())
    except Exception as error:  # the border, as above
        failure = failure_of(error)
        return _json(SYSTEM_ONE.render_failure(failure), status or failure.status, failure.all_headers())


def _json(body: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text.encode(), status, headers, media_type="application/json")


def _names(model: Model, settings: ServingSettings) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*settings.aliases, model.name)))


def _playground() -> Path:
    return Path(str(resources.files("forthwith.serving") / "playground"))


async def _unless_client_leaves(deciding: Awaitable[Turn], receive: Callable[[], Awaitable[Any]]) -> Turn:
    """The answer, or `ClientLeftError` as soon as nobody waits for it; its place in the line is then free."""
    answer = asyncio.ensure_future(deciding)
    leaving = asyncio.ensure_future(_until_left(receive))
    try:
        await asyncio.wait((answer, leaving), return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        raise ClientLeftError
    finally:
        for task in (answer, leaving):
            task.cancel()
        await asyncio.gather(answer, leaving, return_exceptions=True)


async def _until_left(receive: Callable[[], Awaitable[Any]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
