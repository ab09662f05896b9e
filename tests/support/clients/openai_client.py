"""The official OpenAI client's decisions against a server: `python openai_client.py URL`."""

from __future__ import annotations

import sys
from typing import Any

import openai

client = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="local-dummy")
asked: list[Any] = [
    {"type": "predicate", "instructions": "Is it lost?", "name": "lost"},
    {"type": "choice", "instructions": "Who?", "choices": [{"value": True}, {"value": "true", "description": "text"}]},
    {"type": "score", "instructions": "How upset?", "levels": [{"label": "calm"}, {"label": "angry"}]},
]
message: Any = [{"role": "user", "content": [{"type": "input_text", "text": "A parcel."}]}]
for given in ("A parcel.", message):
    decision = client.decisions.create(model="jev-latest", input=given, questions=asked)
    predicate, choice, score = decision.answers
    assert (predicate.type, predicate.name) == ("predicate", "lost")
    assert 0 <= predicate.probability <= 1
    assert isinstance(choice.choice, bool | str)
    assert [option.value for option in choice.probabilities] == [True, "true"]
    assert [level.label for level in score.probabilities] == ["calm", "angry"]
    assert decision.usage.total_tokens > 0
refused: openai.BadRequestError | None = None
try:
    client.decisions.create(model="nobody", input="x", questions=asked)
except openai.BadRequestError as error:
    refused = error
assert refused is not None
assert refused.request_id is not None
assert "unknown model" in refused.message
print("openai client: all is well")  # noqa: T201
