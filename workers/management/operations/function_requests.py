"""Operations on kept requests: calls that try a function, as `function-requests/<function>.json` of the project folder."""

import asyncio
from typing import Annotated, Literal

import msgspec
from msgspec import Struct

from workers.management.areas.project_texts import folder_errors, folder_of_texts
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done
from workers.project.snippet_files import (
    FUNCTION_REQUESTS,
    LONGEST_SNIPPET,
    is_snippet_name,
    read_snippet,
    write_snippet,
)

_MOST_REQUESTS = 50
_LONGEST_NAME = 80


class KeptRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A request under a name: as functions.invoke takes it. A caller `user` is chosen anew at each call."""

    name: str
    method: str = "POST"
    path: str = "/"
    headers: dict[str, str] = {}
    body: str = ""
    caller: Literal["anon", "user", "service"] = "anon"


class KeptRequests(Struct, frozen=True):
    """The requests of a function in their order; `folder_is_known`: whether this process sees the project folder at all."""

    requests: list[KeptRequest]
    folder_is_known: bool


class FunctionOfRequests(Struct, frozen=True, forbid_unknown_fields=True):
    """A function by its name."""

    name: str


class RequestsToKeep(Struct, frozen=True, forbid_unknown_fields=True):
    """All requests of a function, which replace those that are kept."""

    name: str
    requests: Annotated[list[KeptRequest], limits.entries(_MOST_REQUESTS, least=0)]


async def list_requests(context: OperationContext, arguments: FunctionOfRequests) -> KeptRequests:
    """Return the kept requests of a function."""
    if not is_snippet_name(arguments.name):
        raise invalid_arguments("`name` must be the name of a function; functions.list shows them")
    folder = context.settings.project_folder
    if folder is None or not folder.is_dir():
        return KeptRequests([], False)
    try:
        with folder_errors("function-request", arguments.name):
            text = await asyncio.to_thread(read_snippet, folder, arguments.name, FUNCTION_REQUESTS)
    except ManagementError as error:
        if error.status != 404:
            raise
        return KeptRequests([], True)
    try:
        requests = msgspec.json.decode(text, type=list[KeptRequest])
        _check(requests)
    except (msgspec.MsgspecError, RecursionError, ManagementError) as error:
        raise ManagementError(
            409,
            "requests_unreadable",
            f"The file function-requests/{arguments.name}.json has no requests: {error}",
            hint="Correct or remove the file.",
        ) from None
    return KeptRequests(requests, True)


async def keep(context: OperationContext, arguments: RequestsToKeep) -> Done:
    """Write the requests of a function into the project folder."""
    folder = folder_of_texts(context, arguments.name)
    _check(arguments.requests)
    text = msgspec.json.format(msgspec.json.encode(arguments.requests), indent=2).decode() + "\n"
    if len(text.encode()) > LONGEST_SNIPPET:
        raise invalid_arguments(f"`requests` may have {LONGEST_SNIPPET} bytes as JSON")
    with folder_errors("function-request", arguments.name):
        await asyncio.to_thread(
            write_snippet, folder, arguments.name, text, replaces=True, kind=FUNCTION_REQUESTS
        )
    return Done()


def _check(requests: list[KeptRequest]) -> None:
    """Raises: ManagementError (400) for too many requests, or one without a usable name."""
    if len(requests) > _MOST_REQUESTS:
        raise invalid_arguments(f"`requests` may have {_MOST_REQUESTS} entries")
    if not all(1 <= len(request.name) <= _LONGEST_NAME for request in requests):
        raise invalid_arguments(f"The name of a request has 1 to {_LONGEST_NAME} characters (`requests`)")


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("functions.requests", "List the kept requests of a function", FunctionOfRequests, KeptRequests, reader, list_requests),
        Operation("functions.keep_requests", "Keep requests that try a function, as a file of the project folder", RequestsToKeep, Done, developer, keep, changes=True),
    ]  # fmt: skip
