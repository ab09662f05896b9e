"""Records to prediction lines: streamed, in batches, resumed after a crash at any moment, each question asked once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from forthwith.deciding import Decider
from forthwith.decision import Decision
from forthwith.errors import ArtifactError, DataError, EngineError, RequestError
from forthwith.evaluation.checkpoint import Fingerprint, PredictionFile, PredictionMeta, Refusal, file_sha256
from forthwith.evaluation.patience import Patience
from forthwith.evaluation.predictions import Prediction
from forthwith.schema import BadLine, Record, Request, iter_records

__all__ = ["PredictOptions", "PredictProgress", "predict"]

_LISTED_REFUSALS = 100


@dataclass(frozen=True)
class PredictOptions:
    """How to predict; none of it changes a number.

    Attributes:
        batch_tokens: most tokens decided together; a longer record goes alone.
        batch_records: most records decided together; None: 32, or 1 for a remote model, to keep each answer.
        limit: stop after this many records of the file.
        keep_going: list lines and records that cannot be answered, instead of stopping at the first.
        concurrency: batches in flight; None: 1, or 4 for a remote model.
        patience: how long to try again what may succeed later.
        usd_per_million_tokens: price of a million input tokens, for the cost in the sidecar.
    """

    batch_tokens: int = 16_384
    batch_records: int | None = None
    limit: int | None = None
    keep_going: bool = False
    concurrency: int | None = None
    patience: Patience = field(default_factory=Patience)
    usd_per_million_tokens: float | None = None


class PredictProgress(NamedTuple):
    """How far a run is: records finished of the file, questions answered, input tokens; earlier runs included."""

    records: int
    questions: int
    input_tokens: int


class _Item(NamedTuple):
    record: Record
    qids: tuple[str, ...]
    prepared: Any


def predict(
    records: str | Path,
    model: Decider,
    out: str | Path,
    *,
    options: PredictOptions | None = None,
    on_progress: Callable[[PredictProgress], None] | None = None,
) -> PredictionMeta:
    """Answer every question of a file of records, one line each; what `out` already holds is not asked again.

    Args:
        records: JSONL, gzipped JSONL or Parquet.
        model: the model to ask.
        out: the prediction file; its sidecar is written beside it.
        options: batch sizes, limit, what to do with bad lines.
        on_progress: called after every batch.

    Returns:
        The sidecar: counts, tokens, cost, time, refusals.

    Raises:
        ArtifactError: `out` belongs to other data or another model; the message names what differs.
        DataError: a bad line, a repeated record id, or a record that the model cannot read (unless `keep_going`).
        EngineError: the model failed, also after retries; run again to go on from there.
    """
    options = options or PredictOptions()
    fingerprint = Fingerprint(data_sha256=file_sha256(records), model=model.name, binding=model.binding)
    with PredictionFile(out, fingerprint) as file:
        run = _Run(Path(records), model, file, options, fingerprint, on_progress)
        file.write_meta(run.summary(complete=False))
        try:
            run.answer_all()
        except BaseException:
            file.write_meta(run.summary(complete=False))
            raise
        meta = run.summary(complete=not run.was_limited)
        file.write_meta(meta)
        return meta


class _Run:
    """One pass over the data, writing what is not there yet."""

    def __init__(
        self,
        path: Path,
        model: Decider,
        file: PredictionFile,
        options: PredictOptions,
        fingerprint: Fingerprint,
        on_progress: Callable[[PredictProgress], None] | None,
    ) -> None:
        self.path, self.model, self.file, self.options = path, model, file, options
        self.fingerprint, self.on_progress = fingerprint, on_progress
        self.records, self.refused, self.was_limited = 0, 0, False
        self.refusals: list[Refusal] = []
        self.started = time.monotonic()
        self.is_remote = remote = model.binding.weights_sha256.startswith("remote:")
        self.answered_by = file.meta.answered_by if file.meta else None
        self.charged = 0.0
        self.batch_records = options.batch_records or (1 if remote else 32)
        self.concurrency = options.concurrency or (4 if remote else 1)

    def answer_all(self) -> None:
        """Ask batch after batch, at most `concurrency` at a time, and write each as it comes back."""
        with ThreadPoolExecutor(max_workers=self.concurrency) as pool:
            flying: dict[Future[list[Decision]], list[_Item]] = {}
            try:
                for batch in self._batches():
                    if len(flying) >= self.concurrency:
                        self._land(flying)
                    flying[pool.submit(self._decide, [item.prepared for item in batch])] = batch
                while flying:
                    self._land(flying)
            except BaseException:
                for future in flying:
                    future.cancel()
                raise

    def summary(self, *, complete: bool) -> PredictionMeta:
        """The sidecar as of now."""
        before = self.file.meta
        charged = self.charged + ((before.cost_usd or 0.0) if before else 0.0)
        price = self.options.usd_per_million_tokens
        return PredictionMeta(
            fingerprint=self.fingerprint,
            bundle_id=self.model.bundle_id,
            answered_by=self.answered_by,
            data=str(self.path),
            complete=complete,
            records=self.records,
            questions=len(self.file.done),
            input_tokens=self.file.input_tokens,
            cached_tokens=self.file.cached_tokens,
            cost_usd=(charged or None) if price is None else self.file.input_tokens * price / 1e6,
            seconds=(before.seconds if before else 0.0) + time.monotonic() - self.started,
            runs=(before.runs if before else 0) + 1,
            refused=self.refused,
            refusals=self.refusals,
        )

    def _decide(self, prepared: Sequence[Any]) -> list[Decision]:
        return self.options.patience.call(lambda: self.model.decide_prepared(prepared))

    def _land(self, flying: dict[Future[list[Decision]], list[_Item]]) -> None:
        finished, _ = wait(flying, return_when=FIRST_COMPLETED)
        for future in finished:
            batch = flying.pop(future)
            try:
                decisions = future.result()
            except RequestError as error:
                self._refuse_batch(batch, error)
                continue
            except EngineError as error:
                message = f"{error}; {len(self.file.done)} answers are kept, run again to go on from there"
                raise EngineError(message, retryable=error.retryable) from error
            self._keep(batch, decisions)

    def _batches(self) -> Iterator[list[_Item]]:
        batch: list[_Item] = []
        tokens = 0
        for record in self._records():
            item = self._prepare(record)
            if item is None:
                continue
            full = tokens + item.prepared.tokens > self.options.batch_tokens or len(batch) >= self.batch_records
            if batch and full:
                yield batch
                batch, tokens = [], 0
            batch.append(item)
            tokens += item.prepared.tokens
        if batch:
            yield batch

    def _records(self) -> Iterator[Record]:
        seen: set[str] = set()
        for number, item in enumerate(iter_records(self.path)):
            if self.options.limit is not None and number >= self.options.limit:
                self.was_limited = True
                return
            if isinstance(item, BadLine):
                self._refuse(f"line {item.line}", item.error.reason, item.error)
            elif item.id in seen:
                reason = f"the record id {item.id!r} appears twice; ids must be unique"
                self._refuse(f"record {item.id}", reason, DataError(reason, self.path))
            else:
                seen.add(item.id)
                yield item
        if not seen and not self.refused:
            raise DataError("holds no records", self.path)

    def _prepare(self, record: Record) -> _Item | None:
        """The questions of a record that have no line yet, ready to ask; None if there are none or it is refused."""
        qids = tuple(qid for qid in record.questions if (record.id, qid) not in self.file.done)
        if not qids:
            self.records += 1
            self._report()
            return None
        request = Request(state=record.state, questions={qid: record.questions[qid] for qid in qids})
        try:
            prepared = self.model.prepare(request, {qid: record.family(qid) for qid in qids})
        except RequestError as error:
            reason = f"record {record.id!r} cannot be answered: {error}"
            self._refuse(f"record {record.id}", str(error), DataError(reason, self.path))
            return None
        return _Item(record, qids, prepared)

    def _refuse_batch(self, batch: list[_Item], error: RequestError) -> None:
        """A request failed only when it was asked: find out whose it is by asking one by one."""
        for item in batch:
            try:
                decision = self._decide([item.prepared])[0] if len(batch) > 1 else None
            except RequestError as own:
                decision, error = None, own
            if decision is None:
                reason = f"record {item.record.id!r} cannot be answered: {error}"
                self._refuse(f"record {item.record.id}", str(error), DataError(reason, self.path))
            else:
                self._keep([item], [decision])

    def _keep(self, batch: Sequence[_Item], decisions: Sequence[Decision]) -> None:
        """Write the answers of a batch, and the sidecar as it now stands."""
        for decision in decisions:
            self.charged += float(decision.extra.get("cost", 0.0))
            if self.is_remote:
                self._check_answerer(f"{decision.model} {decision.bundle_id}".strip())
        pairs = zip(batch, decisions, strict=True)
        self.file.append([line for item, decision in pairs for line in self._lines(item, decision)])
        self.records += len(batch)
        self.file.write_meta(self.summary(complete=False))
        self._report()

    def _check_answerer(self, name: str) -> None:
        if self.answered_by not in (None, name):
            raise ArtifactError(
                f"{self.file.path} holds answers of another model than the server now is; ask for a pinned name, or "
                "begin another --out",
                self.answered_by,
                name,
            )
        self.answered_by = name

    def _refuse(self, where: str, reason: str, error: DataError) -> None:
        if not self.options.keep_going:
            raise error
        self.refused += 1
        if len(self.refusals) < _LISTED_REFUSALS:
            self.refusals.append(Refusal(where=where, reason=reason))

    def _lines(self, item: _Item, decision: Decision) -> list[Prediction]:
        return _lines(item, decision, self.model.binding.readout)

    def _report(self) -> None:
        if self.on_progress is not None:
            self.on_progress(PredictProgress(self.records, len(self.file.done), self.file.input_tokens))


def _lines(item: _Item, decision: Decision, readout: str) -> list[Prediction]:
    """The lines of one record. A request's tokens are spread over its lines so that lines sum to requests."""
    count = len(item.qids)
    usage = decision.usage
    inputs, cached = divmod(usage.input_tokens, count), divmod(usage.cached_tokens, count)
    lines: list[Prediction] = []
    for position, qid in enumerate(item.qids):
        answer = decision.answers.get(qid)
        if answer is None or not np.all(np.isfinite(answer.log_scores)):
            found = "no answer" if answer is None else f"log-scores {answer.log_scores.tolist()}"
            raise EngineError(f"record {item.record.id!r}, question {qid!r}: the model gave {found}")
        log_scores = answer.log_scores
        weights = np.exp(log_scores - log_scores.max())
        lines.append(
            Prediction.model_validate(
                {
                    "id": item.record.id,
                    "qid": qid,
                    "type": answer.type,
                    "family": item.record.family(qid),
                    "options": list(answer.keys),
                    "log_scores": log_scores.tolist(),
                    "probabilities": (weights / weights.sum()).tolist(),
                    "readout": readout,
                    "input_tokens": inputs[0] + (inputs[1] if position == 0 else 0),
                    "cached_tokens": cached[0] + (cached[1] if position == 0 else 0),
                    "latency_ms": usage.latency_ms,
                    "allowed_mass": answer.allowed_mass,
                    "lost_mass": answer.lost_mass,
                    "none_score": answer.none_score,
                }
            )
        )
    return lines
