"""Operations on deployed functions and their secrets: the pool functions does the work, as the service role requests it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from broker.subjects import FUNCTIONS
from schemas.errors import Unavailable
from schemas.functions.deployments import (
    FUNCTION_NAME,
    MOST_SECRETS,
    DeployResult,
    ListedFunction,
    SecretDigest,
    Version,
    secret_fault,
)
from schemas.http import Response
from workers.management.errors import ManagementError, invalid_arguments, not_found
from workers.management.operation import Operation, OperationContext
from workers.management.operations.account import Done, NoArguments
from workers.management.project.function_archive import FunctionSource, files_of_bundle, make_bundle
from workers.management.rights import Right

_PREFIX = "/_internal"
_BUDGET_MS = 55_000
_WAKE_S, _PAUSE_S = 20.0, 0.2
"""Seconds that a worker may take to start, and between two requests to it."""
T = TypeVar("T")


class ProjectFunctionReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A function by its name."""

    name: str


class ProjectSecretValues(Struct, frozen=True, forbid_unknown_fields=True):
    """Secrets by their names."""

    values: dict[str, str]


class ProjectSecretNames(Struct, frozen=True, forbid_unknown_fields=True):
    """Names of secrets."""

    names: list[str]


async def list_functions(context: OperationContext, arguments: NoArguments) -> list[ListedFunction]:
    """Return the functions that run or are deployed, by name."""
    del arguments
    return _decoded(await _send_to_functions(context, "GET", "/functions"), list[ListedFunction])


async def deploy_function(context: OperationContext, arguments: FunctionSource) -> DeployResult:
    """Deploy a function from its source files; it runs in the new version when this returns."""
    bundle = await asyncio.to_thread(make_bundle, arguments)
    result = _decoded(
        await _send_to_functions(context, "PUT", f"/functions/{quote(arguments.name, safe='')}", bundle),
        DeployResult,
    )
    context.after = {"name": arguments.name, "version": result.version, "files": len(arguments.files)}
    return result


async def function_versions(context: OperationContext, arguments: ProjectFunctionReference) -> list[Version]:
    """Return the deployed versions of a function, newest first."""
    return _decoded(await _send_to_functions(context, "GET", _path(arguments.name)), list[Version])


async def function_source(context: OperationContext, arguments: ProjectFunctionReference) -> FunctionSource:
    """Return the files of the version of a function that is deployed now."""
    response = await _send_to_functions(context, "GET", f"{_path(arguments.name)}/bundle")
    return await asyncio.to_thread(files_of_bundle, response.body)


async def delete_function(context: OperationContext, arguments: ProjectFunctionReference) -> Done:
    """Delete a deployed function with all its versions."""
    await _send_to_functions(context, "DELETE", _path(arguments.name))
    return Done()


async def list_secrets(context: OperationContext, arguments: NoArguments) -> list[SecretDigest]:
    """Return the secrets of functions by name, without their values."""
    del arguments
    return _decoded(await _send_to_functions(context, "GET", "/secrets"), list[SecretDigest])


async def set_secrets(context: OperationContext, arguments: ProjectSecretValues) -> Done:
    """Set secrets of functions; all or none."""
    if not 0 < len(arguments.values) <= MOST_SECRETS:
        raise invalid_arguments(f"`values` must name 1 to {MOST_SECRETS} secrets")
    for name, value in arguments.values.items():
        if fault := secret_fault(name, value):
            raise invalid_arguments(f"{fault[:1].upper()}{fault[1:]}")
    await _send_to_functions(context, "PUT", "/secrets", msgspec.json.encode(arguments.values))
    context.after = {"names": sorted(arguments.values)}
    return Done()


async def unset_secrets(context: OperationContext, arguments: ProjectSecretNames) -> Done:
    """Unset secrets of functions; names that are not set are ignored."""
    if not 0 < len(arguments.names) <= MOST_SECRETS:
        raise invalid_arguments(f"`names` must name 1 to {MOST_SECRETS} secrets")
    await _send_to_functions(context, "DELETE", "/secrets", msgspec.json.encode(arguments.names))
    return Done()


def _path(name: str) -> str:
    if not FUNCTION_NAME.fullmatch(name):
        raise not_found(f"function {name[:80]}")
    return f"/functions/{name}"


async def _send_to_functions(
    context: OperationContext, method: str, path: str, body: bytes = b""
) -> Response:
    """Send a request to the pool functions, and start its worker if that waits for the first function.

    Raises: ManagementError with the status and the words of its error; Unavailable.
    """

    async def send() -> Response:
        return await context.pools.request(
            FUNCTIONS, method, _PREFIX + path, request_id=context.request_id, body=body, budget_ms=_BUDGET_MS
        )

    try:
        response = await send()
    except Unavailable:
        if not await context.pools.waits_for_functions():
            raise
        context.pools.wake_functions()
        response = await _again(send)
    if response.status < 300:
        return response
    try:
        error = msgspec.json.decode(response.body, type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeError):
        error = {}
    status = response.status if 400 <= response.status < 500 else 502
    code = str(error.get("code") or "functions_failed").lower()
    raise ManagementError(status, code, str(error.get("message") or "The functions did not answer"))


async def _again(send: Callable[[], Awaitable[Response]]) -> Response:
    """Send a request until the worker that is starting takes it. Raises: Unavailable after `_WAKE_S` seconds."""
    deadline = time.monotonic() + _WAKE_S
    while True:
        try:
            return await send()
        except Unavailable:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(_PAUSE_S)


def _decoded(response: Response, kind: type[T]) -> T:
    return msgspec.json.decode(response.body, type=kind)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation(
            "project.functions", "List functions", NoArguments, list[ListedFunction], reader, list_functions
        ),
        Operation(
            "project.function_versions",
            "List the deployed versions of a function",
            ProjectFunctionReference,
            list[Version],
            reader,
            function_versions,
        ),
        Operation(
            "project.function_source",
            "Return the files of a deployed function",
            ProjectFunctionReference,
            FunctionSource,
            reader,
            function_source,
        ),
        Operation(
            "project.deploy_function",
            "Deploy a function from its source files",
            FunctionSource,
            DeployResult,
            developer,
            deploy_function,
            changes=True,
            secrets=frozenset({"files"}),
        ),
        Operation(
            "project.delete_function",
            "Delete a deployed function with all its versions",
            ProjectFunctionReference,
            Done,
            developer,
            delete_function,
            changes=True,
            is_confirmed=True,
        ),
        Operation(
            "project.secrets",
            "List the secrets of functions, without values",
            NoArguments,
            list[SecretDigest],
            reader,
            list_secrets,
        ),
        Operation(
            "project.set_secrets",
            "Set secrets of functions",
            ProjectSecretValues,
            Done,
            developer,
            set_secrets,
            changes=True,
            secrets=frozenset({"values"}),
        ),
        Operation(
            "project.unset_secrets",
            "Unset secrets of functions",
            ProjectSecretNames,
            Done,
            developer,
            unset_secrets,
            changes=True,
        ),
    ]
