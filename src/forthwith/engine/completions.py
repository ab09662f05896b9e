"""The completions route of a model server: the log-probabilities of the next token behind a prompt of ids, by id.

Reads the two answer layouts in use (`top_logprobs` maps, and `content` lists with ids) and refuses log-probabilities
that are not those of the model's full softmax.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from forthwith.encoding import Ids
from forthwith.engine.server_calls import ServerCalls, ServerRefusalError
from forthwith.errors import ArtifactError, ConfigError, EngineError

__all__ = ["MAX_NAMED_IDS", "CompletionsServer", "NextToken", "check_log_probs"]

MAX_NAMED_IDS = 128
"""Most candidates that one call may name (vLLM's bound)."""

_FORCING_BIAS = 100.0
_TOP_COUNTS = {"vllm": 1, "llamacpp": 1000}
_DEFAULT_TOP_COUNT = 5
_CERTAIN = -1e-6
_IMPOSSIBLE = -100.0
_SUM_TOLERANCE = 0.02
_ADVICE = "start it so that it tells raw ones (vLLM: --logprobs-mode raw_logprobs)"


class NextToken(NamedTuple):
    """What a server said about the token behind one prompt.

    Attributes:
        log_probs: natural log-probabilities by token id.
        chosen: id of the token it chose; None where the answer names no ids and no text of ours.
        chosen_log_prob: of that token.
        computed_tokens: prompt tokens that were not taken from a cache; None where the server does not say.
    """

    log_probs: dict[int, float]
    chosen: int | None
    chosen_log_prob: float
    computed_tokens: int | None


@dataclass(frozen=True)
class _Served:
    name: str
    kind: str
    context: int | None


class CompletionsServer:
    """One model of a completions server.

    Args:
        calls: the connection, to the address without `/v1`.
        model: the model's name on the server; None takes the only one it lists.
        token_text: text of one token id, to recognise tokens on servers that answer with texts alone.
        max_tokens: context length, for servers that do not tell.

    Raises:
        ConfigError: the model is not served, several are and none was named, or the context length is not known.
        EngineError: the server cannot be reached.
    """

    def __init__(
        self,
        calls: ServerCalls,
        model: str | None = None,
        *,
        token_text: Callable[[int], str] | None = None,
        max_tokens: int | None = None,
    ) -> None:
        self._calls = calls
        self._token_text = token_text
        served = _choose(_served_models(calls.get("/v1/models")), model)
        context = max_tokens or served.context
        if context is None:
            raise ConfigError(
                f"the server does not say how long {served.name}'s context is; give max_tokens", "max_tokens"
            )
        self.name = served.name
        self.kind = served.kind
        self.max_tokens = context - 1  # one token is generated
        self.can_force = True
        self._takes_extensions = True

    def next_token(self, prompt: Ids, candidates: Sequence[int], *, force: int | None = None) -> NextToken:
        """Log-probabilities behind a prompt: of the candidates where they can be named, else of the likeliest tokens.

        Args:
            prompt: token ids.
            candidates: ids wanted, at most `MAX_NAMED_IDS`.
            force: the token to make the server choose, so that its log-probability is told.

        Raises:
            EngineError: the server failed, or its log-probabilities are unusable.
        """
        body: dict[str, Any] = {
            "model": self.name,
            "prompt": list(prompt),
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": _TOP_COUNTS.get(self.kind, _DEFAULT_TOP_COUNT) if force is None else 1,
        }
        if force is not None:
            body["logit_bias"] = {str(force): _FORCING_BIAS}
        elif self._takes_extensions:
            body["logprob_token_ids"] = list(candidates)
        if self._takes_extensions:
            body["return_tokens_as_token_ids"] = True
        return self._read(self._post(body), force)

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._calls.post(_PATH, body)
        except ServerRefusalError as error:
            if error.status not in (400, 422) or not self._takes_extensions:
                raise
            plain = {name: value for name, value in body.items() if name not in _EXTENSIONS}
            answer = self._calls.post(_PATH, plain)
            self._takes_extensions = False  # it took the same call without them: a strict server
            return answer

    def _read(self, answer: dict[str, Any], force: int | None) -> NextToken:
        try:
            choice = answer["choices"][0]
            told = choice["logprobs"]
            rows = _rows(told)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise EngineError(
                f"the server's answer holds no usable log-probabilities ({error!r}); "
                "it must offer `logprobs` on completions"
            ) from error
        chosen, chosen_log_prob = rows[0]
        known = {token: value for token, value in rows if isinstance(token, int)}
        if not known:
            chosen = self._recognised(str(chosen), force)
            known = {} if chosen is None else {chosen: chosen_log_prob}
        check_log_probs(value for _, value in rows)
        return NextToken(known, cast("int | None", chosen), chosen_log_prob, _computed_tokens(answer))

    def _recognised(self, text: str, force: int | None) -> int | None:
        if self._token_text is None:
            raise EngineError(
                "the server names tokens by text, not by id, and two ids can print alike; serve the model with vLLM or "
                "llama.cpp, or give token_text so that forced tokens can be recognised"
            )
        return force if force is not None and self._token_text(force) == text else None

    def tokenize(self, text: str) -> Ids | None:
        """The ids the server itself would read a text as, control tokens as such; None where it has no such route."""
        body = {"content": text, "prompt": text, "model": self.name, "add_special": False, "add_special_tokens": False}
        try:
            tokens: Any = self._calls.post("/tokenize", body).get("tokens")
        except ServerRefusalError:
            return None
        return tuple(int(token) for token in tokens) if isinstance(tokens, list) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    def version(self) -> str:
        """The server's version, or nothing where it does not tell."""
        try:
            return str(self._calls.get("/version").get("version", ""))
        except EngineError:
            return ""


_PATH = "/v1/completions"
_EXTENSIONS = ("logprob_token_ids", "return_tokens_as_token_ids")


def check_log_probs(values: Iterable[float]) -> None:
    """Refuse log-probabilities that cannot come from one full softmax.

    Raises:
        EngineError: not numbers, above 0, summing to more than 1, or one-hot (a server that masks or rescales before it
            tells).
    """
    found = list(values)
    if any(math.isnan(value) or value > _SUM_TOLERANCE for value in found):
        raise EngineError(f"the server gave log-probabilities that are none: {found[:4]!r}; {_ADVICE}")
    ordered = sorted(found, reverse=True)
    if len(ordered) > 1 and ordered[0] >= _CERTAIN and ordered[1] <= _IMPOSSIBLE:
        raise EngineError(f"the server's log-probabilities are one-hot: it tells them after sampling rules; {_ADVICE}")
    if (total := sum(math.exp(value) for value in found)) > 1 + _SUM_TOLERANCE:
        raise EngineError(
            f"the server's probabilities of different tokens sum to {total:.3f}: it tells them after bias or sampling "
            f"rules; {_ADVICE}"
        )


def _rows(told: dict[str, Any]) -> list[tuple[int | str, float]]:
    """The chosen token first, then the others told at the first position, each once."""
    if isinstance(told.get("content"), list):
        first = told["content"][0]
        rows = [(row.get("id", row["token"]), _number(row["logprob"])) for row in (first, *first["top_logprobs"])]
    else:
        top: dict[str, Any] = (told.get("top_logprobs") or [{}])[0] or {}
        rows = [(told["tokens"][0], _number(told["token_logprobs"][0])), *((key, _number(top[key])) for key in top)]
    by_token = {_token(token): value for token, value in reversed(rows)}
    chosen = _token(rows[0][0])
    return [(chosen, by_token.pop(chosen)), *by_token.items()]


def _token(key: int | str) -> int | str:
    if isinstance(key, str) and key.startswith("token_id:"):
        return int(key.removeprefix("token_id:"))
    return key


def _number(value: object) -> float:
    if value is None:
        return -math.inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"a log-probability is {value!r}")
    return float(value)


