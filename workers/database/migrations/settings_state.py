"""Compares what settings decide about the database with its state at every start, and changes what differs.

Settings decide the passwords of logins, the JWT settings, whether new tables are exposed, and which private hosts foreign servers may
name (`net.allow`, platform/0037). Passwords are sent as SCRAM
verifiers only, and neither they nor the JWT secret are written to the server's log. Passwords and JWT settings are compared
with the database's own. Every login can read the settings of a database, so the JWT secret is removed from them unless
`db.expose_jwt_secret` is set; earlier versions stored it there. The exposure of new tables is compared with the last decision that was applied: a project may
change default privileges itself, and keeps its own until the setting changes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import asyncpg
import msgspec

from schemas.database_logins import WITHOUT_PASSWORD, login_passwords
from schemas.keys.secret import Secret
from schemas.settings.tree import Settings
from workers.database.sessions.passwords import STOP_LOGGING, matches, verifier
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.database.migrations", "settings_state.sql")
_EXPOSURE = "auto_expose_new_tables"
_NET_ALLOW = "net_allow"
_REMOVE = "remove_setting"
JWT_SECRET_SETTING = "app.settings.jwt_secret"  # noqa: S105 - a name
ENDED_EXPOSURE = (
    "The signing secret was removed from the settings of the database (app.settings.jwt_secret): every login and every agent "
    "that runs SQL could read it there. If readers or agents had access to this database, exchange it: headwater keys rotate "
    "--jwt-secret .env. A project whose SQL needs it reads it from the vault, or sets db.expose_jwt_secret (docs/security.md)"
)
"""What a start reports when it has removed the secret that an earlier version stored in the database."""


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A change of the database: the name of the statement that makes it, and the name and value that it uses."""

    statement: str
    name: str
    value: str = field(repr=False)


async def find_changes(connection: asyncpg.Connection, settings: Settings) -> list[SettingsChange]:
    """Return what in the database differs from the settings.

    Raises: asyncpg.UndefinedTableError before the first migration; asyncpg.PostgresError.
    """
    return compare_rows(await read_state(connection, settings), settings)


async def read_state(connection: asyncpg.Connection, settings: Settings) -> list[asyncpg.Record]:
    """Read the state of everything that settings and migrations decide. Raises: as `find_changes`."""
    return await connection.fetch(_STATEMENTS["state"], [*login_passwords(settings), *WITHOUT_PASSWORD])


def compare_rows(rows: Iterable[asyncpg.Record], settings: Settings) -> list[SettingsChange]:
    """Return what differs from the settings, given rows of `read_state`."""
    return compare_settings((tuple(row) for row in rows), login_passwords(settings), settings)


def warnings_of(changes: Iterable[SettingsChange]) -> list[str]:
    """Return what the operator has to know of changes that were made (pure)."""
    return [ENDED_EXPOSURE for change in changes if change.statement == _REMOVE]


async def make_changes(connection: asyncpg.Connection, changes: Iterable[SettingsChange]) -> None:
    """Apply changes, inside the caller's transaction. Raises: asyncpg.PostgresError."""
    await connection.execute(STOP_LOGGING)
    for change in changes:
        await connection.execute(_STATEMENTS["pass_values"], change.name, change.value)
        await connection.execute(_STATEMENTS[change.statement])
        if change.name == _EXPOSURE:
            await record_decision(connection, change.name, change.value)


async def record_decision(connection: asyncpg.Connection, name: str, value: str) -> None:
    """Store what was applied last, for the comparison of the next start. Raises: asyncpg.PostgresError."""
    await connection.execute(_STATEMENTS["decide"], name, value)


def compare_settings(
    rows: Iterable[tuple[str, str, str | None]], passwords: Mapping[str, Secret], settings: Settings
) -> list[SettingsChange]:
    """Compare rows of `state` (kind, name, value) with the settings (pure except for the salt of a new verifier)."""
    state = {(kind, name): value for kind, name, value in rows}
    changes = [
        SettingsChange("password", name, verifier(passwords[name].reveal()))
        for (kind, name), stored in state.items()
        if kind == "password" and name in passwords and not matches(stored, passwords[name].reveal())
    ]
    # Earlier versions gave these logins the password of role postgres; a password that the operator set stays.
    changes += [
        SettingsChange("no_password", name, "")
        for name in WITHOUT_PASSWORD
        if name not in passwords and matches(state.get(("password", name)), settings.db.password.reveal())
    ]
    changes += [
        SettingsChange("update_extension", name, version or "")
        for (kind, name), version in state.items()
        if kind == "extension"
    ]
    jwt = {"app.settings.jwt_exp": str(settings.auth.jwt_expiry)}
    if settings.db.expose_jwt_secret:
        jwt[JWT_SECRET_SETTING] = settings.auth.jwt_secret.reveal()
    elif ("setting", JWT_SECRET_SETTING) in state:
        changes.append(SettingsChange(_REMOVE, JWT_SECRET_SETTING, ""))
    changes += [
        SettingsChange("setting", name, value)
        for name, value in jwt.items()
        if state.get(("setting", name)) != value
    ]
    exposure = "expose_new_tables" if settings.api.auto_expose_new_tables else "hide_new_tables"
    if state.get(("decision", _EXPOSURE)) != exposure:
        changes.append(SettingsChange(exposure, _EXPOSURE, exposure))
    allowed = msgspec.json.encode(settings.net.allow).decode()
    if (state.get(("decision", _NET_ALLOW)) or "[]") != allowed:
        changes.append(SettingsChange("decision", _NET_ALLOW, allowed))
    return changes
