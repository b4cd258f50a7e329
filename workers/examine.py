"""Facts about a database for the doctor, as one line of JSON: `python -P -m workers examine`.

The URL is `HEADWATER_MIGRATE_URL`, else that of the settings. Nothing is changed. Exit code 1: it does not answer. The login
may be a superuser, so nothing here runs code of the database's owner (database/superuser.py).
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping

import asyncpg

from schemas.settings.tree import Settings
from workers.database.migration_files import read_migrations
from workers.database.superuser import connect_with_fixed_settings
from workers.project.replace import LOCK, database_of, names_beside
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers", "examine.sql")
_CONNECT_S = 5.0


def run(settings: Settings, environment: Mapping[str, str]) -> int:
    """Print the facts; give the exit code."""
    url = environment.get("HEADWATER_MIGRATE_URL") or (settings.db.url.reveal() if settings.db.url else "")
    try:
        print(json.dumps(asyncio.run(facts(url, settings.realtime.slot_name))))
    except ValueError:  # its own words may hold a part of the password
        print("its URL cannot be read", file=sys.stderr)
        return 1
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        print(str(error) or "no answer in time", file=sys.stderr)
        return 1
    return 0


async def facts(url: str, slot: str) -> dict[str, object]:
    """Give the facts. Raises: the driver's errors; ValueError for a URL that is none."""
    connection = await connect_with_fixed_settings(url, timeout_s=_CONNECT_S)
    try:
        found: dict[str, object] = json.loads(await connection.fetchval(_STATEMENTS["facts"], slot))
        with contextlib.suppress(asyncpg.InsufficientPrivilegeError):  # for superusers alone
            found["copies_cluster"] = await connection.fetchval(_STATEMENTS["copies_cluster"])
        found["replacement"] = await _replacement(connection, url)
        applied: dict[str, int] = {}
        if await connection.fetchval(_STATEMENTS["has_history"]):
            rows = await connection.fetch(_STATEMENTS["applied"])
            applied = {row["series"]: row["version"] for row in rows}
    finally:
        await connection.close()
    known = {(each.series, each.version) for each in read_migrations()}
    found["newer"] = [
        f"{series}/{version:04}" for series, version in applied.items() if (series, version) not in known
    ]
    found["pending"] = [str(each) for each in read_migrations() if each.version > applied.get(each.series, 0)]
    return found


async def _replacement(connection: asyncpg.Connection, url: str) -> dict[str, object]:
    """Return what a restore or reset that was interrupted, or still runs, has left beside the database."""
    names = names_beside(database_of(url))
    row = await connection.fetchrow(_STATEMENTS["replacement"], names.all[1:], LOCK)
    assert row is not None  # a query without FROM has one row
    left = set(row["left_over"])
    return {
        "is_running": row["is_running"],
        "is_half": names.before in left,
        "left_over": sorted(left),
    }
