"""What a tool is: a name, arguments as a struct, the operations that it calls, and the text that it returns."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from schemas.settings.tree import Settings
from workers.management.interface.operation import OperationTable
from workers.management.spellings.mcp.access import AgentAccess
from workers.management.spellings.mcp.results import as_data, bounded_json, bounded_text

MOST_BYTES = 64 * 1024
"""Bytes of a tool's result, before the advice around it."""


class Operate(Protocol):
    """Runs an operation by its name for the agent. Raises: ApiError, DatabaseError, Disconnected, PoolBusy, PoolTimeout."""

    async def __call__(self, name: str, /, **arguments: object) -> Any: ...


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a tool works with. `run_id` names its SQL, so that the agent's client can stop it; empty if it cannot."""

    access: AgentAccess
    operate: Operate
    configuration: Settings
    offers: Callable[[str], bool]
    """Whether an operation of this name is there."""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolText:
    """The result of a tool. `is_data`: others may have written it, so it is marked."""

    text: str
    is_data: bool = True
    notes: list[str] = field(default_factory=list)

    def whole(self) -> str:
        """Return the text as the model gets it."""
        text = as_data(self.text) if self.is_data else self.text
        return "\n\n".join([text, *self.notes])


Run = Callable[[ToolCall, Any], Awaitable[ToolText]]


@dataclass(frozen=True, slots=True)
class AgentTool:
    """One tool. It is listed if all of `operations` are there and, for one that writes, if the agent may write."""

    name: str
    title: str
    description: str
    feature: str
    arguments: type[msgspec.Struct]
    run: Run
    operations: tuple[str, ...] = ()
    writes: bool = False
    """It only writes: without the right to write it is not listed."""
    may_write: bool = False
    """It writes if the agent may, and reads otherwise."""

    def is_offered(self, access: AgentAccess, table: OperationTable) -> bool:
        """Return whether an agent gets this tool: its feature, the right to write, its operations and their rights."""
        if self.feature not in access.features or (self.writes and not access.may_write):
            return False
        operations = [table.find(name) for name in self.operations]
        return all(
            operation is not None and access.actor.rights.includes(operation.right)
            for operation in operations
        )

    def described(self, access: AgentAccess) -> dict[str, Any]:
        """Return the entry of `tools/list`."""
        is_writing = self.writes or (self.may_write and access.may_write)
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": input_schema(self.arguments),
            "annotations": {
                "title": self.title,
                "readOnlyHint": not is_writing,
                "destructiveHint": is_writing,
                "idempotentHint": not is_writing,
                "openWorldHint": False,
            },
        }


def json_data(value: object, *notes: str, most_bytes: int = MOST_BYTES) -> ToolText:
    """Return a value of the project as bounded JSON."""
    text, cut = bounded_json(value, most_bytes)
    return ToolText(text, notes=[*notes, *cut])


def text_data(text: str, *, is_data: bool = True, most_bytes: int = MOST_BYTES) -> ToolText:
    """Return a bounded text."""
    beginning, is_cut = bounded_text(text, most_bytes)
    size = len(text.encode(errors="replace"))
    return ToolText(
        beginning, is_data, [f"Only the first {most_bytes} of {size} bytes are here."] if is_cut else []
    )


@lru_cache(maxsize=64)
def input_schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments: an object at the top, as the protocol wants it, and its definitions."""
    schema = msgspec.json.schema(arguments)
    definitions = schema.pop("$defs")
    top = definitions.pop(schema["$ref"].removeprefix("#/$defs/"))
    top.pop("title", None)
    return {**top, **({"$defs": definitions} if definitions else {})}
