"""What operators watch, as Prometheus metrics. With several worker processes the counts of all are added up."""

from __future__ import annotations

import os
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from forthwith.decision import Decision
from forthwith.serving.worker import BatchReport, ModelWorker, Turn

__all__ = ["MULTIPROCESS_VARIABLE", "ServingMetrics"]

MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The client library's own variable: a folder that the processes of one server share."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_TOKENS = (64, 256, 1024, 4096, 16_384, 65_536)


class ServingMetrics:
    """The metrics of one app."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = self._counter("requests", "Answered HTTP requests.", "route", "status")
        self._seconds = self._histogram("request_seconds", "From headers to answer.", _SECONDS, "route")
        self._waited = self._histogram("queue_seconds", "Wait of a request for the model.", _SECONDS)
        self._engine = self._histogram("engine_seconds", "Time of a batch in the model.", _SECONDS)
        self._batch_requests = self._histogram("batch_requests", "Requests in a batch.", _SIZES)
        self._batch_tokens = self._histogram("batch_tokens", "Tokens in a batch, shared ones once.", _TOKENS)
        self._tokens = self._counter("tokens", "Tokens, computed or taken from the cache.", "kind")
        self._verdicts = self._counter("answers", "Answers by question type and verdict.", "type", "verdict")
        self._waiting = self._gauge("waiting_requests", "Requests in line.")
        self._waiting_tokens = self._gauge("waiting_tokens", "Tokens in line.")
        self._in_flight = self._gauge("in_flight_requests", "Requests between headers and answer.")
        self._cache = self._gauge("prefix_cache_bytes", "Memory held by encoded states.")
        self._model = self._gauge("model_info", "1, for the model that is served.", "model", "bundle")

    def model_is(self, name: str, bundle_id: str) -> None:
        """Name the served model."""
        self._model.labels(name, bundle_id).set(1)

    def request_done(self, route: str, status: int, seconds: float) -> None:
        """Count one HTTP request. Routes are names, never paths that a client made up."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def decided(self, turn: Turn) -> None:
        """Count one decision."""
        self._waited.observe(turn.waited_s)
        self._count_answers(turn.decision)

    def batch_done(self, report: BatchReport) -> None:
        """Count one batch."""
        self._engine.observe(report.seconds)
        self._batch_requests.observe(report.requests)
        self._batch_tokens.observe(report.tokens)
        self._tokens.labels("computed").inc(max(0, report.tokens - report.cached_tokens))
        self._tokens.labels("cached").inc(report.cached_tokens)

    def exposition(self, worker: ModelWorker, in_flight: int) -> tuple[bytes, str]:
        """The text that Prometheus reads, and its media type."""
        self._waiting.set(len(worker.line))
        self._waiting_tokens.set(worker.line.tokens)
        self._in_flight.set(in_flight)
        self._cache.set(getattr(getattr(worker.model.engine, "prefix_cache", None), "bytes", 0))
        registry = self._registry
        if os.environ.get(MULTIPROCESS_VARIABLE):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
        return generate_latest(registry), CONTENT_TYPE_LATEST

    def _count_answers(self, decision: Decision) -> None:
        for answer in decision.answers.values():
            self._verdicts.labels(answer.type, answer.verdict or "none").inc()

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"forthwith_{name}", text, labels, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: Any, *labels: str) -> Histogram:
        return Histogram(f"forthwith_{name}", text, labels, buckets=buckets, registry=self._registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        mode = "max" if labels else "livesum"
        return Gauge(f"forthwith_{name}", text, labels, registry=self._registry, multiprocess_mode=mode)
