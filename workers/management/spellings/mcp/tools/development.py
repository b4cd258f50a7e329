"""Tools for writing an application: the address, the keys that clients may have, and types."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from workers.management.spellings.mcp.tool import AgentTool, ToolCall, ToolText, json_data, text_data
from workers.management.spellings.mcp.tools.database import NoToolArguments

_MOST_TYPES_BYTES = 512 * 1024


class TypedSchemas(Struct, frozen=True, forbid_unknown_fields=True):
    """Schemas whose types to generate."""

    schemas: Annotated[
        list[str], Meta(description="None: the schemas that the API exposes.", max_length=20)
    ] = []


async def get_project_url(call: ToolCall, arguments: NoToolArguments) -> ToolText:
    """Return the address of the project."""
    del arguments
    addresses = msgspec.to_builtins(await call.operate("platform.snippets"))
    return text_data(str(addresses["url"]), is_data=False)


async def get_publishable_keys(call: ToolCall, arguments: NoToolArguments) -> ToolText:
    """Return the keys that stand in applications; those that pass all policies are not among them."""
    del arguments
    keys = await call.operate("project.api_keys")
    return json_data([key for key in keys if key.value is not None])


async def generate_typescript_types(call: ToolCall, arguments: TypedSchemas) -> ToolText:
    """Return the types of schemas."""
    generated = await call.operate("project.types", schemas=arguments.schemas)
    return text_data(generated.types, most_bytes=_MOST_TYPES_BYTES)


TOOLS = (
    AgentTool(
        "get_project_url",
        "Get the project's address",
        "Get the address under which clients reach the API of this project.",
        "development",
        NoToolArguments,
        get_project_url,
        ("platform.snippets",),
    ),
    AgentTool(
        "get_publishable_keys",
        "Get publishable keys",
        "Get the API keys that may stand in an application. Keys that pass all policies are never shown.",
        "development",
        NoToolArguments,
        get_publishable_keys,
        ("project.api_keys",),
    ),
    AgentTool(
        "generate_typescript_types",
        "Generate TypeScript types",
        "Generate TypeScript types of the database for the client library.",
        "development",
        TypedSchemas,
        generate_typescript_types,
        ("project.types",),
    ),
)
