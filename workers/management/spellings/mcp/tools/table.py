"""All tools, in the order in which they are listed."""

from workers.management.spellings.mcp.tool import AgentTool
from workers.management.spellings.mcp.tools import (
    database,
    debugging,
    development,
    docs,
    functions,
    sql,
    storage,
)

TOOLS: dict[str, AgentTool] = {
    tool.name: tool
    for area in (database, sql, debugging, development, functions, storage, docs)
    for tool in area.TOOLS
}
