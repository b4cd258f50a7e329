"""Who signed a request: the configured pair, a user by his session token, or a stored key with claims of its own.

    configured pair      the service role
    session token        access key = the project's id, secret = a public API key, the token = the user's: his policies hold
    stored key           a row of storage.s3_access_keys, whose secret is sealed

The token was verified at the door, as every access token (`services/gateway/s3_token.py`). Here it counts only together
with a signature that covers it. Source: reference page "storage", section 10.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from schemas.caller import Rejected, User
from workers.database.interactive import first, statement
from workers.sql.files import read_statements
from workers.storage.callers import SERVICE, Identity, identity_of
from workers.storage.context import Store
from workers.storage.s3 import sigv4
from workers.storage.s3.asking import Asking
from workers.storage.s3.errors import S3Error, mismatch, unknown_access_key
from workers.storage.s3.forms import as_upload, claim_of
from workers.storage.s3.keyring import Keyring
from workers.storage.s3.sigv4 import Claimed

_SQL = read_statements("workers.storage.s3", "credentials.sql")
_MOUNT = "/storage/v1"
_NOT_SECRET = "no secret is this one: it only takes as long to be refused"  # noqa: S105 - so it says


class _Stored(Struct, frozen=True):
    secret: str
    claims: dict[str, object]


async def authenticated(store: Store, keyring: Keyring, asking: Asking) -> Asking:
    """Give a request with who signed it. Raises: S3Error; DatabaseError and its siblings."""
    claimed = sigv4.read_claim(asking.headers, asking.query)
    sigv4.refuse_bad_time(claimed, store.clock())
    sigv4.refuse_other_region(claimed, store.settings.s3_protocol.region)
    sigv4.refuse_unsigned(claimed, asking.headers)
    secrets, identity = await _holder(store, keyring, asking, claimed)
    key = _verified(store, asking, claimed, secrets)
    if identity is None:
        raise unknown_access_key()
    asked = replace(asking.asked, identity=identity)
    return replace(asking, asked=asked, signing_key=key, payload=claimed.payload)


async def authenticated_form(
    store: Store, keyring: Keyring, asking: Asking, fields: Mapping[str, str]
) -> Asking:
    """Give an upload by a form with who signed its policy. Raises: S3Error; DatabaseError and its siblings."""
    claimed = claim_of(fields)
    sigv4.refuse_bad_time(claimed, store.clock())
    sigv4.refuse_other_region(claimed, store.settings.s3_protocol.region)
    secrets, identity = await _holder(store, keyring, asking, claimed)
    key = _first_fit(secrets, lambda secret: sigv4.verify_policy(claimed, secret, fields["policy"]))
    if key is None:
        raise mismatch()
    if identity is None:
        raise unknown_access_key()
    asked = replace(asking.asked, identity=identity)
    return as_upload(replace(asking, asked=asked), fields, store.clock())


async def _holder(
    store: Store, keyring: Keyring, asking: Asking, claimed: Claimed
) -> tuple[list[str], Identity | None]:
    """Give the secrets that an access key may have, and who holds it. Raises: S3Error."""
    if claimed.token:
        if claimed.access_key != keyring.project:
            raise unknown_access_key()
        return [each.reveal() for each in keyring.public_keys], _user(asking, claimed.token)
    own = store.settings.s3_protocol
    if own.access_key_id and own.secret_access_key and own.access_key_id.matches(claimed.access_key):
        return [own.secret_access_key.reveal()], SERVICE
    return await _stored(store, keyring, claimed.access_key)


def _user(asking: Asking, token: str) -> Identity:
    """Give the user of a session token, as the door verified it. Raises: S3Error."""
    request = asking.asked.request
    match request.caller:
        case User():
            return identity_of(request.caller, [("authorization", f"Bearer {token}")])
        case Rejected(message=message):
            raise S3Error("InvalidToken", message, 403)
    raise S3Error("InvalidToken", "The provided token is malformed or otherwise invalid.", 403)


async def _stored(store: Store, keyring: Keyring, access_key: str) -> tuple[list[str], Identity | None]:
    """Look a key up, as the login role, which owns the table."""
    if "\0" in access_key:
        raise unknown_access_key()
    rows = (await store.run([("search_path", "storage")], statement(_SQL["find"], access_key)))[0]
    found = first(rows, _Stored)
    secret = keyring.sealer.open(access_key, found.secret) if found else None
    if found is None or secret is None:
        raise unknown_access_key()
    role, subject = str(found.claims.get("role")), found.claims.get("sub")
    claims = msgspec.json.encode(found.claims).decode()
    return [secret], Identity(role, claims, subject if isinstance(subject, str) else None)


def _verified(store: Store, asking: Asking, claimed: Claimed, secrets: list[str]) -> bytes:
    """Hold the signature against the request as it was received, and as the public address has it. Raises: S3Error."""
    for path, host in _addresses(store, asking):
        headers = {**asking.headers, "host": host}
        spelled = sigv4.canonical_request(
            asking.method, path, asking.query, headers, claimed.signed, claimed.payload
        )
        key = _first_fit(secrets, partial(sigv4.verify, claimed, request=spelled))
        if key is not None:
            return key
    raise mismatch()


def _first_fit(secrets: list[str], verify: Callable[[str], bytes]) -> bytes | None:
    """Give the signing key of the first secret that made a signature; None if none did."""
    for secret in secrets or [_NOT_SECRET]:
        try:
            return verify(secret)
        except S3Error:
            continue
    return None


def _addresses(store: Store, asking: Asking) -> list[tuple[str, str]]:
    path = asking.asked.request.path
    found = [(f"{_MOUNT}{path}", asking.headers.get("host", ""))]
    if store.settings.public_url:
        public = urlsplit(store.settings.public_url)
        found.append((f"{public.path.rstrip('/').removesuffix(_MOUNT)}{_MOUNT}{path}", public.netloc))
    return found


async def create_key(
    store: Store, keyring: Keyring, access_key: str, secret: str, claims: dict[str, object]
) -> None:
    """Keep a key with the claims of who uses it; `claims` must have a role. Raises: DatabaseError and its siblings."""
    values = (access_key, keyring.sealer.seal(access_key, secret), msgspec.json.encode(claims))
    await store.run([("search_path", "storage")], statement(_SQL["create"], *values))
