"""Signing in: by address and password, or by a one-time link; the result is the secret of a new session.

Guessing is slowed down: an address and a network have `_MOST_FAILURES` attempts in `_WINDOW_S`; each attempt is counted before the
password is checked, so that attempts at once count too. A success forgets those of the address. An unknown address takes the
same time and gives the same answer as a wrong password.
"""

import ipaddress
from dataclasses import dataclass

from msgspec import Struct

from workers.database.connection_pool.pool import ConnectionPool
from workers.management.errors import ManagementError
from workers.management.identity.secrets import PasswordHashing, digest, new_secret
from workers.management.identity.store import execute, fetch_one

_MOST_FAILURES = 10
_MOST_FROM_NETWORK = 50
_WINDOW_S = 15 * 60.0
_MOST_AGENT = 200


class _Login(Struct):
    id: str
    password: str | None


@dataclass(frozen=True, slots=True)
class ClientOrigin:
    """Where a request comes from."""

    address: str
    user_agent: str


@dataclass(frozen=True, slots=True)
class StartedSession:
    """A session that was made, and the secret for its cookie."""

    administrator_id: str
    secret: str


async def sign_in_by_password(
    pool: ConnectionPool, hashing: PasswordHashing, email: str, password: str, client: ClientOrigin
) -> StartedSession:
    """Sign in by address and password. Raises: ManagementError (401, 429)."""
    key = digest(f"email:{email.strip().lower()}")
    await _count(pool, key, _MOST_FAILURES)
    network = await _count_network(pool, client)
    login = await fetch_one(pool, "by_email", _Login, email.strip())
    is_right = await hashing.verify(password, login.password if login else None)
    if login is None or not is_right:
        raise ManagementError(401, "invalid_credentials", "The address or the password is wrong")
    await execute(pool, "forget_attempts", key)
    await execute(pool, "forget_attempt", network)
    return await _start(pool, login, client)


async def sign_in_by_link(pool: ConnectionPool, secret: str, client: ClientOrigin) -> StartedSession:
    """Sign in by the secret of a link, which is used up. Raises: ManagementError (401, 429)."""
    network = await _count_network(pool, client)
    login = await fetch_one(pool, "use_link", _Login, digest(secret))
    if login is None:
        raise ManagementError(
            401,
            "invalid_link",
            "This link was used, or its time is over",
            hint="`headwater admin link` prints a new one.",
        )
    await execute(pool, "forget_attempt", network)
    return await _start(pool, login, client)


async def confirm(
    pool: ConnectionPool, hashing: PasswordHashing, email: str, session_id: str, password: str
) -> None:
    """Note that the administrator of a session proved the password again. Raises: ManagementError (401, 429)."""
    key = digest(f"email:{email.strip().lower()}")
    await _count(pool, key, _MOST_FAILURES)
    login = await fetch_one(pool, "by_email", _Login, email)
    if login is None or not await hashing.verify(password, login.password):
        raise ManagementError(401, "invalid_credentials", "The password is wrong")
    await execute(pool, "forget_attempts", key)
    await execute(pool, "confirm_session", session_id)


async def _start(pool: ConnectionPool, login: _Login, client: ClientOrigin) -> StartedSession:
    secret = new_secret()
    agent = client.user_agent.encode(errors="replace").decode()[:_MOST_AGENT]
    await execute(pool, "add_session", login.id, digest(secret), client.address, agent.replace("\0", ""))
    await execute(pool, "note_sign_in", login.id)
    return StartedSession(login.id, secret)


async def _count_network(pool: ConnectionPool, client: ClientOrigin) -> bytes:
    """Count an attempt from a network and return its key. Raises: ManagementError (429)."""
    key = digest(f"network:{_network(client.address)}")
    await _count(pool, key, _MOST_FROM_NETWORK)
    return key


async def _count(pool: ConnectionPool, key: bytes, most: int) -> None:
    """Count an attempt. Raises: ManagementError (429) if there were too many."""
    if not await execute(pool, "count_attempt", key, most, _WINDOW_S):
        raise ManagementError(
            429,
            "too_many_attempts",
            "There were too many failed attempts; try again in 15 minutes",
            headers=[("retry-after", str(round(_WINDOW_S)))],
        )


def _network(address: str) -> str:
    """Return an IPv4 address, or the 64-bit prefix of an IPv6 one."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if parsed.version == 4 else str(ipaddress.ip_network((parsed, 64), strict=False))
