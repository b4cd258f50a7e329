"""Rows of the superuser's tables that are the project's: jobs and their runs.

They are read from the dump as rows, never as statements, into temporary tables of ours, and from there where they belong. That
is done where the tables are those of extension pg_cron and a superuser owns them: a project may make tables of these names,
whose types, checks and defaults would run its code in this session.
"""

import io
import re
import tempfile
from pathlib import Path

import asyncpg

from workers.backup.contents import Entry, listed
from workers.backup.save import STATEMENTS
from workers.backup.tools import script_of

_COPY = re.compile(
    r"^COPY cron\.(job|job_run_details) \(([a-z_, ]+)\) FROM stdin;$\n(.*?)^\\\.$", re.MULTILINE | re.DOTALL
)
_TABLES = {"job": ("headwater_jobs", "take_jobs"), "job_run_details": ("headwater_runs", "take_runs")}


async def load_jobs(superuser: asyncpg.Connection, dump: Path, entries: list[Entry]) -> None:
    """Bring jobs and their runs into the database, if it has the extension. Raises: the driver's errors."""
    if not entries or not await superuser.fetchval(STATEMENTS["has_jobs"]):
        return
    with tempfile.NamedTemporaryFile("w", prefix="headwater-restore-", encoding="utf-8") as file:
        file.write(listed(entries))
        file.flush()
        script = await script_of(dump, Path(file.name))
    async with superuser.transaction():
        for name, columns, rows in _COPY.findall(script):
            own, take = _TABLES[name]
            await superuser.execute(f"create temporary table {own} (like cron.{name}) on commit drop")
            await superuser.copy_to_table(
                own,
                schema_name="pg_temp",
                source=io.BytesIO(rows.encode()),
                columns=columns.split(", "),
                format="text",
            )
            await superuser.execute(STATEMENTS[take])
