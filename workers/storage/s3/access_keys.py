"""Stored S3 access keys: created, listed and deleted by the service role alone. The secret is returned once, at
creation.

    POST s3-keys           {"claims"?} -> the pair; without claims the key has the service role
    GET s3-keys            the valid keys, without their secrets
    DELETE s3-keys/{id}    revokes it

Claims are those of an access token: `role`, `sub` and whatever policies read. They are valid until the key is deleted.
"""

import secrets

import msgspec

from schemas.http import Response
from workers.database.transactions.interactive import statement
from workers.sql.files import read_statements
from workers.storage.model.errors import StorageError, StorageErrorCode, invalid_request
from workers.storage.requests.context import StorageContext
from workers.storage.requests.identity import SERVICE_ROLE
from workers.storage.requests.storage_request import (
    StorageRequest,
    json_response,
    message_response,
    raw_json_response,
)
from workers.storage.s3.credentials import create_key

_SQL = read_statements("workers.storage.s3", "access_keys.sql")
_OWN = (("search_path", "storage"), ("statement_timeout", "30s"))
_LONGEST_CLAIMS = 8 * 1024
_LONGEST_ROLE = 63


async def create(context: StorageContext, request: StorageRequest) -> Response:
    """`POST s3-keys`."""
    request.require_service_role()
    claims = _claims(request)
    id, secret = secrets.token_hex(16), secrets.token_hex(32)
    await create_key(context, context.keyring, id, secret, claims)
    return json_response({"access_key_id": id, "secret_access_key": secret, "claims": claims})


async def listing(context: StorageContext, request: StorageRequest) -> Response:
    """`GET s3-keys`."""
    request.require_service_role()
    rows = (await context.run(list(_OWN), statement(_SQL["list"])))[0]
    return raw_json_response(rows[0][0])


async def delete(context: StorageContext, request: StorageRequest) -> Response:
    """`DELETE s3-keys/{id}`."""
    request.require_service_role()
    id = request.parameters["id"]
    [gone] = await context.run(list(_OWN), statement(_SQL["revoke"], id))
    if not gone:
        raise StorageError(StorageErrorCode.NO_SUCH_KEY, "Access key not found", 404, error="not_found")
    return message_response("Successfully deleted")


def _claims(request: StorageRequest) -> dict[str, object]:
    """Read the claims of a new key. Raises: StorageError."""
    read = request.read()
    inner = read.inner("claims")
    read.check()
    claims = read.raw("claims") if inner is not None else {"role": SERVICE_ROLE}
    assert isinstance(claims, dict)  # `inner` has checked it
    role, subject = claims.get("role"), claims.get("sub", "")
    if not isinstance(role, str) or not 1 <= len(role.encode()) <= _LONGEST_ROLE or "\0" in role:
        raise invalid_request("body/claims must have required property 'role', the name of a database role")
    if not isinstance(subject, str):
        raise invalid_request("body/claims/sub must be string")
    if len(msgspec.json.encode(claims)) > _LONGEST_CLAIMS:
        raise invalid_request(f"body/claims must NOT have more than {_LONGEST_CLAIMS} bytes")
    return claims
