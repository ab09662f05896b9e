"""The official Python client against a server: `python python_client.py URL`. Fails on the first thing that is not so."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from typesafe_sdk import AsyncTypeSafeClient, Choice, Noul, Score, TypeSafeClient
from typesafe_sdk import __dict__ as names

QUESTIONS: dict[str, Any] = {
    "lost 📦": Noul(instructions="Is the parcel probably lost?"),
    "queue": Choice(
        instructions="Who takes it?", criteria={"carrier": "Ask the carrier", "refund": {"x": [1]}, "other": None}
    ),
    "heat": Score(instructions="How upset?", criteria=["calm", "irritated", {"label": "furious"}]),
    "raw": {"type": "noul", "criteria": {"true": "gone"}},
}


def check(response: Any) -> None:
    assert set(response.answers) == set(QUESTIONS)
    assert 0 <= response.nouls["lost 📦"].noul <= 1
    choice = response.choices["queue"]
    assert choice.choice == max(choice.probabilities, key=choice.probabilities.get)
    assert abs(sum(choice.probabilities.values()) - 1) < 1e-9
    score = response.scores["heat"]
    assert abs(score.score - sum(level * share for level, share in score.probabilities.items())) < 1e-9
    assert response.usage.input_tokens > 0
    assert response.request_id.startswith("req_")


def refused(client: Any, kind: str, **request: Any) -> Any:
    try:
        client.system_one(**request)
    except names[kind] as error:
        return error
    raise AssertionError(f"no {kind}")


def synchronous(url: str) -> Any:
    with TypeSafeClient(api_key="local-dummy", base_url=url) as client:
        assert "jev-latest" in [model.name for model in client.models.list().models]
        states: list[Any] = ["text", {"a": {"b": [1, None]}}, ["x", 2], "long " * 1000]  # the last is sent as zstd
        for state in states:
            check(client.system_one(state=state, questions=QUESTIONS))
        refused(client, "TypeSafeBadRequestError", state="x", questions=QUESTIONS, model="jev-9")
        refused(client, "TypeSafeUnprocessableEntityError", state="x", questions={"q": {"type": "boolean"}})
        return client.system_one(state="text", questions=QUESTIONS).answers


async def parallel(url: str) -> Any:
    async with AsyncTypeSafeClient(api_key="local-dummy", base_url=url) as client:
        calls = [client.system_one(state=f"state {number}", questions=QUESTIONS) for number in range(50)]
        for response in await asyncio.gather(*calls):
            check(response)
        return (await client.system_one(state="text", questions=QUESTIONS)).answers


if __name__ == "__main__":
    assert synchronous(sys.argv[1]) == asyncio.run(parallel(sys.argv[1]))
    print("python client: all is well")  # noqa: T201
