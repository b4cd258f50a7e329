"""Operations that look at functions: list, versions, source files, differences, logs, names of secrets."""

import asyncio
import base64
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from broker.subjects import FUNCTIONS
from schemas.errors import Unavailable
from schemas.functions.deployments import FUNCTION_NAME, SecretDigest, SourceFile, Version
from schemas.functions.log_events import LogLine
from schemas.http import Response
from workers.management.areas.project.function_bundles import (
    FileDifference,
    FunctionFile,
    differences,
    placed,
    read_contents,
    read_files,
)
from workers.management.areas.requested_runs import last_runs, next_run
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.backends.metrics_text import read_metrics
from workers.management.interface.backends.platform_pools import check_is_on
from workers.management.interface.backends.pool_answers import check_answer, result_of
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_limit, check_text
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments

_ADMIN = "/_internal"
_LATEST = 1e11
_START_S, _AGAIN_S = 20.0, 0.2
_BUNDLE_MS = 55_000
MOST_UPLOAD_BYTES = 40 * 1024 * 1024
"""Bytes of a request with the files of a function."""
_CALLS, _FAILURES, _CALLED_AT = (
    "headwater_function_calls",
    "headwater_function_failures",
    "headwater_function_called_at",
)


class FunctionSummary(Struct, frozen=True):
    """A function. `status`: deployed, local (in the project's folder) or off; times in seconds since 1970, bytes of its bundle.

    `calls`, `failures` and `called_at` count since the processes of the pool functions started; `scheduled_at` is the last moment
    for which its schedule called it, `next_run_at` the next one.
    """

    name: str
    status: str
    verify_jwt: bool
    schedule: str
    timezone: str
    sha256: str
    version: int | None = None
    deployed_at: float | None = None
    bytes: int | None = None
    calls: int = 0
    failures: int = 0
    called_at: float | None = None
    scheduled_at: float | None = None
    next_run_at: float | None = None


class FunctionReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A function by its name."""

    name: str


class FunctionVersionReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A version of a function; without one, the version that runs, or the files of the project's folder."""

    name: str
    version: int | None = None


class FunctionFilesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A version of a function; without one, the version that runs, or the files of the project's folder.

    `all_contents`: of a deployed version, the contents of all files, however long.
    """

    name: str
    version: int | None = None
    all_contents: bool = False


class DeployedSettings(Struct, frozen=True):
    """The settings of a function, without its variables; null: the platform's default."""

    enabled: bool = True
    verify_jwt: bool = True
    import_map: str = ""
    entrypoint: str = ""
    static_files: list[str] = []
    schedule: str = ""
    timezone: str = "UTC"
    memory_mb: int | None = None
    cpu_ms: int | None = None
    timeout_s: float | None = None
    concurrency: int | None = None
    max_instances: int | None = None
    allow_net: list[str] | None = None
    database: bool | None = None


class FunctionFiles(Struct, frozen=True):
    """The files and settings of a function; `version` is null for one of the project's folder. 8 MiB have contents, or all on request."""

    name: str
    version: int | None
    settings: DeployedSettings
    files: list[SourceFile]


class VersionPair(Struct, frozen=True, forbid_unknown_fields=True):
    """Two versions of a function to compare; without one of them, the version that runs, or the files of the project's folder.

    `files`, and `settings`, are compared instead of `after`: what `functions.deploy` would make of them, with all paths whole.
    """

    name: str
    before: int | None = None
    after: int | None = None
    files: list[FunctionFile] = []
    settings: DeployedSettings | None = None


class VersionDifferences(Struct, frozen=True):
    """What differs between two versions: files, and settings by name as `[before, after]`. A version is null for what is not deployed."""

    before: int | None
    after: int | None
    files: list[FileDifference]
    settings: dict[str, list[Any]]


class FunctionLogQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The last lines that fit: of a function or all, of a level or a higher one, between two moments in seconds since 1970."""

    name: str = ""
    level: str = ""
    after: float | None = None
    before: float | None = None
    text: str = ""
    request_id: str = ""
    limit: PageLimit = 100


class FunctionLogs(Struct, frozen=True):
    """Lines, the oldest first."""

    lines: list[LogLine]


class _ListedFunction(Struct, frozen=True):
    name: str
    status: str
    verify_jwt: bool
    schedule: str
    timezone: str
    sha256: str
    version: int | None = None
    at: float | None = None
    size: int | None = None


async def ask_functions(
    context: OperationContext,
    method: str,
    path: str,
    body: bytes = b"",
    *,
    query: str = "",
    budget_ms: int = 30_000,
) -> Response:
    """Send a request to the administration of functions as the service role, and start its worker if it waits for the first function.

    Raises: ManagementError for its errors; Unavailable.
    """
    check_is_on(FUNCTIONS.pool, context.configuration)
    until = asyncio.get_running_loop().time() + _START_S
    while True:
        try:
            response = await context.pools.request(
                FUNCTIONS,
                method,
                f"{_ADMIN}/{path}",
                request_id=context.request_id,
                query=query,
                body=body,
                budget_ms=budget_ms,
            )
            break
        except Unavailable:
            if asyncio.get_running_loop().time() > until:
                raise
            context.pools.wake_functions()
            await asyncio.sleep(_AGAIN_S)
    check_answer(response)
    return response


def function_path(name: str) -> str:
    """Return the path of a function. Raises: ManagementError (400) for a text that cannot be the name of a function."""
    if not FUNCTION_NAME.fullmatch(name):
        raise invalid_arguments(
            "`name` must be the name of a function: letters, digits, - and _, a letter first"
        )
    return f"functions/{name}"


async def list_functions(context: OperationContext, arguments: NoArguments) -> list[FunctionSummary]:
    """Return the functions with their versions, schedules and calls."""
    del arguments
    if await context.pools.waits_for_functions():
        return []
    listed = result_of(await ask_functions(context, "GET", "functions"), list[_ListedFunction])
    metrics = read_metrics(await context.pools.metrics(), (_CALLS, _FAILURES, _CALLED_AT))
    runs = await last_runs(context)
    return [
        FunctionSummary(
            function.name,
            function.status,
            function.verify_jwt,
            function.schedule,
            function.timezone,
            function.sha256,
            function.version,
            function.at,
            function.size,
            round(metrics.total(_CALLS, function=function.name)),
            round(metrics.total(_FAILURES, function=function.name)),
            metrics.greatest(_CALLED_AT, function=function.name),
            runs.get(f"function {function.name}"),
            next_run(function.schedule, function.timezone) if function.schedule else None,
        )
        for function in listed
    ]


async def list_versions(context: OperationContext, arguments: FunctionReference) -> list[Version]:
    """Return the stored versions of a function, the newest first."""
    return result_of(await ask_functions(context, "GET", function_path(arguments.name)), list[Version])


async def read_function_files(context: OperationContext, arguments: FunctionFilesQuery) -> FunctionFiles:
    """Return the source files of a version."""
    query = urlencode({"version": arguments.version}) if arguments.version is not None else ""
    path = f"{function_path(arguments.name)}/files"
    source = result_of(await ask_functions(context, "GET", path, query=query), FunctionFiles)
    is_whole = all(file.text is not None or file.base64 is not None for file in source.files)
    if is_whole or source.version is None or not arguments.all_contents:
        return source
    path = f"{function_path(arguments.name)}/bundle"
    query = urlencode({"version": source.version})
    answer = await ask_functions(context, "GET", path, query=query, budget_ms=_BUNDLE_MS)
    contents = await asyncio.to_thread(read_contents, answer.body)
    return msgspec.structs.replace(source, files=await asyncio.to_thread(_source_files, contents))


async def compare(context: OperationContext, arguments: VersionPair) -> VersionDifferences:
    """Return the differences between two versions of a function, or between one and files that are not deployed yet."""
    has_files = bool(arguments.files)
    if has_files and arguments.after is not None:
        raise invalid_arguments("Send `after` or `files`")
    query = FunctionFilesQuery(arguments.name, arguments.before, all_contents=has_files)
    before = await _files_or_none(context, query) if has_files else await read_function_files(context, query)
    if has_files:
        contents = placed(
            arguments.name, await asyncio.to_thread(read_files, arguments.files), keeps_paths=True
        )
        new_contents: dict[str, bytes | None] = dict(contents)
        after_version, settings = None, arguments.settings or before.settings
    else:
        after = await read_function_files(context, FunctionFilesQuery(arguments.name, arguments.after))
        new_contents, after_version, settings = _contents(after), after.version, after.settings
    old, new = (msgspec.to_builtins(values) for values in (before.settings, settings))
    changed = {name: [old[name], new[name]] for name in old if old[name] != new[name]}
    files = await asyncio.to_thread(differences, _contents(before), new_contents)
    return VersionDifferences(before.version, after_version, files, changed)


async def _files_or_none(context: OperationContext, query: FunctionFilesQuery) -> FunctionFiles:
    """Return the source files of a version; no files for a function that does not exist yet."""
    if query.version is None and await context.pools.waits_for_functions():
        return FunctionFiles(query.name, None, DeployedSettings(), [])
    try:
        return await read_function_files(context, query)
    except ManagementError as error:
        if error.status != 404 or query.version is not None:
            raise
        return FunctionFiles(query.name, None, DeployedSettings(), [])


async def read_logs(context: OperationContext, arguments: FunctionLogQuery) -> FunctionLogs:
    """Return the last log lines of functions that fit; with `before` of the first line they are read by pages."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    if arguments.name:
        function_path(arguments.name)
    values: dict[str, object] = {"lines": limit}
    for name in ("level", "text", "request_id"):
        if text := check_text(name, getattr(arguments, name), least=0):
            values[name] = text
    for name in ("after", "before"):
        if (moment := getattr(arguments, name)) is not None:
            if not 0 <= moment <= _LATEST:
                raise invalid_arguments(f"`{name}` must be seconds since 1970")
            values[name] = f"{moment:.6f}"
    query = urlencode({**values, **({"function": arguments.name} if arguments.name else {})})
    answer = await ask_functions(context, "GET", "logs", query=query)
    return FunctionLogs(msgspec.json.Decoder(LogLine).decode_lines(answer.body.strip() or b""))


