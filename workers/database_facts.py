"""Prints facts about a database as one line of JSON, for `headwater doctor`: `python -P -m workers examine`.

The URL is `HEADWATER_MIGRATE_URL`, else `db.url` of the settings. Nothing is changed. Exit code 1: the database does not answer.
The login may be a superuser, so the session must not run code of the database's owner (database/sessions/superuser.py).
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping

import asyncpg
import msgspec

from schemas.settings.tree import Settings
from workers.database.migrations.files import read_migrations
from workers.database.replicas.facts import replica_facts
from workers.database.replicas.start import replica_urls
from workers.database.sessions.superuser import connect_with_fixed_settings
from workers.project.replace_database import LOCK, database_of, names_beside
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers", "database_facts.sql")
_CONNECT_S = 5.0


def run(settings: Settings, environment: Mapping[str, str]) -> int:
    """Print the facts; return the exit code."""
    url = environment.get("HEADWATER_MIGRATE_URL") or (settings.db.url.reveal() if settings.db.url else "")
    try:
        print(
            json.dumps(asyncio.run(read_facts(url, settings.realtime.slot_name, replica_urls(settings, url))))
        )
    except ValueError:  # the driver's text may contain a part of the password
        print("its URL cannot be read", file=sys.stderr)
        return 1
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        print(str(error) or "no answer in time", file=sys.stderr)
        return 1
    return 0


async def read_facts(url: str, slot: str, replicas: list[str]) -> dict[str, object]:
    """Return the facts; `replicas` are the connection strings of read replicas. Raises: the driver's errors; ValueError for an invalid URL."""
    connection = await connect_with_fixed_settings(url, timeout_s=_CONNECT_S)
    try:
        facts: dict[str, object] = json.loads(await connection.fetchval(_STATEMENTS["facts"], slot))
        with contextlib.suppress(asyncpg.InsufficientPrivilegeError):  # only superusers may read it
            facts["copies_cluster"] = await connection.fetchval(_STATEMENTS["copies_cluster"])
        facts["replicas"] = msgspec.to_builtins(await replica_facts(replicas, connection))
        if await connection.fetchval(_STATEMENTS["has_webhooks"]):
            facts["webhooks"] = [dict(row) for row in await connection.fetch(_STATEMENTS["webhooks"])]
        if await connection.fetchval(_STATEMENTS["has_queue_consumers"]):
            facts["queues"] = [dict(row) for row in await connection.fetch(_STATEMENTS["queue_consumers"])]
        if await connection.fetchval(_STATEMENTS["has_log_drains"]):
            facts["log_drains"] = [dict(row) for row in await connection.fetch(_STATEMENTS["log_drains"])]
        if await connection.fetchval(_STATEMENTS["has_streams"]):
            facts["streams"] = [dict(row) for row in await connection.fetch(_STATEMENTS["streams"])]
        if await connection.fetchval(_STATEMENTS["has_row_history"]):
            facts["history"] = [dict(row) for row in await connection.fetch(_STATEMENTS["row_history"])]
        if await connection.fetchval(_STATEMENTS["has_durable_jobs"]):
            facts["jobs"] = [dict(row) for row in await connection.fetch(_STATEMENTS["durable_jobs"])]
        facts["replacement"] = await _read_replacement(connection, url)
        applied: dict[str, int] = {}
        if await connection.fetchval(_STATEMENTS["has_history"]):
            rows = await connection.fetch(_STATEMENTS["applied"])
            applied = {row["series"]: row["version"] for row in rows}
    finally:
        await connection.close()
    migrations = read_migrations()
    versions = {(migration.series, migration.version) for migration in migrations}
    facts["newer"] = [
        f"{series}/{version:04}" for series, version in applied.items() if (series, version) not in versions
    ]
    facts["pending"] = [
        str(migration) for migration in migrations if migration.version > applied.get(migration.series, 0)
    ]
    return facts


async def _read_replacement(connection: asyncpg.Connection, url: str) -> dict[str, object]:
    """Return whether a restore or reset is running, and the databases that an interrupted one left."""
    names = names_beside(database_of(url))
    row = await connection.fetchrow(_STATEMENTS["replacement"], names.all[1:], LOCK)
    assert row is not None  # a query without FROM has one row
    left_over = set(row["left_over"])
    return {
        "is_running": row["is_running"],
        "is_half": names.before in left_over,
        "left_over": sorted(left_over),
    }
