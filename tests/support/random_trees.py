"""Random token trees for engine tests."""

from __future__ import annotations

import numpy as np

from forthwith.encoding import TokenTree, TreeBuilder
from forthwith.engine.packing import PackedRow

VOCABULARY = 900


def tokens(rng: np.random.Generator, count: int) -> tuple[int, ...]:
    return tuple(int(token) for token in rng.integers(0, VOCABULARY, count))


def random_tree(seed: int, *, root_tokens: int = 30, questions: int = 3, options: int = 3) -> TokenTree:
    """State → questions → options with reads at leaves, at inner positions and at the root."""
    rng = np.random.default_rng(seed)
    tree = TreeBuilder(tokens(np.random.default_rng(root_tokens), root_tokens))
    for question in range(questions):
        parent = tree.add(tokens(rng, 5 + question))
        for option in range(options):
            tree.read(tree.add(tokens(rng, 2 + option), parent), tokens(rng, 2))
        tree.read_continuation(parent, tokens(rng, 3))
    tree.read(0, tokens(rng, 3))
    return tree.build()


def reference_mask(row: PackedRow, prefix_tokens: int = 0) -> np.ndarray:
    """Which tokens each token attends to, shape (T, prefix_tokens + T): its own path, earlier tokens of its segment, the prefix."""
    tokens = len(row.ids)
    mask = np.ones((tokens, prefix_tokens + tokens), dtype=np.bool_)
    mask[:, prefix_tokens:] = np.tril(row.ancestors[row.segments][:, row.segments])
    return mask
