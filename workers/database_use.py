"""Prints what uses the database beside the platform itself, as one line of JSON: `python -P -m workers use`.

The server of projects asks before it stops an idle platform (services/projects/idleness.py). The URL is `HEADWATER_MIGRATE_URL`, a superuser's.
Nothing is changed. Exit code 1: the database does not answer.
"""

import asyncio
import sys
from collections.abc import Mapping

import asyncpg
import msgspec

from schemas.database_logins import SESSION_LOGINS, password_variables
from schemas.projects import DatabaseUse
from schemas.settings.tree import Settings
from workers.database.sessions.superuser import connect_with_fixed_settings
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers", "database_use.sql")
_CONNECT_S = 10.0
_SUPERUSER = "supabase_admin"


def run(settings: Settings, environment: Mapping[str, str]) -> int:
    """Print the use; return the exit code."""
    try:
        use = asyncio.run(_read(environment["HEADWATER_MIGRATE_URL"], settings))
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        print(str(error) or "no answer in time", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(msgspec.json.encode(use) + b"\n")
    return 0


async def _read(url: str, settings: Settings) -> DatabaseUse:
    connection = await connect_with_fixed_settings(url, timeout_s=_CONNECT_S)
    try:
        logins = [*password_variables(settings), *SESSION_LOGINS, _SUPERUSER]
        row = await connection.fetchrow(_STATEMENTS["use"], logins)
        assert row is not None  # a query without FROM has one row
        return DatabaseUse(**row)
    finally:
        await connection.close()
