"""OpenAI-style inputs to a state: a string stays one; messages and tool items become a list of small plain objects."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from forthwith.errors import FieldProblem, RequestError
from forthwith.schema import request_error

__all__ = ["Parts", "input_state", "parts_text"]

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


class _Item(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class TextPart(_Item):
    """Text from the user or developer."""

    type: Literal["input_text"]
    text: str


class OutputPart(_Item):
    """Text from the assistant."""

    type: Literal["output_text"]
    text: str


class RefusalPart(_Item):
    """A refusal by the assistant."""

    type: Literal["refusal"]
    refusal: str


class JsonPart(_Item):
    """Structured data from the user."""

    type: Literal["input_json"]
    data: dict[str, Any] | list[dict[str, Any]]


class ImagePart(_Item):
    """An image; recognised so that it can be refused by name."""

    type: Literal["input_image"]


Part = Annotated[TextPart | OutputPart | RefusalPart | JsonPart | ImagePart, Field(discriminator="type")]
Parts = str | list[Part]
"""Instructions or content: text, or parts."""


class Message(_Item):
    """One turn of a conversation."""

    role: Literal["user", "developer", "system", "assistant"]
    content: Parts


class ToolCall(_Item):
    """A call of a function or tool."""

    type: Literal["function_call", "custom_tool_call"]
    call_id: str
    name: str
    arguments: str | None = None
    input: str | None = None


class ToolOutput(_Item):
    """What a call gave back."""

    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: str
    output: Parts


def parts_text(content: Parts) -> str | list[Any]:
    """Text as it is; parts joined to text where all are text, else a list of text and data.

    Raises:
        RequestError: there is an image among them, or nothing at all.
    """
    if isinstance(content, str):
        return content
    values: list[Any] = []
    for part in content:
        if isinstance(part, ImagePart):
            raise RequestError("images are not read by this server; send text")
        values.append(
            part.data if isinstance(part, JsonPart) else part.refusal if isinstance(part, RefusalPart) else part.text
        )
    if not values:
        raise RequestError("there are no parts; send text")
    return "\n".join(values) if all(isinstance(value, str) for value in values) else values


def input_state(given: str | list[dict[str, Any]]) -> Any:
    """The state that an input describes.

    Raises:
        RequestError: names the item at fault.
    """
    if isinstance(given, str):
        return given
    if not given:
        raise _refusal(("input",), "is empty; send a message")
    calls: set[str] = set()
    return [_item(place, item, calls) for place, item in enumerate(given)]


def _item(place: int, item: dict[str, Any], calls: set[str]) -> dict[str, Any]:
    kind = item.get("type", "message")
    where = ("input", place)
    try:
        if kind == "message":
            message = Message.model_validate(item)
            return {message.role: parts_text(message.content)}
        if kind in _CALLS:
            call = ToolCall.model_validate(item)
            calls.add(call.call_id)
            return {"tool_call": {"name": call.name, _CALLS[kind]: getattr(call, _CALLS[kind]) or ""}}
        if kind in _OUTPUTS:
            output = ToolOutput.model_validate(item)
            if output.call_id not in calls:
                raise _refusal((*where, "call_id"), f"{output.call_id!r:.60} belongs to no call before it")
            return {"tool_output": parts_text(output.output)}
    except ValidationError as error:
        problems = tuple(problem._replace(field=(*where, *problem.field)) for problem in request_error(error).problems)
        raise RequestError(f"input.{place} is not understood", problems) from error
    except RequestError as error:
        raise error if error.problems else _refusal(where, str(error)) from error
    raise _refusal((*where, "type"), f"unknown item type {kind!r:.60}; send messages or tool calls and their outputs")


def _refusal(field: tuple[str | int, ...], message: str) -> RequestError:
    return RequestError(f"{'.'.join(map(str, field))}: {message}", (FieldProblem(field, message, "value_error"),))
