"""What programs were let in by OAuth: a code for a consent, tokens for a code, their renewal and their end.

A code is used once within a minute, by its client, with its verifier; a refresh token once, each renewal makes a new one. What comes twice
was stolen, so the consent ends with all its tokens.
"""

import hashlib
from base64 import urlsafe_b64encode

from msgspec import Struct

from workers.management.interface.identity.own_pool import OwnPool
from workers.management.interface.identity.secrets import digest, new_secret, new_token
from workers.management.interface.identity.store import execute, fetch, fetch_one
from workers.management.interface.rights import Right

ACCESS_S = 3600
"""Seconds for which an access token is valid."""
_UNUSED_S = 30 * 86400.0
"""Seconds after the last renewal at which a consent ends."""


class ConnectedProgram(Struct, frozen=True):
    """A program that an administrator let in. `client` is what it calls itself; nothing proves it."""

    id: str
    client: str
    redirect_uri: str
    rights: Right
    may_write: bool
    administrator_id: str
    created_at: str
    expires_at: str
    used_at: str | None = None


class IssuedTokens(Struct, frozen=True):
    """An access token and what renews it."""

    access: str
    refresh: str


class _Grant(Struct, frozen=True):
    id: str
    client: str
    resource: str
    rights: str
    may_write: bool
    administrator_id: str


async def new_code(
    pool: OwnPool,
    administrator_id: str,
    *,
    client: str,
    client_id: str,
    redirect_uri: str,
    resource: str,
    rights: Right,
    may_write: bool,
    code_challenge: str,
) -> str:
    """Store a consent and return its code."""
    code = new_secret()
    key = digest(client_id)
    values = (client, key, redirect_uri, resource, rights.value, may_write, digest(code), code_challenge)
    await execute(pool, "add_grant", administrator_id, *values)
    return code


async def redeem(
    pool: OwnPool, code: str, client_id: str, redirect_uri: str, verifier: str
) -> IssuedTokens | None:
    """Return tokens for a code; None if it is not valid for this client, and then what it gave before ends."""
    challenge = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    refresh = new_secret()
    grant = await fetch_one(
        pool,
        "redeem_code",
        _Grant,
        digest(code),
        digest(client_id),
        redirect_uri,
        challenge,
        digest(refresh),
        _UNUSED_S,
    )
    if grant is None:
        await execute(pool, "revoke_by_code", digest(code))
        return None
    return await _issue(pool, grant, refresh)


async def renew(pool: OwnPool, refresh: str, client_id: str) -> IssuedTokens | None:
    """Return new tokens for a refresh token; None if it is not valid for this client."""
    fresh = new_secret()
    grant = await fetch_one(
        pool, "refresh_grant", _Grant, digest(refresh), digest(client_id), digest(fresh), _UNUSED_S
    )
    if grant is None:
        await execute(pool, "revoke_by_former_refresh", digest(refresh))
        return None
    return await _issue(pool, grant, fresh)


async def revoke(pool: OwnPool, token: str, client_id: str) -> None:
    """End the consent of an access or refresh token of a client."""
    await execute(pool, "revoke_by_token", digest(token), digest(client_id))


async def programs(pool: OwnPool, administrator_id: str | None) -> list[ConnectedProgram]:
    """Return the programs of an administrator, of all without one; the newest first."""
    return await fetch(pool, "grants", ConnectedProgram, administrator_id)


async def remove(pool: OwnPool, id: str, administrator_id: str | None) -> bool:
    """End a consent, of this administrator if one is named; return whether it was there."""
    return await execute(pool, "remove_grant", id, administrator_id)


async def _issue(pool: OwnPool, grant: _Grant, refresh: str) -> IssuedTokens:
    access = new_token()
    values = (
        digest(access),
        access[-4:],
        grant.rights,
        grant.may_write,
        grant.administrator_id,
        grant.id,
        float(ACCESS_S),
    )
    await execute(pool, "add_grant_token", grant.client, *values)
    return IssuedTokens(access, refresh)
