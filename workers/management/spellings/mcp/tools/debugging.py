"""Tools that look for faults: log lines and the findings of the advisors."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct

from workers.management.spellings.mcp.tool import AgentTool, ToolCall, ToolText, json_data

LogService = Literal["", "api", "auth", "storage", "realtime", "edge-function", "graphql", "management"]
_AREAS = {"api": "rest", "edge-function": "functions"}
"""Areas of lines by the names that official clients use; the others are named alike."""
_DAY = timedelta(days=1)


class LogQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    """Which lines to return."""

    service: Annotated[LogService, Meta(description="Lines of one service; empty: of all.")] = ""
    level: Annotated[str, Meta(description="The least level: debug, info, warning, error.")] = ""
    text: Annotated[str, Meta(description="Words that a line has.")] = ""
    request_id: Annotated[
        str, Meta(description="All lines of a request: the header x-request-id of its answer.")
    ] = ""
    since: Annotated[str, Meta(description="RFC 3339; by default a day ago.")] = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class AdvisorQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    """Which findings to return."""

    type: Annotated[Literal["security", "performance"], Meta(description="Kind of findings.")]


async def get_logs(call: ToolCall, arguments: LogQuestion) -> ToolText:
    """Return log lines, the newest first."""
    since = arguments.since or (datetime.now(UTC) - _DAY).isoformat(timespec="seconds").replace("+00:00", "Z")
    page = await call.operate(
        "logs.search",
        since=since,
        level=arguments.level,
        text=arguments.text,
        request_id=arguments.request_id,
        limit=arguments.limit,
        area=_AREAS.get(arguments.service, arguments.service),
    )
    notes = ["There are more lines: narrow the search."] if page.next else []
    return json_data(page.lines, *notes)


async def get_advisors(call: ToolCall, arguments: AdvisorQuestion) -> ToolText:
    """Return findings of one kind, the gravest first, with what fixes them."""
    listed = await call.operate("advisors.list", category=arguments.type.upper())
    notes = [f"{listed.omitted} more findings are not here."] if listed.omitted else []
    return json_data(listed.findings, *notes)


TOOLS = (
    AgentTool(
        "get_logs",
        "Read logs",
        "Search the log lines of the platform: by service, level, words, or the id of one request through all processes.",
        "debugging",
        LogQuestion,
        get_logs,
        ("logs.search",),
    ),
    AgentTool(
        "get_advisors",
        "Read findings of the advisors",
        "List what the advisors find: missing row security, open functions, slow policies, missing or unused indexes, with a fix for each."
        " Call it after a change of the schema.",
        "debugging",
        AdvisorQuestion,
        get_advisors,
        ("advisors.list",),
    ),
)