async def list_secrets(context: OperationContext, arguments: NoArguments) -> list[SecretDigest]:
    """Return the names of the secrets with digests of their values: equal values have equal digests."""
    del arguments
    return result_of(await ask_functions(context, "GET", "secrets"), list[SecretDigest])


def _source_files(contents: dict[str, bytes]) -> list[SourceFile]:
    """Return files with their bytes as base64, by path."""
    return [
        SourceFile(path, len(content), base64=base64.b64encode(content).decode())
        for path, content in sorted(contents.items())
    ]


def _contents(files: FunctionFiles) -> dict[str, bytes | None]:
    """Return the contents of files by path, None for one that was left out. Raises: ManagementError (409)."""
    contents: dict[str, bytes | None] = {}
    for file in files.files:
        if file.text is not None:
            contents[file.path] = file.text.encode()
        else:
            contents[file.path] = base64.b64decode(file.base64) if file.base64 is not None else None
    if all(content is None for content in contents.values()) and contents:
        raise ManagementError(409, "too_large", "The files of this version are too long to be compared")
    return contents


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader = Right.READER
    return [
        Operation("functions.list", "List functions", NoArguments, list[FunctionSummary], reader, list_functions),
        Operation("functions.versions", "List versions of a function", FunctionReference, list[Version], reader, list_versions),
        Operation("functions.files", "Read source files", FunctionFilesQuery, FunctionFiles, reader, read_function_files),
        Operation("functions.differences", "Compare two versions", VersionPair, VersionDifferences, reader, compare, max_body_bytes=MOST_UPLOAD_BYTES),
        Operation("functions.logs", "Read logs of functions", FunctionLogQuery, FunctionLogs, reader, read_logs),
        Operation("functions.secrets", "List names of secrets", NoArguments, list[SecretDigest], reader, list_secrets),
    ]  # fmt: skip
