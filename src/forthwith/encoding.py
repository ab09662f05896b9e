"""Text to token trees: ids, branches and candidate ids. Uses a tokenizer, never weights.

A `TokenTree` is the engine's only input. Its segments form a tree; a token attends to the segments above its own and to the
earlier tokens of its own segment, never to a sibling, and positions restart at each fork. A `Read` asks for the log-probabilities
of candidate tokens right behind one token of the tree. A prompt *is* its ids: segments are tokenised one by one and never re-joined.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from tokenizers import Tokenizer

from forthwith.errors import ArtifactError, ContextTooLongError

__all__ = ["Encoder", "Read", "Segment", "TokenTree", "TreeBuilder"]

Ids = tuple[int, ...]
_T = TypeVar("_T")


class Segment(NamedTuple):
    """A run of tokens below a parent segment (-1 for a root)."""

    ids: Ids
    parent: int


class Read(NamedTuple):
    """Log-probabilities of `candidates` as the token that follows `ids[offset]` of a segment."""

    segment: int
    offset: int
    candidates: Ids


@dataclass(frozen=True)
class TokenTree:
    """Segments, parents before children, and what to read from them. The first segment is the only root."""

    segments: tuple[Segment, ...]
    reads: tuple[Read, ...]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Position of each segment's first token: the tokens on the path above it."""
        starts: list[int] = []
        for segment in self.segments:
            above = segment.parent
            starts.append(0 if above < 0 else starts[above] + len(self.segments[above].ids))
        return tuple(starts)

    @cached_property
    def size(self) -> int:
        """Tokens to run through the model with everything shared encoded once."""
        return sum(len(segment.ids) for segment in self.segments)

    @cached_property
    def depth(self) -> int:
        """Tokens on the longest path from the root to a leaf: what the context limit applies to."""
        return max(start + len(segment.ids) for start, segment in zip(self.starts, self.segments, strict=True))

    @cached_property
    def plain_size(self) -> int:
        """Tokens that one separate prompt for each read segment would take."""
        return sum(
            self.starts[index] + len(self.segments[index].ids) for index in {read.segment for read in self.reads}
        )

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each segment, the segments right below it."""
        below: list[list[int]] = [[] for _ in self.segments]
        for index, segment in enumerate(self.segments[1:], start=1):
            below[segment.parent].append(index)
        return tuple(map(tuple, below))

    @cached_property
    def subtrees(self) -> tuple[tuple[int, ...], ...]:
        """For each segment, itself and all segments below it, parents before children."""
        below: list[list[int]] = [[index] for index in range(len(self.segments))]
        for index in range(len(self.segments) - 1, 0, -1):
            below[self.segments[index].parent].extend(below[index])
        return tuple(tuple(sorted(indices)) for indices in below)

    def path(self, segment: int) -> Ids:
        """All tokens from the root to the end of a segment: the plain prompt of a leaf."""
        parts: list[Ids] = []
        while segment >= 0:
            parts.append(self.segments[segment].ids)
            segment = self.segments[segment].parent
        return tuple(token for part in reversed(parts) for token in part)

    def check_fits(self, limit: int) -> None:
        """Raise `ContextTooLongError` when a path is longer than `limit` tokens."""
        if self.depth > limit:
            raise ContextTooLongError(self.depth, limit)


class TreeBuilder:
    """Grows a `TokenTree`, segment by segment."""

    def __init__(self, root: Ids) -> None:
        self._segments = [Segment(root, -1)]
        self._reads: list[Read] = []

    def add(self, ids: Ids, parent: int = 0) -> int:
        """Hang a segment below another; gives its index."""
        self._segments.append(Segment(ids, parent))
        return len(self._segments) - 1

    def read(self, segment: int, candidates: Ids, offset: int | None = None) -> int:
        """Read candidates behind a segment's last token (or the token at `offset`); gives the read's index."""
        last = len(self._segments[segment].ids) - 1
        self._reads.append(Read(segment, last if offset is None else offset, candidates))
        return len(self._reads) - 1

    def read_continuation(self, parent: int, ids: Ids) -> range:
        """Read the log-probability of each token of `ids` continuing `parent`; gives the reads' indices, one a token."""
        first = self.read(parent, ids[:1])
        if len(ids) > 1:
            segment = self.add(ids[:-1], parent)
            for offset, token in enumerate(ids[1:]):
                self.read(segment, (token,), offset)
        return range(first, len(self._reads))

    def build(self) -> TokenTree:
        """The finished tree."""
        return TokenTree(tuple(self._segments), tuple(self._reads))


_SENTINEL = "STATE-GOES-HERE-7f3a"
_REMEMBERED_TEXTS = 20_000
_SHORT_TEXT = 400


