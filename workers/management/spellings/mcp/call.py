"""Calls one tool for an agent: find, decode the arguments, run, write the audit row, return the text or the error as text.

Each call leaves an audit row `mcp.<tool>`, those that read as well; an operation that changes something leaves its own too. An error of a
tool is a result with `isError`, so that the model reads it and mends its call.
"""

import asyncio
from typing import Any

import msgspec

from schemas.errors import ApiError
from schemas.http import SERVER_ORIGIN, Request, header
from workers.database.errors import DatabaseError, Disconnected, PoolBusy, PoolTimeout
from workers.management.interface.audit import write_call
from workers.management.interface.errors import ManagementError, SqlRejected, invalid_arguments
from workers.management.interface.operation_runner import OperationRunner
from workers.management.spellings.mcp.access import AgentAccess
from workers.management.spellings.mcp.messages import INVALID_PARAMS, RpcError
from workers.management.spellings.mcp.results import as_data, bounded_json
from workers.management.spellings.mcp.tool import AgentTool, ToolCall
from workers.management.spellings.mcp.tools.table import TOOLS

_LONGEST_AUDITED = 4_096
_MOST_ERROR_BYTES = 16 * 1024
_MOST_NAME = 80


async def call_tool(
    runner: OperationRunner, request: Request, access: AgentAccess, run_id: str, params: dict[str, Any]
) -> dict[str, Any]:
    """Return the result of `tools/call`. Raises: RpcError for a tool that is not there."""
    name, arguments = params.get("name"), params.get("arguments")
    context = runner.context(access.actor, request.id, request.client)
    tool = TOOLS.get(name) if isinstance(name, str) else None
    if tool is None or not tool.is_offered(access, runner.operations):
        await write_call(context, f"mcp.{str(name)[:_MOST_NAME]}", {}, "unknown_tool")
        raise RpcError(
            INVALID_PARAMS,
            f"There is no tool {str(name)[:_MOST_NAME]} for this token; tools/list has those that are",
        )
    outcome = "failed"
    try:
        text = await _run(runner, request, access, run_id, tool, {} if arguments is None else arguments)
        outcome = "done"
    except ApiError as error:
        outcome = str(error.body().get("code", type(error).__name__))
        return _text(_error_text(error), is_error=True)
    finally:
        await asyncio.shield(write_call(context, f"mcp.{tool.name}", _audited(arguments), outcome))
    return _text(text, is_error=False)


async def _run(
    runner: OperationRunner,
    request: Request,
    access: AgentAccess,
    run_id: str,
    tool: AgentTool,
    arguments: object,
) -> str:
    """Run a tool and return its text. Raises: ApiError."""
    try:
        decoded = msgspec.convert(arguments, tool.arguments)
    except msgspec.ValidationError as error:
        raise invalid_arguments(f"The arguments of {tool.name}: {error}") from None
    origin = header(request.headers, SERVER_ORIGIN) or ""

    async def operate(name: str, /, **values: object) -> Any:
        body = msgspec.json.encode(values)
        return await runner.operate(access.actor, name, body, request.id, request.client, origin=origin)

    def offers(name: str) -> bool:
        return runner.operations.find(name) is not None

    try:
        result = await tool.run(ToolCall(access, operate, runner.configuration, offers, run_id), decoded)
    except DatabaseError as error:
        raise SqlRejected(error) from None
    except Disconnected:
        raise ManagementError(503, "unavailable", "The database does not answer") from None
    except (PoolBusy, PoolTimeout) as error:
        raise ManagementError(503, "unavailable", str(error)) from None
    return result.whole()


def _error_text(error: ApiError) -> str:
    """Return an error for a model. Its message may quote values of rows, so it stands between markers too."""
    text, notes = bounded_json(error.body(), _MOST_ERROR_BYTES)
    return "\n\n".join(["The call failed.", as_data(text), *notes])


def _text(text: str, *, is_error: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _audited(arguments: object) -> dict[str, object]:
    """Return arguments for the audit row, long texts shortened."""
    return (
        {name: _shortened(value) for name, value in arguments.items()} if isinstance(arguments, dict) else {}
    )


def _shortened(value: object) -> object:
    match value:
        case str() if len(value) > _LONGEST_AUDITED:
            return f"{value[:_LONGEST_AUDITED]} ... ({len(value)} characters)"
        case list():
            return [_shortened(member) for member in value]
        case dict():
            return {key: _shortened(member) for key, member in value.items()}
    return value
