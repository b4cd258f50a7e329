"""Endpoints on functions and their secrets.

A deployment is a form: `metadata` (JSON) and any number of `file`, each with its path as the file's name. A download is such a form
too. Bundles that the command line made itself (eszip) cannot be taken: `--use-api` sends the files.
"""

import asyncio
import datetime

from msgspec import Struct

from schemas.functions.deployments import MOST_UNPACKED, DeployResult, SecretDigest
from schemas.http import Response
from workers.management.areas.project.multipart import parse_form, render_form
from workers.management.interface.errors import ManagementError, not_found
from workers.management.operations.functions import FunctionFiles, FunctionSummary
from workers.management.spellings.project_api.call import ProjectCall, ProjectEndpoint, answered
from workers.management.spellings.project_api.function_form import (
    deployment_of_form,
    form_metadata,
    form_of_files,
)

_STATUS = {"deployed": "ACTIVE", "local": "ACTIVE", "off": "THROTTLED"}
_MAX_FORM_BYTES = MOST_UNPACKED + 4 * 1024 * 1024


class SecretPair(Struct, frozen=True):
    """A secret to set."""

    name: str
    value: str


async def list_functions(call: ProjectCall) -> Response:
    """Return the functions."""
    return answered([_function(row) for row in await _rows(call)])


async def get_function(call: ProjectCall) -> Response:
    """Return one function. Raises: ManagementError (404)."""
    return answered(_function(await _row(call, call.parameters["function_slug"])))


async def deploy_function(call: ProjectCall) -> Response:
    """Deploy a function from a form of files; with `bundleOnly` too it runs at once."""
    parts = await asyncio.to_thread(parse_form, call.content_type, call.body)
    metadata = form_metadata(parts)
    name = call.first("slug") or metadata.name
    deployment = await asyncio.to_thread(deployment_of_form, name, metadata, parts)
    result: DeployResult = await call.operate("functions.deploy", deployment)
    row = _function(await _row(call, name))
    return answered(row | {"version": result.version.number if result.version else row["version"]}, 201)


async def update_functions(call: ProjectCall) -> Response:
    """Return the functions that a list names: each runs since it was uploaded."""
    names = {str(entry.get("slug")) for entry in call.decoded(list[dict[str, object]])}
    return answered({"functions": [_function(row) for row in await _rows(call) if row.name in names]})


async def delete_function(call: ProjectCall) -> Response:
    """Delete a deployed function."""
    await call.operate("functions.delete", name=call.parameters["function_slug"])
    return answered({})


async def function_body(call: ProjectCall) -> Response:
    """Return the files of a deployed function as a form. Raises: ManagementError (404, 406)."""
    if "multipart/form-data" not in call.accept:
        raise ManagementError(
            406,
            "no_bundle",
            "Functions are stored as their source files, not as a bundle",
            hint="Add --use-api to `supabase functions download`.",
        )
    name = call.parameters["function_slug"]
    source: FunctionFiles = await call.operate("functions.files", name=name, all_contents=True)
    content_type, body = await asyncio.to_thread(lambda: render_form(form_of_files(source)))
    return Response(200, [("content-type", content_type), ("cache-control", "no-store")], body)


async def reject_bundle(call: ProjectCall) -> Response:
    """Reject a bundle that the command line made. Raises: ManagementError (415)."""
    del call
    raise ManagementError(
        415,
        "no_bundle",
        "This platform takes the source files of functions, not a bundle",
        hint="Add --use-api to `supabase functions deploy`.",
    )


async def list_secrets(call: ProjectCall) -> Response:
    """Return the secrets with digests in place of their values."""
    rows: list[SecretDigest] = await call.operate("functions.secrets")
    return answered([{"name": row.name, "value": row.digest, "updated_at": _iso(row.at)} for row in rows])


async def set_secrets(call: ProjectCall) -> Response:
    """Set secrets."""
    pairs = call.decoded(list[SecretPair])
    await call.operate("functions.set_secrets", values={pair.name: pair.value for pair in pairs})
    return answered({}, 201)


async def unset_secrets(call: ProjectCall) -> Response:
    """Unset secrets."""
    await call.operate("functions.unset_secrets", names=call.decoded(list[str]))
    return answered({})


async def _rows(call: ProjectCall) -> list[FunctionSummary]:
    rows: list[FunctionSummary] = await call.operate("functions.list")
    return rows


async def _row(call: ProjectCall, name: str) -> FunctionSummary:
    row = next((row for row in await _rows(call) if row.name == name), None)
    if row is None:
        raise not_found(f"function {name[:80]}")
    return row


def _function(row: FunctionSummary) -> dict[str, object]:
    at_ms = round((row.deployed_at or 0) * 1000)
    return {
        "id": row.name,
        "slug": row.name,
        "name": row.name,
        "status": _STATUS.get(row.status, "ACTIVE"),
        "version": row.version or 0,
        "created_at": at_ms,
        "updated_at": at_ms,
        "verify_jwt": row.verify_jwt,
        "ezbr_sha256": row.sha256,
    }


def _iso(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat().replace("+00:00", "Z")


_FUNCTIONS = "/v1/projects/{ref}/functions"
_FUNCTION = f"{_FUNCTIONS}/{{function_slug}}"
_SECRETS = "/v1/projects/{ref}/secrets"
ENDPOINTS = (
    ProjectEndpoint("GET", _FUNCTIONS, list_functions),
    ProjectEndpoint("POST", _FUNCTIONS, reject_bundle),
    ProjectEndpoint("PUT", _FUNCTIONS, update_functions),
    ProjectEndpoint("POST", f"{_FUNCTIONS}/deploy", deploy_function, _MAX_FORM_BYTES),
    ProjectEndpoint("GET", _FUNCTION, get_function),
    ProjectEndpoint("PATCH", _FUNCTION, reject_bundle),
    ProjectEndpoint("DELETE", _FUNCTION, delete_function),
    ProjectEndpoint("GET", f"{_FUNCTION}/body", function_body),
    ProjectEndpoint("GET", _SECRETS, list_secrets),
    ProjectEndpoint("POST", _SECRETS, set_secrets, 8 * 1024 * 1024),
    ProjectEndpoint("DELETE", _SECRETS, unset_secrets),
)
