"""Tools on the documentation that is shipped with this version."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from workers.management.areas.documentation import search
from workers.management.spellings.mcp.tool import AgentTool, ToolCall, ToolText, text_data


class DocsQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    """What to look for in the documentation."""

    query: Annotated[
        str, Meta(description="Words, as in `resumable upload limit`.", min_length=1, max_length=500)
    ]
    limit: Annotated[int, Meta(description="Sections to return.", ge=1, le=20)] = 5


async def search_docs(call: ToolCall, arguments: DocsQuestion) -> ToolText:
    """Return the sections that fit best, with the address of their page as a resource."""
    del call
    sections = await asyncio.to_thread(search, arguments.query, arguments.limit)
    if not sections:
        return text_data("No section of the documentation has these words.", is_data=False)
    texts = [f"[{section.uri}] {section.heading}\n\n{section.text}" for section in sections]
    return text_data("\n\n---\n\n".join(texts), is_data=False)


TOOLS = (
    AgentTool(
        "search_docs",
        "Search the documentation",
        "Search the documentation of this version of Headwater. Read it before you use a feature: it differs from hosted platforms in places.",
        "docs",
        DocsQuestion,
        search_docs,
    ),
)
