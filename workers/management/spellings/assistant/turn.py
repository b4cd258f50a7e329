"""One turn of the conversation: ask the model, call the tools that it asks for, ask again, until it answers or has to wait.

Yields events for the page: `text` (a part of the answer), `tool` (a call and how it ended), `ask` (calls of SQL that wait until the
administrator agrees), `error`, and at the end always `end` with the messages to add to the conversation.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import msgspec

from schemas.http import Request
from schemas.settings.assistant import AssistantSettings
from workers.http_client.client import FetchFailed, HttpClient
from workers.management.interface.errors import ManagementError
from workers.management.interface.operation_runner import OperationRunner
from workers.management.spellings.assistant.conversation import (
    AssistantRequest,
    ConversationMessage,
    ToolCallOfModel,
    decoded_arguments,
    pending_calls,
)
from workers.management.spellings.assistant.model_stream import ModelAnswer, ask_model
from workers.management.spellings.assistant.model_tools import (
    ASKED_FIRST,
    described_tools,
    instructions,
    offered_tools,
)
from workers.management.spellings.mcp.access import AgentAccess
from workers.management.spellings.mcp.call import call_tool

MOST_ROUNDS = 8
"""How often the model is asked in one turn."""
LONGEST_TURN_S = 300.0
DECLINED = "The administrator did not let this run."
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """What one turn works with."""

    client: HttpClient
    settings: AssistantSettings
    runner: OperationRunner
    request: Request
    access: AgentAccess

    async def events(self, conversation: AssistantRequest) -> AsyncIterator[Event]:
        """Yield the events of the turn."""
        added: list[ConversationMessage] = []
        try:
            async with asyncio.timeout(LONGEST_TURN_S):
                async for event in self._rounds(conversation, added):
                    yield event
        except TimeoutError:
            yield {"kind": "error", "message": f"The model did not finish within {LONGEST_TURN_S:g} seconds"}
        except FetchFailed as error:
            yield {"kind": "error", "message": f"The model cannot be asked: {error}"}
        except ManagementError as error:
            yield {"kind": "error", "message": str(error)}
        yield {"kind": "end", "messages": msgspec.to_builtins(added)}

    async def _rounds(
        self, conversation: AssistantRequest, added: list[ConversationMessage]
    ) -> AsyncIterator[Event]:
        tools = offered_tools(self.access, self.runner.operations, sends_rows=self.settings.sends_rows)
        approved = set(conversation.approved)
        for call in pending_calls(conversation.messages):
            async for event in self._call(call, call.id in approved or not _waits(call, tools), added):
                yield event
        for _ in range(MOST_ROUNDS):
            answer = ModelAnswer()
            system = {"role": "system", "content": instructions(sends_rows=self.settings.sends_rows)}
            messages = [system, *conversation.messages, *added]
            described = described_tools(tools, self.access)
            async for text in ask_model(self.client, self.settings, messages, described, answer):
                yield {"kind": "text", "text": text}
            calls = [answer.calls[index] for index in sorted(answer.calls)]
            added.append(
                ConversationMessage("assistant", answer.text, calls)
                if calls
                else ConversationMessage("assistant", answer.text)
            )
            if not calls:
                return
            waiting = [call for call in calls if _waits(call, tools)]
            for call in calls:
                if call not in waiting:
                    async for event in self._call(call, True, added):
                        yield event
            if waiting:
                yield {"kind": "ask", "calls": msgspec.to_builtins(waiting)}
                return
        yield {"kind": "error", "message": f"The model asked for tools {MOST_ROUNDS} times without an answer"}

    async def _call(
        self, call: ToolCallOfModel, may_run: bool, added: list[ConversationMessage]
    ) -> AsyncIterator[Event]:
        """Run one call, or note that it was declined, and yield how it ended."""
        name = call.function.name
        outcome, text = ("done", "") if may_run else ("declined", DECLINED)
        if may_run:
            outcome, text = await self._result(call)
        added.append(ConversationMessage("tool", text, tool_call_id=call.id))
        yield {
            "kind": "tool",
            "id": call.id,
            "name": name,
            "arguments": call.function.arguments,
            "outcome": outcome,
        }

    async def _result(self, call: ToolCallOfModel) -> tuple[str, str]:
        """Return how a call ended, and its text for the model. A tool that was not offered is not there."""
        tools = offered_tools(self.access, self.runner.operations, sends_rows=self.settings.sends_rows)
        if call.function.name not in tools:
            return "refused", f"There is no tool {call.function.name[:80]!r} here."
        try:
            params = {"name": call.function.name, "arguments": decoded_arguments(call)}
        except ValueError as error:
            return "failed", f"The call failed: {error}."
        result = await call_tool(self.runner, self.request, self.access, "", params)
        text = "\n".join(part["text"] for part in result["content"])
        return ("failed" if result["isError"] else "done"), text


def _waits(call: ToolCallOfModel, tools: dict[str, Any]) -> bool:
    return call.function.name in ASKED_FIRST and call.function.name in tools
