"""Any server with OpenAI-style completions (vLLM, llama.cpp, …) as an engine: one prompt a leaf, as token ids.

Asks for the candidates by id where the server can, forces the missing ones as continuations, and where neither works reports
an upper bound of their probability. The server's automatic prefix cache shares the state between the leaves of a tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from forthwith.encoding import Ids, TokenTree
from forthwith.engine.completions import CompletionsServer, NextToken
from forthwith.engine.protocol import EngineIdentity, FloatArray, TreeReading
from forthwith.errors import EngineError

__all__ = ["OpenAIEngine"]
