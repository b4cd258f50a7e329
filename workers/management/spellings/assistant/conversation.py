"""What the browser sends: the conversation so far, which it alone keeps, and which calls of tools the administrator agreed to. Pure.

Messages have the form of the model's interface, so that they are passed on as they are. The system's message is not among them.
"""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from workers.management.interface.errors import invalid_arguments

MOST_BODY_BYTES = 1024 * 1024
_MOST_MESSAGES = 400
_MOST_CALLS = 16


class CalledFunction(Struct, frozen=True):
    """The tool that a call names, and its arguments as the model wrote them: a text that should be JSON."""

    name: str
    arguments: str


class ToolCallOfModel(Struct, frozen=True):
    """A call of a tool."""

    id: str
    function: CalledFunction
    type: Literal["function"] = "function"


class ConversationMessage(Struct, frozen=True):
    """One message: a question, an answer with or without calls of tools, or the result of a call."""

    role: Literal["user", "assistant", "tool"]
    content: str = ""
    tool_calls: list[ToolCallOfModel] | UnsetType = UNSET
    tool_call_id: str | UnsetType = UNSET


class AssistantRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The conversation, and the ids of calls at its end that the administrator agreed to."""

    messages: list[ConversationMessage]
    approved: list[str] = []


def read_request(body: bytes) -> AssistantRequest:
    """Decode the body of a request. Raises: ManagementError (400)."""
    try:
        request = msgspec.json.decode(body, type=AssistantRequest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise invalid_arguments(f"The conversation: {error}") from None
    if not 1 <= len(request.messages) <= _MOST_MESSAGES:
        raise invalid_arguments(
            f"`messages` must have 1 to {_MOST_MESSAGES} entries; begin a new conversation"
        )
    last = request.messages[-1]
    if last.role != "user" and not pending_calls(request.messages):
        raise invalid_arguments("The last message must be a question, or have calls of tools that wait")
    for message in request.messages:
        if message.tool_calls is not UNSET and len(message.tool_calls) > _MOST_CALLS:
            raise invalid_arguments(f"`tool_calls` may have {_MOST_CALLS} entries")
    return request


def pending_calls(messages: list[ConversationMessage]) -> list[ToolCallOfModel]:
    """Return the calls of the last answer that have no result yet."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role == "tool" and message.tool_call_id is not UNSET:
            answered.add(message.tool_call_id)
            continue
        if message.role != "assistant" or message.tool_calls is UNSET:
            return []
        return [call for call in message.tool_calls if call.id not in answered]
    return []


def decoded_arguments(call: ToolCallOfModel) -> dict[str, Any]:
    """Return the arguments of a call. Raises: ValueError if the model wrote no JSON object."""
    try:
        value = msgspec.json.decode(call.function.arguments or "{}")
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise ValueError("the arguments are no JSON") from None
    if not isinstance(value, dict):
        raise ValueError("the arguments are no JSON object")
    return value
