"""Access keys that stand in the database: made, listed and taken away by the service role alone. The secret is told once.

    POST s3-keys           {"claims"?} -> the pair; without claims it stands for the service role
    GET s3-keys            those that hold, without their secrets
    DELETE s3-keys/{id}    it holds no longer

Claims are those of an access token: `role`, `sub` and what policies ask for. They hold until the key is taken away.
"""

import secrets

import msgspec

from schemas.http import Response
from workers.database.interactive import statement
from workers.sql.files import read_statements
from workers.storage.asked import Asked, answer, answer_raw, done
from workers.storage.callers import SERVICE_ROLE
from workers.storage.context import Store
from workers.storage.errors import Code, StorageError, invalid_request
from workers.storage.s3.credentials import create_key

_SQL = read_statements("workers.storage.s3", "keys.sql")
_OWN = (("search_path", "storage"), ("statement_timeout", "30s"))
_LONGEST_CLAIMS = 8 * 1024
_LONGEST_ROLE = 63


async def create(store: Store, asked: Asked) -> Response:
    """`POST s3-keys`."""
    asked.refuse_unless_service()
    claims = _claims(asked)
    id, secret = secrets.token_hex(16), secrets.token_hex(32)
    await create_key(store, store.keyring, id, secret, claims)
    return answer({"access_key_id": id, "secret_access_key": secret, "claims": claims})


async def listing(store: Store, asked: Asked) -> Response:
    """`GET s3-keys`."""
    asked.refuse_unless_service()
    rows = (await store.run(list(_OWN), statement(_SQL["list"])))[0]
    return answer_raw(rows[0][0])


async def delete(store: Store, asked: Asked) -> Response:
    """`DELETE s3-keys/{id}`."""
    asked.refuse_unless_service()
    id = asked.parameters["id"]
    [gone] = await store.run(list(_OWN), statement(_SQL["revoke"], id))
    if not gone:
        raise StorageError(Code.NO_SUCH_KEY, "Access key not found", 404, error="not_found")
    return done("Successfully deleted")


def _claims(asked: Asked) -> dict[str, object]:
    """Read whom a key shall stand for. Raises: StorageError."""
    read = asked.read()
    inner = read.inner("claims")
    read.check()
    claims = read.raw("claims") if inner is not None else {"role": SERVICE_ROLE}
    assert isinstance(claims, dict)  # `inner` has looked
    role, subject = claims.get("role"), claims.get("sub", "")
    if not isinstance(role, str) or not 1 <= len(role.encode()) <= _LONGEST_ROLE or "\0" in role:
        raise invalid_request("body/claims must have required property 'role', the name of a database role")
    if not isinstance(subject, str):
        raise invalid_request("body/claims/sub must be string")
    if len(msgspec.json.encode(claims)) > _LONGEST_CLAIMS:
        raise invalid_request(f"body/claims must NOT have more than {_LONGEST_CLAIMS} bytes")
    return claims
