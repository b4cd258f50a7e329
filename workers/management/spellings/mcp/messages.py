"""Messages of the protocol: JSON-RPC 2.0 requests and notifications, their results and errors. Pure.

A body is one message; batches left the protocol with revision 2025-06-18. A message without `id` is a notification.
Source: JSON-RPC 2.0, sections 4 and 5; MCP 2026-07-28, basic.
"""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
RESOURCE_NOT_FOUND = -32002
MOST_DEPTH = 64
"""Levels of lists and objects in a message: what comes later may be recursive."""


class RpcError(Exception):
    """A message that cannot be answered with a result. `status` is the HTTP status of the response."""

    def __init__(self, code: int, message: str, data: object = None, status: int = 200) -> None:
        super().__init__(message)
        self.code, self.data, self.status = code, data, status


class RpcMessage(Struct, frozen=True):
    """A request; without an id, a notification."""

    jsonrpc: Literal["2.0"]
    method: str
    id: str | int | UnsetType = UNSET
    params: dict[str, Any] | None = None


def parse_message(body: bytes) -> RpcMessage:
    """Return the message of a body. Raises: RpcError (400)."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise RpcError(PARSE_ERROR, "The body is not JSON", status=400) from None
    if _is_too_deep(value):
        raise RpcError(INVALID_REQUEST, f"The body is nested deeper than {MOST_DEPTH} levels", status=400)
    if isinstance(value, list):
        raise RpcError(INVALID_REQUEST, "Send one message a request: batches are not taken", status=400)
    try:
        return msgspec.convert(value, RpcMessage)
    except msgspec.ValidationError as error:
        raise RpcError(
            INVALID_REQUEST, f"The body is not a JSON-RPC 2.0 request: {error}", status=400
        ) from None


def _is_too_deep(value: object) -> bool:
    level, depth = [value], 0
    while level and depth <= MOST_DEPTH:
        depth += 1
        inner: list[object] = []
        for member in level:
            if isinstance(member, dict):
                inner += member.values()
            elif isinstance(member, list):
                inner += member
        level = inner
    return bool(level)


def result_message(message_id: str | int, result: dict[str, Any]) -> bytes:
    """Return the response of a request."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": message_id, "result": result})


def error_message(message_id: str | int | None, error: RpcError) -> bytes:
    """Return the response of a request that failed; the id is null if it could not be read."""
    body: dict[str, object] = {"code": error.code, "message": str(error)}
    if error.data is not None:
        body["data"] = error.data
    return msgspec.json.encode({"jsonrpc": "2.0", "id": message_id, "error": body})
