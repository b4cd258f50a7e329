"""Checks a restored database: the structure of its indexes and heaps (amcheck), and the rows of its tables.

Rows are counted as role postgres, never in a superuser's session: reading a table may evaluate expressions of its owner. The checks of
amcheck compare keys that are stored and evaluate none.
Source: PostgreSQL, "amcheck".
"""

import asyncpg

from schemas.branches import CheckedDatabase, CountedRows
from workers.branches.prepare_copy import EMPTIED
from workers.database.sessions.throwaway_logins import login_as
from workers.project.project_connection import OWNER, open_as_superuser
from workers.sql.files import read_statements

MOST_ROWS = 1_000_000
"""Tables that may have more rows, as the planner estimates, are not counted."""
_MOST_FAULTS = 20
_EMPTIED = [name for names in EMPTIED.values() for name in names]
"""Tables of which a branch keeps no rows, so that they cannot be compared."""
_STATEMENTS = read_statements("workers.branches", "check_database.sql")
_OWN = read_statements("workers.branches", "count_rows.sql")


async def count_rows(url: str) -> CountedRows:
    """Count the rows of the tables that role postgres may read. Raises: the driver's errors, ProjectRejected."""
    async with open_as_superuser(url) as superuser, login_as(superuser, url, OWNER) as owner:
        return await _count(owner)


async def check_database(url: str) -> CheckedDatabase:
    """Check the indexes and heaps of a database, in which this makes the extension amcheck, and count its rows.

    Raises: the driver's errors, ProjectRejected.
    """
    faults: list[str] = []
    async with open_as_superuser(url) as superuser:
        await superuser.execute(_STATEMENTS["make_amcheck"])
        indexes = await superuser.fetch(_STATEMENTS["indexes"])
        for row in indexes:
            try:
                await superuser.execute(row["statement"])
            except asyncpg.PostgresError as error:
                faults.append(f"index {row['name']}: {error}")
        for row in await superuser.fetch(_STATEMENTS["heaps"]):
            if found := await superuser.fetchval(row["statement"]):
                faults.append(f"table {row['name']}: {found}")
        async with login_as(superuser, url, OWNER) as owner:
            counted = await _count(owner)
    return CheckedDatabase(len(indexes), faults[:_MOST_FAULTS], counted)


async def _count(owner: asyncpg.Connection) -> CountedRows:
    async with owner.transaction(isolation="repeatable_read", readonly=True):
        rows = {}
        for row in await owner.fetch(_OWN["tables"], float(MOST_ROWS), _EMPTIED):
            rows[row["name"]] = await owner.fetchval(row["statement"])
        lsn = await owner.fetchval(_OWN["position"])
    return CountedRows(lsn, rows)
