"""Find the secret and the identity of an access key, and verify the signature of a request.

    configured pair      identity: the service role
    session token        access key = the project's id, secret = a public API key, token = the user's JWT; the user's policies apply
    stored key           a row of storage.s3_access_keys with an encrypted secret and its own claims

The gateway has verified the session token like every access token (`services/gateway/objects/storage_handlers.py`). Here it is valid
only together with a signature that covers it. Source: docs/reference/storage.md, section 10.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from schemas.caller import RejectedCaller, UserCaller
from schemas.keys.secret_record import SecretRecord
from workers.database.transactions.interactive import decode_first, statement
from workers.sql.files import read_statements
from workers.storage.model.s3_keyring import S3Keyring
from workers.storage.requests.context import StorageContext
from workers.storage.requests.identity import SERVICE, StorageIdentity, identity_of
from workers.storage.s3.forms import as_upload, claim_of
from workers.storage.s3.protocol import sigv4
from workers.storage.s3.protocol.errors import S3Error, mismatch, unknown_access_key
from workers.storage.s3.protocol.request import S3Request
from workers.storage.s3.protocol.sigv4 import SignatureClaim

_SQL = read_statements("workers.storage.s3", "credentials.sql")
_MOUNT = "/storage/v1"
_NOT_SECRET = "no secret is this one: it only takes as long to be refused"  # noqa: S105 - so it says


class _Stored(SecretRecord, Struct, frozen=True):
    secret: str
    claims: dict[str, object]


async def authenticated(context: StorageContext, keyring: S3Keyring, request: S3Request) -> S3Request:
    """Return a request with the identity that signed it. Raises: S3Error; DatabaseError and its siblings."""
    claimed = sigv4.read_claim(request.headers, request.query)
    sigv4.check_time(claimed, context.clock())
    sigv4.check_region(claimed, context.settings.s3_protocol.region)
    sigv4.check_signed_headers(claimed, request.headers)
    secrets, identity = await _holder(context, keyring, request, claimed)
    key = _verified(context, request, claimed, secrets)
    if identity is None:
        raise unknown_access_key()
    storage_request = replace(request.storage_request, identity=identity)
    return replace(request, storage_request=storage_request, signing_key=key, payload=claimed.payload)


async def authenticated_form(
    context: StorageContext, keyring: S3Keyring, request: S3Request, fields: Mapping[str, str]
) -> S3Request:
    """Return a form upload with the identity that signed its policy. Raises: S3Error; DatabaseError and its siblings."""
    claimed = claim_of(fields)
    sigv4.check_time(claimed, context.clock())
    sigv4.check_region(claimed, context.settings.s3_protocol.region)
    secrets, identity = await _holder(context, keyring, request, claimed)
    key = _first_fit(secrets, lambda secret: sigv4.verify_policy(claimed, secret, fields["policy"]))
    if key is None:
        raise mismatch()
    if identity is None:
        raise unknown_access_key()
    storage_request = replace(request.storage_request, identity=identity)
    return as_upload(replace(request, storage_request=storage_request), fields, context.clock())


async def _holder(
    context: StorageContext, keyring: S3Keyring, request: S3Request, claimed: SignatureClaim
) -> tuple[list[str], StorageIdentity | None]:
    """Return the possible secrets of an access key and its identity. Raises: S3Error."""
    if claimed.token:
        if claimed.access_key != keyring.project:
            raise unknown_access_key()
        return [key.reveal() for key in keyring.public_keys], _user(request, claimed.token)
    s3_settings = context.settings.s3_protocol
    if (
        s3_settings.access_key_id
        and s3_settings.secret_access_key
        and s3_settings.access_key_id.matches(claimed.access_key)
    ):
        return [s3_settings.secret_access_key.reveal()], SERVICE
    return await _stored(context, keyring, claimed.access_key)


def _user(request: S3Request, token: str) -> StorageIdentity:
    """Return the user of a session token that the gateway verified. Raises: S3Error."""
    caller = request.storage_request.http.caller
    match caller:
        case UserCaller():
            return identity_of(caller, [("authorization", f"Bearer {token}")])
        case RejectedCaller(message=message):
            raise S3Error("InvalidToken", message, 403)
    raise S3Error("InvalidToken", "The provided token is malformed or otherwise invalid.", 403)


async def _stored(
    context: StorageContext, keyring: S3Keyring, access_key: str
) -> tuple[list[str], StorageIdentity | None]:
    """Look up a stored key as the login role, which owns the table."""
    if "\0" in access_key:
        raise unknown_access_key()
    rows = (await context.run([("search_path", "storage")], statement(_SQL["find"], access_key)))[0]
    stored = decode_first(rows, _Stored)
    secret = keyring.sealer.open(access_key, stored.secret) if stored else None
    if stored is None or secret is None:
        raise unknown_access_key()
    role, subject = str(stored.claims.get("role")), stored.claims.get("sub")
    claims = msgspec.json.encode(stored.claims).decode()
    return [secret], StorageIdentity(role, claims, subject if isinstance(subject, str) else None)


def _verified(
    context: StorageContext, request: S3Request, claimed: SignatureClaim, secrets: list[str]
) -> bytes:
    """Verify the signature for the path as it was received, and for the path of the public address. Raises: S3Error."""
    for path, host in _addresses(context, request):
        headers = {**request.headers, "host": host}
        spelled = sigv4.canonical_request(
            request.method, path, request.query, headers, claimed.signed, claimed.payload
        )
        key = _first_fit(secrets, partial(sigv4.verify, claimed, request=spelled))
        if key is not None:
            return key
    raise mismatch()


def _first_fit(secrets: list[str], verify: Callable[[str], bytes]) -> bytes | None:
    """Return the signing key of the first secret that produced the signature, or None."""
    for secret in secrets or [_NOT_SECRET]:
        try:
            return verify(secret)
        except S3Error:
            continue
    return None


def _addresses(context: StorageContext, request: S3Request) -> list[tuple[str, str]]:
    path = request.storage_request.http.path
    addresses = [(f"{_MOUNT}{path}", request.headers.get("host", ""))]
    if context.settings.public_url:
        public = urlsplit(context.settings.public_url)
        addresses.append((f"{public.path.rstrip('/').removesuffix(_MOUNT)}{_MOUNT}{path}", public.netloc))
    return addresses


async def create_key(
    context: StorageContext, keyring: S3Keyring, access_key: str, secret: str, claims: dict[str, object]
) -> None:
    """Store a key with the claims of its user; `claims` must have a role. Raises: DatabaseError and its siblings."""
    values = (access_key, keyring.sealer.seal(access_key, secret), msgspec.json.encode(claims))
    await context.run([("search_path", "storage")], statement(_SQL["create"], *values))
