"""The OpenRouter client against a server: a choice, a yes/no and a refusal. It takes the address with each call."""

from __future__ import annotations

import sys
from typing import Any

from openrouter import OpenRouter
from openrouter.errors import BadRequestResponseError
from openrouter.utils import BackoffStrategy, RetryConfig

client = OpenRouter(api_key="not-needed")
here: dict[str, Any] = {"server_url": sys.argv[1], "retries": RetryConfig("none", BackoffStrategy(1, 1, 1, 1), False)}
asked: dict[str, Any] = {
    "lost": {"type": "noul", "instructions": "Is the parcel lost?"},
    "queue": {"type": "choice", "instructions": "Who takes it?", "criteria": {"carrier": None, "refund": None}},
}
state = "Tracking has not moved for nine days."
found = client.alpha.decisions.create(model="~typesafe/jev-latest", state=state, questions=asked, **here)
assert 0 <= found.answers["lost"].noul <= 1
assert abs(sum(found.answers["queue"].probabilities.values()) - 1) < 1e-6
refused: BadRequestResponseError | None = None
try:
    client.alpha.decisions.create(model="nobody", state=state, questions=asked, **here)
except BadRequestResponseError as error:
    refused = error
assert refused is not None
assert "unknown model 'nobody'" in str(refused)
sys.stdout.write("all is well\n")
