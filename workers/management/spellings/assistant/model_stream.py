"""Asks the model and reads its answer as it arrives: server-sent events with parts of a message (`POST .../chat/completions`).

    data: {"choices": [{"delta": {"content": "Hel"}}]}
    data: {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "1", "function": {"name": "f", "arguments": "{"}}]}}]}
    data: [DONE]

Parts of one call of a tool share an index; the first has its id and name, the others more of its arguments.
"""

import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from yarl import URL

from schemas.settings.assistant import AssistantSettings
from workers.http_client.address_guard import AddressGuard
from workers.http_client.client import FetchFailed, HttpClient
from workers.management.spellings.assistant.conversation import CalledFunction, ToolCallOfModel

IDLE_S = 120.0
"""Longest wait for the first or the next part of an answer: local models read a long question for a while."""
_MOST_BYTES = 4 * 1024 * 1024
_MOST_ERROR_BYTES = 16 * 1024
_MOST_CALLS = 16
_LONGEST_ERROR = 500


@dataclass(slots=True)
class ModelAnswer:
    """An answer as far as it has come."""

    text: str = ""
    calls: dict[int, ToolCallOfModel] = field(default_factory=dict)

    def add(self, event: object) -> str:
        """Take one event in and return the text that it adds. Raises: FetchFailed for an event of another form."""
        try:
            delta = _delta_of(event)
            for part in delta.get("tool_calls") or ():
                self._add_call(part)
            text = delta.get("content") or ""
            if not isinstance(text, str):
                raise TypeError
        except (AttributeError, KeyError, TypeError, IndexError):
            raise FetchFailed("the model's answer has another form than that of chat completions") from None
        self.text += text
        return text

    def _add_call(self, part: dict[str, Any]) -> None:
        index = part.get("index") or 0
        if not isinstance(index, int):
            raise TypeError
        function = part.get("function") or {}
        before = self.calls.get(index)
        if before is None:
            if len(self.calls) >= _MOST_CALLS:
                raise FetchFailed(f"the model calls more than {_MOST_CALLS} tools at once")
            name, first = str(function.get("name") or ""), str(function.get("arguments") or "")
            called = CalledFunction(name, first)
            self.calls[index] = ToolCallOfModel(str(part.get("id") or f"call-{secrets.token_hex(8)}"), called)
            return
        called = before.function
        arguments = called.arguments + str(function.get("arguments") or "")
        self.calls[index] = ToolCallOfModel(before.id, CalledFunction(called.name, arguments))


def address_fault(settings: AssistantSettings, guard: AddressGuard) -> str:
    """Return why the configured address is not used; empty if it is. Where a host name leads is checked at the connection."""
    try:
        url = URL(settings.url)
    except ValueError:
        return "assistant.url is no URL"
    if url.scheme not in ("http", "https") or not url.host or url.user or url.query_string or url.fragment:
        return "assistant.url must be an address as in https://llm.example.com/v1"
    if reason := guard.rejection(url):
        return f"assistant.url is not reached: {reason}; assistant.allow names private addresses that are"
    if url.scheme == "http" and not guard.is_listed(url):
        return "assistant.url must begin with https, unless assistant.allow names its host"
    return ""


async def ask_model(
    client: HttpClient,
    settings: AssistantSettings,
    messages: list[Any],
    tools: list[dict[str, Any]],
    answer: ModelAnswer,
) -> AsyncIterator[str]:
    """Send the conversation and yield the text of the answer as it comes; `answer` collects it. Raises: FetchFailed."""
    body = msgspec.json.encode(
        {"model": settings.model, "messages": messages, "stream": True, **({"tools": tools} if tools else {})}
    )
    headers = {"content-type": "application/json", "accept": "text/event-stream"}
    if settings.api_key is not None:
        headers["authorization"] = f"Bearer {settings.api_key.reveal()}"
    url = settings.url.rstrip("/") + "/chat/completions"
    async with client.open_guarded("POST", url, headers=headers, body=body, timeout_s=IDLE_S) as (
        status,
        content,
    ):
        if status != 200:
            raise FetchFailed(_error_of(status, await _beginning(content)))
        async for event in _events(content):
            if text := answer.add(event):
                yield text


async def _events(content: AsyncIterator[bytes]) -> AsyncIterator[object]:
    """Yield the JSON of each event. Source: HTML, 9.2.6 (of which `data` is used)."""
    size, rest = 0, bytearray()
    async for chunk in content:
        size += len(chunk)
        if size > _MOST_BYTES:
            raise FetchFailed(f"the model's answer is longer than {_MOST_BYTES} bytes")
        rest += chunk
        if b"\n" not in chunk:  # a long line that comes in small pieces is not copied with each
            continue
        *lines, last = bytes(rest).split(b"\n")
        rest = bytearray(last)
        for line in lines:
            data = line.strip().removeprefix(b"data:").strip() if line.startswith(b"data:") else b""
            if data == b"[DONE]":
                return
            if data:
                try:
                    yield msgspec.json.decode(data)
                except (msgspec.MsgspecError, UnicodeError, RecursionError):
                    raise FetchFailed("an event of the model's answer is no JSON") from None


async def _beginning(content: AsyncIterator[bytes]) -> bytes:
    data = b""
    async for chunk in content:
        data += chunk
        if len(data) >= _MOST_ERROR_BYTES:
            break
    return data


def _delta_of(event: object) -> dict[str, Any]:
    """Return what an event adds; nothing for one without choices, as the last one with the count of tokens."""
    if not isinstance(event, dict):
        raise TypeError
    if error := event.get("error"):
        raise FetchFailed(f"the model reports: {str(error)[:_LONGEST_ERROR]}")
    choices = event.get("choices") or []
    delta = (choices[0].get("delta") or {}) if choices else {}
    if not isinstance(delta, dict):
        raise TypeError
    return delta


def _error_of(status: int, body: bytes) -> str:
    """Return what a service says of a request that it refused. The key is not in it: a service does not repeat it whole."""
    try:
        document = msgspec.json.decode(body)
        error = document["error"]
        message = error["message"] if isinstance(error, dict) else error
    except (msgspec.MsgspecError, UnicodeError, RecursionError, KeyError, TypeError):
        message = "no reason was given"
    return f"the model answered with status {status}: {str(message)[:_LONGEST_ERROR]}"
