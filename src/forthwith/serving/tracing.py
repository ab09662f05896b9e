"""OpenTelemetry spans, when they are configured: one a request, one for the wait and one for the model inside it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Mapping
from typing import Any, Protocol

from forthwith.errors import ConfigError
from forthwith.serving.worker import Turn

__all__ = ["NoTraces", "Traces", "configured_traces", "traces_from"]


class Traces(Protocol):
    """Where spans go."""

    def request(self, route: str, headers: Mapping[str, str]) -> contextlib.AbstractContextManager[Any]:
        """A span around one request, below the caller's where its headers name one."""
        ...

    def turn(self, turn: Turn) -> None:
        """Spans for the wait and the model's time of a decision that has just come back."""
        ...


class NoTraces:
    """Traces that go nowhere."""

    @contextlib.contextmanager
    def request(self, route: str, headers: Mapping[str, str]) -> Generator[None]:
        """Nothing."""
        del route, headers
        yield

    def turn(self, turn: Turn) -> None:
        """Nothing."""
        del turn


class _OpenTelemetry:
    def __init__(self, provider: Any) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._tracer = provider.get_tracer("forthwith.serving")
        self._propagator = TraceContextTextMapPropagator()

    @contextlib.contextmanager
    def request(self, route: str, headers: Mapping[str, str]) -> Generator[Any]:
        from opentelemetry.trace import SpanKind

        parent = self._propagator.extract(dict(headers))
        with self._tracer.start_as_current_span(
            f"POST {route}", context=parent, kind=SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:
            yield span

    def turn(self, turn: Turn) -> None:
        end_ns = time.time_ns()
        model_ns = end_ns - int(turn.ran_s * 1e9)
        wait_ns = model_ns - int(turn.waited_s * 1e9)
        usage = turn.decision.usage
        attributes = {"forthwith.input_tokens": usage.input_tokens, "forthwith.cached_tokens": usage.cached_tokens}
        self._tracer.start_span("queue", start_time=wait_ns).end(model_ns)
        self._tracer.start_span("model", start_time=model_ns, attributes=attributes).end(end_ns)


def traces_from(provider: Any) -> Traces:
    """Traces through an OpenTelemetry tracer provider."""
    return _OpenTelemetry(provider)


def configured_traces(endpoint: str | None) -> Traces:
    """Traces to an OTLP/HTTP endpoint, or nowhere when there is none.

    Raises:
        ConfigError: an endpoint is given and the OpenTelemetry packages are not installed.
    """
    if endpoint is None:
        return NoTraces()
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # pyright: ignore[reportMissingImports]
            OTLPSpanExporter,  # pyright: ignore[reportUnknownVariableType]
        )
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigError("traces need the OpenTelemetry packages; install forthwith[trace]", "traces") from error
    provider = TracerProvider(resource=Resource.create({"service.name": "forthwith"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))  # pyright: ignore[reportUnknownArgumentType]
    return traces_from(provider)
