"""Tools on storage: the buckets."""

from workers.management.spellings.mcp.tool import AgentTool, ToolCall, ToolText, json_data
from workers.management.spellings.mcp.tools.database import NoToolArguments


async def list_storage_buckets(call: ToolCall, arguments: NoToolArguments) -> ToolText:
    """Return the buckets by pages of a hundred."""
    del arguments
    page = await call.operate("storage.buckets", limit=100)
    return json_data(page.rows, *(["There are more buckets than these."] if page.next else []))


TOOLS = (
    AgentTool(
        "list_storage_buckets",
        "List buckets",
        "List the buckets of storage: whether they are public, their limits, objects and bytes.",
        "storage",
        NoToolArguments,
        list_storage_buckets,
        ("storage.buckets",),
    ),
)