def _computed_tokens(answer: dict[str, Any]) -> int | None:
    usage = cast("dict[str, Any]", answer.get("usage") or {})
    details = cast("dict[str, Any]", usage.get("prompt_tokens_details") or {})
    read, cached = usage.get("prompt_tokens"), details.get("cached_tokens")
    return read - cached if isinstance(read, int) and isinstance(cached, int) else None


def _served_models(answer: dict[str, Any]) -> list[_Served]:
    served: list[_Served] = []
    for entry in cast("list[dict[str, Any]]", answer.get("data") or []):
        meta = cast("dict[str, Any]", entry.get("meta") or {})
        context: int | None = entry.get("max_model_len") or meta.get("n_ctx")
        served.append(_Served(str(entry.get("id")), str(entry.get("owned_by", "")), context))
    return served


def _choose(served: Sequence[_Served], model: str | None) -> _Served:
    names = ", ".join(repr(entry.name) for entry in served) or "none"
    if model is None:
        if len(served) != 1:
            raise ConfigError(f"name one of the server's models; it serves {names}", "model")
        return served[0]
    for entry in served:
        if entry.name == model:
            return entry
    raise ConfigError(f"the server has no model {model!r}; it serves {names}", "model")


def check_same_tokenizer(server: CompletionsServer, encode: Callable[[str], Ids]) -> bool:
    """Whether the server could be asked and reads a probe text as the same ids.

    Raises:
        ArtifactError: it reads other ids: prompts would mean something else to it.
    """
    theirs = server.tokenize(_PROBE)
    if theirs is None:
        return False
    ours = tuple(encode(_PROBE))
    if ours != theirs:
        raise ArtifactError("the server's model has another tokenizer than the one given", ours, theirs)
    return True


_PROBE = "Pay 1,234.50 by 07:05 — naïve 中文 ½ ok?\n- a: b\n"
