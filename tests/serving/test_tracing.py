from __future__ import annotations

import pytest
from serving_process import body_of
from starlette.testclient import TestClient

from forthwith.errors import ConfigError
from forthwith.model import Model
from forthwith.serving.app import create_app
from forthwith.serving.tracing import NoTraces, configured_traces, traces_from


def test_spans_hang_below_the_callers_and_hold_no_content(model: Model) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    with TestClient(create_app(model, traces=traces_from(provider))) as client:
        client.post("/v1/systemone", json=body_of("SECRET"), headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"})
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert set(spans) == {"POST systemone", "queue", "model"}
    assert {format(span.context.trace_id, "032x") for span in spans.values()} == {trace}
    top = spans["POST systemone"]
    assert spans["queue"].parent.span_id == spans["model"].parent.span_id == top.context.span_id
    assert spans["queue"].end_time == spans["model"].start_time
    assert "SECRET" not in "".join(span.to_json() for span in spans.values())
    provider.shutdown()


def test_without_an_endpoint_there_are_no_traces() -> None:
    assert isinstance(configured_traces(None), NoTraces)


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ConfigError, match=r"forthwith\[trace\]"):
        configured_traces("http://127.0.0.1:4318/v1/traces")
