"""DecisionModel: the only place that knows the order of the stages, from request to decision."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from forthwith.bundle import Bundle, check_binding
from forthwith.calibration import Binding, Calibration, softmax
from forthwith.deciding import BATCH_TOKENS, CoherentDecider, Decided, Decider, decide_stream
from forthwith.decision import Answer, Decision, Usage, confidence, verdict
from forthwith.encoding import Encoder, TokenTree
from forthwith.engine.protocol import Engine, TreeReading
from forthwith.model_parts import DEFAULT_BASE, DEFAULT_BUNDLE, LoadOptions, ModelParts, load_parts, load_served_parts
from forthwith.readout import Plan, Readout, Scores
from forthwith.schema import Record, Request, option_keys, parse_record, parse_request

__all__ = ["DEFAULT_BASE", "DEFAULT_BUNDLE", "Model", "PreparedRequest", "load_decider"]

_REMEMBERED_PRIORS = 512


@dataclass(frozen=True)
class PreparedRequest:
    """A request turned to token trees, ready for a batch."""

    request: Request
    families: Mapping[str, str]
    plan: Plan

    @property
    def tokens(self) -> int:
        """Tokens that deciding it runs through the model when nothing is cached."""
        return sum(tree.size for tree in self.plan.trees)


class Model:
    """A decision model: reads a state, answers typed questions, gives calibrated probabilities.

    Build one with `Model.load`; the constructor composes parts for tests and experiments.
    """

    def __init__(
        self,
        engine: Engine,
        encoder: Encoder,
        readout: Readout,
        calibration: Calibration | None = None,
        *,
        name: str = "model",
        bundle: Bundle | None = None,
    ) -> None:
        self.engine = engine
        self.encoder = encoder
        self.readout = readout
        self.name = name
        self.bundle = bundle
        self.calibration = calibration
        if calibration is not None:
            check_binding(calibration, self.binding, "the calibration")
        self._lock = threading.Lock()
        self._priors: OrderedDict[TokenTree, TreeReading] = OrderedDict()

    @staticmethod
    def load(
        name: str | Path | None = None,
        *,
        adapter: str | Path | None = None,
        readout: str | None = None,
        calibration: str | Path | Calibration | None = None,
        device: str | None = None,
        precision: str | None = None,
        revision: str | None = None,
        cache_dir: Path | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Model:
        """A model by name.

        Args:
            name: None for the default; the name of a shipped bundle or of the default base; a bundle folder; a model folder,
                a `.gguf` file or a hub id.
            adapter: a PEFT adapter folder for a bare base.
            readout: branch, label, label(orders=R,…), skeleton or text; None takes the bundle's, else branch with an adapter
                and text without.
            calibration: a calibration file for exactly this combination.
            device: cpu, cuda, …; None takes CUDA where there is one.
            precision: float32, bfloat16 or float16; None takes the bundle's, else float32 on CPU and bfloat16 on CUDA.
            revision: the hub revision of a hub id.
            cache_dir: where the default model is kept; None for the platform's place.
            progress: called with one line for each slow step, such as fetching the default model.

        Raises:
            UnknownModelError: nothing goes by that name.
            ArtifactError: something does not match, cannot be fetched or is broken.
        """
        options = LoadOptions(
            adapter=adapter,
            readout=readout,
            calibration=calibration,
            device=device,
            precision=precision,
            revision=revision,
            cache_dir=cache_dir,
            progress=progress,
        )
        return Model.of_parts(load_parts(None if name is None else str(name), options))

    @staticmethod
    def of_parts(parts: ModelParts) -> Model:
        """The model that loaded parts make."""
        return Model(
            parts.engine, parts.encoder, parts.readout, parts.calibration, name=parts.name, bundle=parts.bundle
        )

    @property
    def binding(self) -> Binding:
        """What the log-scores depend on."""
        return self._binding

    @cached_property
    def _binding(self) -> Binding:
        identity = self.engine.identity
        return Binding(
            weights_sha256=identity.weights_sha256,
            adapter_sha256=identity.adapter_sha256,
            template_sha256=self.readout.template_sha256,
            readout=self.readout.name,
            precision=identity.precision,
        )

    @property
    def bundle_id(self) -> str:
        """Twelve hexadecimal digits that change with anything the answers depend on."""
        return self._bundle_id

    @property
    def _is_calibrated(self) -> bool:
        return self.calibration is not None and not self.calibration.applies_nothing

    @cached_property
    def _bundle_id(self) -> str:
        if self.bundle is not None and self.calibration == self.bundle.calibration:
            return self.bundle.manifest.bundle_id
        calibration = self.calibration.model_dump_json() if self.calibration else ""
        return sha256((self.binding.model_dump_json() + calibration).encode()).hexdigest()[:12]

    def decide(
        self,
        state: Any,
        questions: Mapping[str, Any] | None = None,
        *,
        families: Mapping[str, str] | None = None,
        coherent: float | None = None,
    ) -> Decision:
        """The answers to typed questions about one state.

        Args:
            state: a string, an object or an array; or a whole `Request` or record, and no questions.
            questions: question id to `Noul`, `Choice` or `Score`, or the same as plain JSON objects.
            families: question id to the family whose calibration and threshold apply; default: the question type's.
            coherent: ask linked questions too and give the nearest coherent answers, with this weight on the question itself
                (see `CoherentDecider`); None asks only what was asked.

        Raises:
            RequestError: names the fields at fault; `ContextTooLongError` where it does not fit the model.
        """
        request = state if questions is None else {"state": state, "questions": questions}
        if coherent is not None:
            linked = CoherentDecider(self, coherent)
            return linked.decide_prepared([linked.prepare(request, families)])[0]
        return self.decide_prepared([self.prepare(request, families)])[0]

    async def adecide(
        self,
        state: Any,
        questions: Mapping[str, Any] | None = None,
        *,
        families: Mapping[str, str] | None = None,
        coherent: float | None = None,
    ) -> Decision:
        """`decide`, without blocking the event loop."""
        return await asyncio.to_thread(self.decide, state, questions, families=families, coherent=coherent)

    def decide_many(
        self, requests: Iterable[Request | Record | Mapping[str, Any]], *, batch_tokens: int = BATCH_TOKENS
    ) -> Iterator[Decision]:
        """One decision a request, in order, read lazily and batched by token budget.

        Raises:
            RequestError: at the first request that cannot be answered.
        """
        for outcome in decide_stream(self, map(_as_record, requests, count()), batch_tokens=batch_tokens):
            assert isinstance(outcome, Decided)  # without keep_going, the first failure is raised
            yield outcome.decision

    def prepare(
        self, request: Request | Record | Mapping[str, Any], families: Mapping[str, str] | None = None
    ) -> PreparedRequest:
        """A request checked and turned to tokens; safe to call from any thread.

        Raises:
            RequestError: it cannot be answered as it stands.
        """
        if isinstance(request, Record):
            families = request.known_families() if families is None else families
            request = request.request
        checked = parse_request(request)
        plan = self.readout.plan(checked, self.encoder)
        for tree in plan.trees:
            tree.check_fits(self.engine.max_tokens)
        return PreparedRequest(checked, families or {}, plan)

    def decide_prepared(self, prepared: Sequence[PreparedRequest]) -> list[Decision]:
        """One decision a prepared request, evaluated as one batch; calls from several threads take turns."""
        started = time.perf_counter()
        with self._lock:
            readings, priors = self._evaluate([item.plan for item in prepared])
        latency_ms = (time.perf_counter() - started) * 1000
        return [
            self._decision(item, trees, prior, latency_ms)
            for item, trees, prior in zip(prepared, readings, priors, strict=True)
        ]

    def _evaluate(self, plans: Sequence[Plan]) -> tuple[list[list[TreeReading]], list[list[TreeReading]]]:
        new_priors = list({tree: None for plan in plans for tree in plan.prior_trees if tree not in self._priors})
        trees = [tree for plan in plans for tree in plan.trees]
        found = self.engine.evaluate([*trees, *new_priors])
        self._priors.update(zip(new_priors, found[len(trees) :], strict=True))
        priors = [[self._priors[tree] for tree in plan.prior_trees] for plan in plans]
        while len(self._priors) > _REMEMBERED_PRIORS:
            self._priors.popitem(last=False)
        rest = iter(found)
        return [[next(rest) for _ in plan.trees] for plan in plans], priors

    def _decision(
        self,
        prepared: PreparedRequest,
        readings: Sequence[TreeReading],
        priors: Sequence[TreeReading],
        latency_ms: float,
    ) -> Decision:
        scores = self.readout.scores(prepared.plan, readings, priors)
        answers = {
            qid: self._answer(question, scores[qid], prepared.families.get(qid))
            for qid, question in prepared.request.questions.items()
        }
        usage = Usage(
            input_tokens=prepared.tokens,
            cached_tokens=sum(reading.cached_tokens for reading in readings),
            leaves=sum(len(tree.reads) for tree in prepared.plan.trees),
            latency_ms=latency_ms,
        )
        return Decision(answers, self.name, self._is_calibrated, usage, self.bundle_id)

    def _answer(self, question: Any, scores: Scores, family: str | None) -> Answer:
        calibration = self.calibration
        if calibration is None:
            probabilities = softmax(scores.log_scores)
        else:
            probabilities = calibration.probabilities(scores.log_scores, question.type, family)
        thresholds = calibration.thresholds if calibration else None
        return Answer(
            type=question.type,
            keys=option_keys(question),
            probabilities=probabilities,
            log_scores=scores.log_scores,
            confidence=confidence(question.type, probabilities),
            verdict=None if thresholds is None else verdict(probabilities, thresholds.threshold(question.type, family)),
            allowed_mass=scores.allowed_mass,
            lost_mass=scores.lost_mass,
            none_score=scores.none_score,
            family=family,
        )


def load_decider(name: str | None = None, *, api_key: str | None = None, **options: Any) -> Decider:
    """A local model as `Model.load` takes it, or one elsewhere.

    Args:
        name: what `Model.load` takes; `systemone:URL[#MODEL]` or a plain http(s) address for a remote decision API;
            `openai:URL[#MODEL]` for a model on a completions server, which is read out and calibrated here.
        api_key: sent as a bearer token to what is elsewhere.
        options: the fields of `LoadOptions`.

    Raises:
        ConfigError: an option that this kind of model has no use for.
        UnknownModelError, ArtifactError: as `Model.load`.
        EngineError: a completions server that cannot be reached.
    """
    chosen = LoadOptions(**options)
    kind, address, model = _split_name(name)
    if kind == "openai":
        return Model.of_parts(load_served_parts(address, model, chosen, api_key))
    if kind == "systemone":
        unused = ("adapter", "readout", "calibration", "device", "precision", "revision", "tokenizer")
        chosen.refuse(unused, "a remote API")
        from forthwith.engine.systemone import SystemOneEngine

        return SystemOneEngine(address, model=model or "jev-latest", api_key=api_key)
    return Model.of_parts(load_parts(name, chosen))


def _split_name(name: str | None) -> tuple[str, str, str | None]:
    """Kind (local, systemone, openai), address, and the model's name there."""
    if name is None or not name.startswith(("systemone:", "openai:", "http://", "https://")):
        return "local", "", None
    kind = "openai" if name.startswith("openai:") else "systemone"
    address, _, model = name.removeprefix(f"{kind}:").partition("#")
    return kind, address, model or None


def _as_record(request: Request | Record | Mapping[str, Any], number: int) -> Record:
    if isinstance(request, Record):
        return request
    if isinstance(request, Request):
        return Record(id=f"request-{number}", state=request.state, questions=request.questions)
    return parse_record(request, fallback_id=f"request-{number}")
