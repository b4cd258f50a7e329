"""Tools on functions: list, read, deploy."""

from typing import Annotated

from msgspec import Meta, Struct

from workers.management.spellings.mcp.tool import AgentTool, ToolCall, ToolText, json_data
from workers.management.spellings.mcp.tools.database import NoToolArguments

_FOLDER = "functions/"


class FunctionSlug(Struct, frozen=True, forbid_unknown_fields=True):
    """A function by its name."""

    function_slug: Annotated[str, Meta(description="Name of the function.")]


class DeployedFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a function."""

    name: Annotated[
        str,
        Meta(
            description="Path below the folder of the function; or whole, as in functions/_shared/cors.ts, then for all files."
        ),
    ]
    content: str


class AgentDeployment(Struct, frozen=True, forbid_unknown_fields=True):
    """A function to deploy: all of its files."""

    name: Annotated[str, Meta(description="Name of the function: it is called at /functions/v1/<name>.")]
    files: Annotated[list[DeployedFile], Meta(min_length=1, max_length=500)]
    entrypoint_path: Annotated[str, Meta(description="The file that runs.")] = "index.ts"
    import_map_path: Annotated[str, Meta(description="Import map or deno.json among the files.")] = ""
    verify_jwt: Annotated[
        bool,
        Meta(description="Callers need a valid token. Off only if the function checks its callers itself."),
    ] = True


async def list_edge_functions(call: ToolCall, arguments: NoToolArguments) -> ToolText:
    """Return the functions."""
    del arguments
    return json_data(await call.operate("functions.list"))


async def get_edge_function(call: ToolCall, arguments: FunctionSlug) -> ToolText:
    """Return the files of a function."""
    return json_data(await call.operate("functions.files", name=arguments.function_slug))


async def deploy_edge_function(call: ToolCall, arguments: AgentDeployment) -> ToolText:
    """Deploy a function; the version before stays, for a way back."""
    is_whole = any(file.name.startswith(_FOLDER) for file in arguments.files)
    prefix = "" if is_whole else f"{_FOLDER}{arguments.name}/"
    result = await call.operate(
        "functions.deploy",
        name=arguments.name,
        files=[{"path": prefix + file.name, "text": file.content} for file in arguments.files],
        settings={
            "entrypoint": _below(prefix, arguments.entrypoint_path),
            "import_map": _below(prefix, arguments.import_map_path),
            "verify_jwt": arguments.verify_jwt,
        },
    )
    return json_data(result)


def _below(prefix: str, path: str) -> str:
    return prefix + path if path and not path.startswith(_FOLDER) else path


TOOLS = (
    AgentTool(
        "list_edge_functions",
        "List functions",
        "List the functions: version, schedule, calls and failures.",
        "functions",
        NoToolArguments,
        list_edge_functions,
        ("functions.list",),
    ),
    AgentTool(
        "get_edge_function",
        "Read a function",
        "Read the files and settings of a function.",
        "functions",
        FunctionSlug,
        get_edge_function,
        ("functions.files",),
    ),
    AgentTool(
        "deploy_edge_function",
        "Deploy a function",
        "Deploy a function for Deno, with all of its files. A function of that name gets a new version.",
        "functions",
        AgentDeployment,
        deploy_edge_function,
        ("functions.deploy",),
        writes=True,
    ),
)