class Encoder:
    """A tokenizer with its chat format, thinking off: text in, ids out.

    Template text and caller text are tokenised with special tokens switched off, so that no text can open or close a turn;
    only the chat format itself may hold special tokens.
    """

    def __init__(self, tokenizer: Any) -> None:
        """Wrap a Hugging Face tokenizer.

        Raises:
            ArtifactError: the tokenizer has no fast (Rust) backend.
        """
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ArtifactError("the tokenizer has no fast backend; convert it to a tokenizer.json")
        self._chat = tokenizer
        self._plain = _copy_of(backend, encode_special_tokens=True)
        self._with_markup = _copy_of(backend, encode_special_tokens=False)
        self._frames: dict[str, tuple[Ids, Ids]] = {}
        self._short_texts: dict[str, Ids] = {}
        self._found: dict[object, Any] = {}

    def text(self, text: str) -> Ids:
        """Ids of plain text; special tokens in it are read as ordinary characters."""
        return self.texts([text])[0]

    def texts(self, texts: Sequence[str]) -> list[Ids]:
        """Ids of many plain texts; short ones are remembered."""
        known = self._short_texts
        missing = [text for text in texts if text not in known]
        encodings = self._plain.encode_batch_fast(missing, add_special_tokens=False) if missing else []
        found = {text: tuple(encoding.ids) for text, encoding in zip(missing, encodings, strict=True)}
        wanted = [found[text] if text in found else known[text] for text in texts]
        if len(known) > _REMEMBERED_TEXTS:
            known = self._short_texts = {}  # a new one, not emptied: another thread may be reading the old one
        known.update((text, ids) for text, ids in found.items() if len(text) <= _SHORT_TEXT)
        return wanted

    def _markup(self, text: str) -> Ids:
        return tuple(self._with_markup.encode(text, add_special_tokens=False).ids)

    def frame(self, system: str) -> tuple[Ids, Ids]:
        """Ids that open the user turn (with the system text before it), and that close it and open the assistant's turn."""
        if system not in self._frames:
            opening, closing = self._render_frame(system)
            self._frames[system] = (self._markup(opening), self._markup(closing))
        return self._frames[system]

    def _render_frame(self, system: str) -> tuple[str, str]:
        if not getattr(self._chat, "chat_template", None):
            begin = getattr(self._chat, "bos_token", None) or ""
            return f"{begin}{system}\n\n", "\n\nAnswer: "
        user = {"role": "user", "content": _SENTINEL}
        failure: Exception | None = None
        for messages in ([{"role": "system", "content": system}, user], [user]):
            try:
                text: str = self._chat.apply_chat_template(
                    messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
                )
            except Exception as error:
                failure = error
                continue
            opening, found, closing = text.partition(_SENTINEL)
            if not found:
                raise ArtifactError("the chat template drops the user's text; use a model with another template")
            if len(messages) == 1:  # no system role: its text opens the user's turn
                opening += f"{system}\n\n"
            return opening, closing
        raise ArtifactError(f"the chat template cannot be rendered: {failure}") from failure

    def candidates(self, cue: Ids, texts: Sequence[str]) -> Ids:
        """The token that continues `cue` for each text.

        Raises:
            ArtifactError: a text is not exactly one more token behind the cue, or two texts share a token.
        """
        ids = [self.single_token(cue, text) for text in texts]
        bad = [text for text, token in zip(texts, ids, strict=True) if token is None]
        if bad:
            raise ArtifactError(f"the labels {bad!r} are not single tokens behind the answer cue in this tokenizer")
        chosen = tuple(token for token in ids if token is not None)
        if len(set(chosen)) < len(chosen):
            raise ArtifactError(f"two of the labels {list(texts)!r} are the same token in this tokenizer")
        return chosen

    def single_token(self, cue: Ids, text: str) -> int | None:
        """The one token by which `text` continues `cue`, or None where it takes more or changes the cue's own tokens."""
        tail = self._cue_text(cue)
        joint = self._markup(tail + text)
        alone = self._markup(tail)
        if len(joint) == len(alone) + 1 and joint[:-1] == alone:
            return joint[-1]
        return None

    def _cue_text(self, cue: Ids) -> str:
        return self._with_markup.decode(list(cue[-16:]), skip_special_tokens=False)

    def word_pair(self, cue: Ids, pairs: Iterable[tuple[str, str]]) -> tuple[Ids, tuple[str, str]]:
        """The tokens and spelling of the first pair of words whose both members are single tokens behind the cue.

        Raises:
            ArtifactError: none of the pairs is.
        """
        return self.remembered(("pair", cue), lambda: self._find_word_pair(cue, pairs))

    def _find_word_pair(self, cue: Ids, pairs: Iterable[tuple[str, str]]) -> tuple[Ids, tuple[str, str]]:
        for pair in pairs:
            first, second = (self.single_token(cue, word) for word in pair)
            if first is not None and second is not None and first != second:
                return (first, second), pair
        raise ArtifactError("neither yes/no nor Yes/No are single tokens behind the answer cue in this tokenizer")

    def remembered(self, key: object, find: Callable[[], _T]) -> _T:
        """The value found under `key` before, else what `find` gives now: label tokens are looked up once a tokenizer."""
        if key not in self._found:
            self._found[key] = find()
        return self._found[key]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the chat format and the ids of a probe text: two equal ones encode prompts alike."""
        probe = "State: 1,234.50 at 07:05 — naïve 中文 ok?\n- a: b\n"
        opening, closing = self.frame("system")
        return hashlib.sha256(repr((opening, closing, self.text(probe))).encode()).hexdigest()


def _copy_of(backend: Tokenizer, *, encode_special_tokens: bool) -> Tokenizer:
    copy = Tokenizer.from_str(backend.to_str())
    copy.encode_special_tokens = encode_special_tokens
    copy.no_truncation()
    copy.no_padding()
    return copy
