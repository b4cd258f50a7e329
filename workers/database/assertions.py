"""What settings decide about the database, compared at every start: passwords, JWT settings, exposure of new tables.

Passwords reach the server as SCRAM verifiers only, and neither they nor the JWT secret reach its log. Passwords and
JWT settings are compared with what the database has. The exposure of new tables is compared with what was decided last:
a project may change default privileges itself, and keeps its own until the setting changes.
Source: PostgreSQL, "SASL Authentication"; RFC 5802, 7677.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import asyncpg

from schemas.database_logins import WITHOUT_PASSWORD, login_passwords
from schemas.keys.secret import Secret
from schemas.settings.tree import Settings
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.database", "assertions.sql")
BE_QUIET = _STATEMENTS["be_quiet"]
"""Keeps the rest of a transaction out of the server's log, for a superuser to send before a verifier."""
_ITERATIONS = 4096
_EXPOSURE = "auto_expose_new_tables"


@dataclass(frozen=True, slots=True)
class Change:
    """Something of the database that must change: the statement that does it, and the name and value it takes."""

    statement: str
    name: str
    value: str = field(repr=False)


async def find_changes(connection: asyncpg.Connection, settings: Settings) -> list[Change]:
    """Give what in the database differs from the settings.

    Raises: asyncpg.UndefinedTableError before the first migration; asyncpg.PostgresError.
    """
    return changes_of(await read_state(connection, settings), settings)


async def read_state(connection: asyncpg.Connection, settings: Settings) -> list[asyncpg.Record]:
    """Return what the database has of all that settings and migrations decide. Raises: as `find_changes`."""
    return await connection.fetch(_STATEMENTS["found"], [*login_passwords(settings), *WITHOUT_PASSWORD])


def changes_of(rows: Iterable[asyncpg.Record], settings: Settings) -> list[Change]:
    """Return what differs from the settings in rows of `read_state`."""
    return changes((tuple(row) for row in rows), login_passwords(settings), settings)


async def make_changes(connection: asyncpg.Connection, found: Iterable[Change]) -> None:
    """Make the database agree with the settings, inside the caller's transaction. Raises: asyncpg.PostgresError."""
    await connection.execute(BE_QUIET)
    for change in found:
        await connection.execute(_STATEMENTS["hand_over"], change.name, change.value)
        await connection.execute(_STATEMENTS[change.statement])
        if change.name == _EXPOSURE:
            await connection.execute(_STATEMENTS["decide"], change.name, change.value)


def changes(
    rows: Iterable[tuple[str, str, str | None]], passwords: Mapping[str, Secret], settings: Settings
) -> list[Change]:
    """Compare rows of `found` (kind, name, value) with what is wanted (pure but for the salt of a new verifier)."""
    found = {(kind, name): value for kind, name, value in rows}
    wanted = [
        Change("password", name, verifier(passwords[name].reveal()))
        for (kind, name), stored in found.items()
        if kind == "password" and name in passwords and not matches(stored, passwords[name].reveal())
    ]
    # Versions before gave these the password of role postgres; one of the operator's own stays.
    wanted += [
        Change("no_password", name, "")
        for name in WITHOUT_PASSWORD
        if name not in passwords and matches(found.get(("password", name)), settings.db.password.reveal())
    ]
    wanted += [
        Change("update_extension", name, version or "")
        for (kind, name), version in found.items()
        if kind == "extension"
    ]
    jwt = {
        "app.settings.jwt_secret": settings.auth.jwt_secret.reveal(),
        "app.settings.jwt_exp": str(settings.auth.jwt_expiry),
    }
    wanted += [
        Change("setting", name, value) for name, value in jwt.items() if found.get(("setting", name)) != value
    ]
    exposure = "expose_new_tables" if settings.api.auto_expose_new_tables else "hide_new_tables"
    if found.get(("decision", _EXPOSURE)) != exposure:
        wanted.append(Change(exposure, _EXPOSURE, exposure))
    return wanted


def verifier(password: str, salt: bytes | None = None, iterations: int = _ITERATIONS) -> str:
    """Make what Postgres stores for a password: `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`."""
    salt = secrets.token_bytes(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    coded = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${iterations}:{coded[0]}${coded[1]}:{coded[2]}"


def matches(stored: str | None, password: str) -> bool:
    """Tell whether a stored verifier is of this password."""
    if stored is None or not stored.startswith("SCRAM-SHA-256$"):
        return False
    _, front, _ = stored.split("$")
    iterations, _, salt = front.partition(":")
    return hmac.compare_digest(stored, verifier(password, base64.b64decode(salt), int(iterations)))
