"""Operations that change functions or run them: deploy, roll back, delete, secrets, call, run on schedule now."""

import asyncio
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from schemas.functions.deployments import MOST_SECRETS, DeployResult, Version, secret_fault
from workers.management.areas.project.function_bundles import (
    FunctionFile,
    make_bundle,
    placed,
    read_files,
    read_zip,
)
from workers.management.areas.requested_runs import request_run
from workers.management.interface import argument_limits as limits
from workers.management.interface.backends.pool_answers import result_of
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_text
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments
from workers.management.operations.functions import (
    MOST_UPLOAD_BYTES,
    DeployedSettings,
    FunctionFilesQuery,
    FunctionReference,
    FunctionVersionReference,
    ask_functions,
    function_path,
    list_functions,
    list_versions,
    read_function_files,
)

_DEPLOY_MS = 55_000


class FunctionDeployment(Struct, frozen=True, forbid_unknown_fields=True):
    """A version to deploy: `files`, or `zip`, a zip archive in base64.

    Paths are those of `functions.files`, as `functions/hello/index.ts`; if none begins with `functions/`, all are below the
    function's folder, unless `keeps_paths`. Without `settings` those of the running version are used. `base_version`: it is refused if another one runs.
    """

    name: str
    files: list[FunctionFile] = []
    zip: str = ""
    settings: DeployedSettings | None = None
    base_version: int | None = None
    keeps_paths: bool = False


class FunctionSecrets(Struct, frozen=True, forbid_unknown_fields=True):
    """Secrets by name."""

    values: Annotated[dict[str, str], limits.members(MOST_SECRETS)]


class SecretNames(Struct, frozen=True, forbid_unknown_fields=True):
    """Names of secrets."""

    names: Annotated[list[str], limits.entries(MOST_SECRETS)]


async def deploy(context: OperationContext, arguments: FunctionDeployment) -> DeployResult:
    """Deploy a version of a function; it runs when this returns."""
    path = function_path(arguments.name)
    if bool(arguments.files) == bool(arguments.zip):
        raise invalid_arguments("Send `files` or `zip`")
    active = await _active_version(context, arguments.name)
    if arguments.base_version is not None and (active is None or active.number != arguments.base_version):
        running = f"version {active.number}" if active else "none"
        raise ManagementError(
            409,
            "newer_version",
            f"Your files are of version {arguments.base_version}; {running} runs",
            hint="functions.differences shows what was changed since.",
        )
    if arguments.zip:
        contents = await asyncio.to_thread(read_zip, arguments.zip)
    else:
        contents = await asyncio.to_thread(read_files, arguments.files)
    contents = placed(arguments.name, contents, keeps_paths=arguments.keeps_paths)
    settings = arguments.settings or await _settings_of(context, arguments.name, active)
    if settings.entrypoint and settings.entrypoint not in contents:
        raise invalid_arguments(f"The entrypoint {settings.entrypoint[:200]} is not among the files")
    bundle = await asyncio.to_thread(make_bundle, arguments.name, settings, contents)
    query = urlencode({"base": arguments.base_version}) if arguments.base_version is not None else ""
    answer = await ask_functions(context, "PUT", path, bundle, query=query, budget_ms=_DEPLOY_MS)
    context.before, context.after = active, {"files": sorted(contents), "settings": settings}
    return result_of(answer, DeployResult)


async def roll_back(context: OperationContext, arguments: FunctionVersionReference) -> DeployResult:
    """Run an older version of a function again: the one before the running one unless another is named."""
    path = f"{function_path(arguments.name)}/rollback"
    context.before = await _active_version(context, arguments.name)
    body: dict[str, Any] = {"version": arguments.version} if arguments.version is not None else {}
    answer = await ask_functions(context, "POST", path, msgspec.json.encode(body))
    result = result_of(answer, DeployResult)
    context.after = result.version
    return result


async def delete(context: OperationContext, arguments: FunctionReference) -> Done:
    """Delete a deployed function with all its versions. One of the same name in the project's folder runs again."""
    path = function_path(arguments.name)
    context.before = await list_versions(context, arguments)
    await ask_functions(context, "DELETE", path)
    return Done()


async def set_secrets(context: OperationContext, arguments: FunctionSecrets) -> Done:
    """Store secrets; functions get them from now on."""
    if not 1 <= len(arguments.values) <= MOST_SECRETS:
        raise invalid_arguments(f"`values` must have 1 to {MOST_SECRETS} entries")
    for name, value in arguments.values.items():
        if fault := secret_fault(name, value):
            raise invalid_arguments(f"{fault[:1].upper()}{fault[1:]}")
    await ask_functions(context, "PUT", "secrets", msgspec.json.encode(arguments.values))
    context.after = {"names": sorted(arguments.values)}
    return Done()


async def unset_secrets(context: OperationContext, arguments: SecretNames) -> Done:
    """Delete secrets."""
    if not 1 <= len(arguments.names) <= MOST_SECRETS:
        raise invalid_arguments(f"`names` must have 1 to {MOST_SECRETS} entries")
    for name in arguments.names:
        check_text("names", name)
    await ask_functions(context, "DELETE", "secrets", msgspec.json.encode(arguments.names))
    return Done()


async def run_now(context: OperationContext, arguments: FunctionReference) -> Done:
    """Request that the scheduler calls a function with a schedule now, once, as it does at its times."""
    function_path(arguments.name)
    functions = {function.name: function for function in await list_functions(context, NoArguments())}
    function = functions.get(arguments.name)
    if function is None or not function.schedule:
        raise ManagementError(
            404,
            "not_found",
            f"There is no function {arguments.name} with a schedule",
            hint="functions.invoke calls any function.",
        )
    await request_run(context, f"function {arguments.name}", is_job=False)
    return Done()


async def _active_version(context: OperationContext, name: str) -> Version | None:
    versions = await list_versions(context, FunctionReference(name))
    return next((version for version in versions if version.is_active), None)


async def _settings_of(context: OperationContext, name: str, active: Version | None) -> DeployedSettings:
    if active is None:
        return DeployedSettings()
    reference = FunctionFilesQuery(name, active.number)
    return (await read_function_files(context, reference)).settings


def operations() -> list[Operation]:
    """Return the operations of this module."""
    developer = Right.DEVELOPER
    return [
        Operation(
            "functions.deploy",
            "Deploy a version of a function",
            FunctionDeployment,
            DeployResult,
            developer,
            deploy,
            changes=True,
            secrets=frozenset({"files", "zip"}),
            max_body_bytes=MOST_UPLOAD_BYTES,
        ),
        Operation(
            "functions.roll_back",
            "Run an older version again",
            FunctionVersionReference,
            DeployResult,
            developer,
            roll_back,
            changes=True,
        ),
        Operation(
            "functions.delete",
            "Delete a deployed function",
            FunctionReference,
            Done,
            developer,
            delete,
            changes=True,
            is_confirmed=True,
        ),
        Operation(
            "functions.set_secrets",
            "Set secrets of functions",
            FunctionSecrets,
            Done,
            developer,
            set_secrets,
            changes=True,
            secrets=frozenset({"values"}),
            max_body_bytes=6 * 1024 * 1024,
        ),
        Operation(
            "functions.unset_secrets",
            "Delete secrets of functions",
            SecretNames,
            Done,
            developer,
            unset_secrets,
            changes=True,
            is_confirmed=True,
        ),
        Operation(
            "functions.run_now",
            "Run a scheduled function now",
            FunctionReference,
            Done,
            developer,
            run_now,
            changes=True,
        ),
    ]
