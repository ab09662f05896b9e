"""Any server with OpenAI-style completions (vLLM, llama.cpp, …) as an engine: one prompt a leaf, as token ids.

Asks for the candidates by id where the server can, forces the missing ones as continuations, and where neither works
reports an upper bound of their probability. The server's own prefix cache shares a state between the leaves of a tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from forthwith.encoding import Ids, Read, TokenTree
from forthwith.engine.completions import (
    MAX_NAMED_IDS,
    CompletionsServer,
    NextToken,
    check_log_probs,
    check_same_tokenizer,
)
from forthwith.engine.protocol import EngineIdentity, FloatArray, TreeReading
from forthwith.engine.server_calls import CallSettings, ServerCalls

__all__ = ["OpenAIEngine"]


class _Ask(NamedTuple):
    prompt: Ids
    candidates: Ids
    force: int | None = None


@dataclass
class _Found:
    """All that is known of the token behind one prompt."""

    log_probs: dict[int, float] = field(default_factory=dict[int, float])
    lowest_of_top: float = 0.0
    computed_tokens: int | None = 0

    def add(self, ask: _Ask, told: NextToken) -> None:
        if ask.force is None:
            self.log_probs.update(told.log_probs)
            self.lowest_of_top = min(told.log_probs.values(), default=0.0)
        elif told.chosen == ask.force:
            self.log_probs[ask.force] = told.chosen_log_prob
        if self.computed_tokens is not None and told.computed_tokens is not None:
            self.computed_tokens += told.computed_tokens
        else:
            self.computed_tokens = None

    def missing(self, candidates: Iterable[int]) -> Ids:
        return tuple(token for token in candidates if token not in self.log_probs)


class OpenAIEngine:
    """Reads token trees on a completions server.

    Args:
        settings: where the server is; its address may end in `/v1` or not.
        model: the model's name there; None takes the only one.
        token_text: text of one token id, for servers that answer without ids.
        encode: text to ids, control tokens read as such; when given, the server's own tokenizer is compared with it.
        max_tokens: context length, for servers that do not tell.
        calls: a connection to use instead of one to `settings`.

    Raises:
        ArtifactError: the server has another tokenizer.
        ConfigError: the model is not served there, or must be named.
        EngineError: the server cannot be reached.
    """

    def __init__(
        self,
        settings: CallSettings,
        model: str | None = None,
        *,
        token_text: Callable[[int], str] | None = None,
        encode: Callable[[str], Ids] | None = None,
        max_tokens: int | None = None,
        calls: ServerCalls | None = None,
    ) -> None:
        settings = replace(settings, url=settings.url.rstrip("/").removesuffix("/v1"))
        self._calls = calls or ServerCalls(settings)
        self._server = CompletionsServer(self._calls, model, token_text=token_text, max_tokens=max_tokens)
        same = encode is not None and check_same_tokenizer(self._server, encode)
        version = self._server.version()
        self._identity = EngineIdentity(
            engine="openai",
            model=self._server.name,
            weights_sha256=f"remote:{settings.url}#{self._server.name}",
            precision="remote",
            device="remote",
            versions={self._server.kind or "server": version} if version else {},
            details={"server": self._server.kind, "tokenizer_checked": same},
        )

    @property
    def identity(self) -> EngineIdentity:
        """The server's address, model and version; the weights are named, not hashed."""
        return self._identity

    @property
    def max_tokens(self) -> int:
        """Longest prompt, one token less than the server's context."""
        return self._server.max_tokens

    def close(self) -> None:
        """Close the connections."""
        self._calls.close()

    def evaluate(self, trees: Sequence[TokenTree]) -> list[TreeReading]:
        """Read every tree: its first leaf alone, so that the server caches the state, then all others at once.

        A server computes with its own kernels and batches: expect its numbers to move with the load by what they allow.

        Raises:
            ContextTooLongError: a path is longer than `max_tokens`.
            EngineError: the server failed, or tells unusable log-probabilities.
        """
        wanted: dict[Ids, dict[int, None]] = {}
        for tree in trees:
            tree.check_fits(self.max_tokens)
            for read in tree.reads:
                wanted.setdefault(_prompt(tree, read), {}).update(dict.fromkeys(read.candidates))
        found = {prompt: _Found() for prompt in wanted}
        first = list(dict.fromkeys(_prompt(tree, tree.reads[0]) for tree in trees if tree.reads))
        rest = [prompt for prompt in wanted if prompt not in set(first)]
        for prompts in (first, rest):
            self._ask([ask for prompt in prompts for ask in _naming(prompt, tuple(wanted[prompt]))], found)
        self._force_missing(wanted, found)
        for known in found.values():
            check_log_probs(known.log_probs.values())
        return [_reading(tree, found) for tree in trees]

    def _force_missing(self, wanted: dict[Ids, dict[int, None]], found: dict[Ids, _Found]) -> None:
        asks = [_Ask(prompt, (), token) for prompt, tokens in wanted.items() for token in found[prompt].missing(tokens)]
        if not asks or not self._server.can_force:
            return
        self._ask(asks[:1], found)
        if found[asks[0].prompt].missing([asks[0].force or 0]):
            self._server.can_force = False  # it chose another token: it does not take logit_bias
            return
        self._ask(asks[1:], found)

    def _ask(self, asks: Sequence[_Ask], found: dict[Ids, _Found]) -> None:
        answers = self._calls.map(
            lambda ask: self._server.next_token(ask.prompt, ask.candidates, force=ask.force), asks
        )
        for ask, told in zip(asks, answers, strict=True):
            found[ask.prompt].add(ask, told)


def _prompt(tree: TokenTree, read: Read) -> Ids:
    unread = len(tree.segments[read.segment].ids) - read.offset - 1
    path = tree.path(read.segment)
    return path[: len(path) - unread]


def _naming(prompt: Ids, candidates: Ids) -> list[_Ask]:
    return [
        _Ask(prompt, candidates[start : start + MAX_NAMED_IDS]) for start in range(0, len(candidates), MAX_NAMED_IDS)
    ]


def _reading(tree: TokenTree, found: dict[Ids, _Found]) -> TreeReading:
    read = [(_prompt(tree, read), read.candidates) for read in tree.reads]
    values = [_values(found[prompt], candidates) for prompt, candidates in read]
    computed = [found[prompt].computed_tokens for prompt in dict.fromkeys(prompt for prompt, _ in read)]
    known = [tokens for tokens in computed if tokens is not None]
    cached = tree.size - sum(known) if len(known) == len(computed) else 0
    return TreeReading(tuple(v for v, _ in values), tuple(lost for _, lost in values), min(max(cached, 0), tree.size))


def _values(known: _Found, candidates: Ids) -> tuple[FloatArray, float]:
    """Log-probabilities of the candidates and the bound of what the unknown ones hold together.

    An unknown token has at most the probability that the known ones leave, and at most that of the last token told.
    """
    missing = known.missing(candidates)
    if not missing:
        return np.array([known.log_probs[token] for token in candidates], dtype=np.float64), 0.0
    left = max(1.0 - sum(math.exp(value) for value in known.log_probs.values()), 0.0)
    each = max(min(left, math.exp(known.lowest_of_top)), np.finfo(np.float64).tiny)
    log_probs = [known.log_probs.get(token, math.log(each)) for token in candidates]
    return np.array(log_probs, dtype=np.float64), min(left, each * len(missing))
