"""Restores scheduled jobs and their runs, which are rows of a superuser's tables.

They are read from the dump as rows, never as statements, into temporary tables, and copied from there. This is done only if the
target tables belong to extension pg_cron and a superuser owns them: a project may create tables of the same names, whose types,
checks and defaults would run its code in this session.
"""

import io
import re
import tempfile
from pathlib import Path

import asyncpg

from workers.backup.dump_entries import DumpEntry, entry_list
from workers.backup.postgres_tools import script_for
from workers.backup.save import STATEMENTS

_COPY = re.compile(
    r"^COPY cron\.(job|job_run_details) \(([a-z_, ]+)\) FROM stdin;$\n(.*?)^\\\.$", re.MULTILINE | re.DOTALL
)
_TABLES = {"job": ("headwater_jobs", "take_jobs"), "job_run_details": ("headwater_runs", "take_runs")}


async def load_jobs(superuser: asyncpg.Connection, dump: Path, entries: list[DumpEntry]) -> None:
    """Restore jobs and their runs, if the database has the extension. Raises: the driver's errors."""
    if not entries or not await superuser.fetchval(STATEMENTS["has_jobs"]):
        return
    with tempfile.NamedTemporaryFile("w", prefix="headwater-restore-", encoding="utf-8") as file:
        file.write(entry_list(entries))
        file.flush()
        script = await script_for(dump, Path(file.name))
    async with superuser.transaction():
        for name, columns, rows in _COPY.findall(script):
            temporary, take = _TABLES[name]
            await superuser.execute(f"create temporary table {temporary} (like cron.{name}) on commit drop")
            await superuser.copy_to_table(
                temporary,
                schema_name="pg_temp",
                source=io.BytesIO(rows.encode()),
                columns=columns.split(", "),
                format="text",
            )
            await superuser.execute(STATEMENTS[take])
