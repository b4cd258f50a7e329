"""Publications and event triggers of a dump: restored last, and by hand.

A publication of all tables and an event trigger that belong to role postgres (workers/project/lent_rights.py) cannot be given
to it by any tool, for only a superuser may own them. So they are left out of the rest, and made in one transaction in which
role postgres is a superuser; no other session sees that.
"""

import re
import tempfile
from pathlib import Path

import asyncpg

from workers.backup.tools import script_of
from workers.project.split import split

_LINE = re.compile(r"\d+; \d+ \d+ (?:(?:COMMENT|SECURITY LABEL|ACL) - )?(?:PUBLICATION|EVENT TRIGGER)\b")
_NO_TRIGGERS = "select pg_catalog.set_config('event_triggers', 'off', true) where current_setting('event_triggers', true) = 'on'"
_IS_SUPER = "select rolsuper from pg_catalog.pg_roles where rolname = 'postgres'"


def parted(listed: str) -> tuple[str, str]:
    """Part the list of a dump into the rest, and what is made by hand (pure)."""
    lines = listed.splitlines(keepends=True)
    return (
        "".join(line for line in lines if not _LINE.match(line)),
        "".join(line for line in lines if _LINE.match(line)),
    )


async def make_by_hand(connection: asyncpg.Connection, dump: Path, listed: str) -> None:
    """Make what `parted` kept back. Raises: BackupError, the driver's errors."""
    if not listed:
        return
    with tempfile.NamedTemporaryFile("w", prefix="headwater-restore-", encoding="utf-8") as file:
        file.write(listed)
        file.flush()
        script = await script_of(dump, Path(file.name))
    async with connection.transaction():
        await connection.execute(_NO_TRIGGERS)
        was_super = await connection.fetchval(_IS_SUPER)
        if not was_super:
            await connection.execute("alter role postgres superuser")
        for statement in split(script):
            await connection.execute(statement.text)
        if not was_super:
            await connection.execute("alter role postgres nosuperuser")
    await connection.execute("reset all")
