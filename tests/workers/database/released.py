"""The system migrations of the release before, with which a database is made that this one brings up to date.

`tests/data/released_migrations.tar.gz` is `git archive <its commit>:schemas/migrations`. Its files say `set local role` in the
session of a superuser, as that release did.
"""

import tarfile
from pathlib import Path

import asyncpg

from workers.database.migrations.files import SystemMigration
from workers.database.migrations.migrate import SERIES
from workers.sql.files import read_statements

_ARCHIVE = Path(__file__).parents[2] / "data" / "released_migrations.tar.gz"
_EXTENSION = (
    "create extension supabase_vault with schema vault",
    "create extension supabase_vault with schema vault version '0.3.1'",
)
"""That release had this version, which the newer files of the extension still contain."""
_STATEMENTS = read_statements("workers.database.migrations", "migrate.sql")


def released_migrations() -> list[SystemMigration]:
    """Give the files of the release before, in the order in which they were applied."""
    found = []
    with tarfile.open(_ARCHIVE) as archive:
        for member in archive.getmembers():
            series, _, file = member.name.rpartition("/")
            if member.isfile() and file.endswith(".sql"):
                number, _, name = file.removesuffix(".sql").partition("_")
                content = archive.extractfile(member)
                assert content is not None
                found.append(SystemMigration(series, int(number), name, content.read().decode()))
    return sorted(found, key=lambda each: (SERIES.index(each.series), each.version))


async def apply_released(url: str) -> list[SystemMigration]:
    """Bring an empty database to the state of the release before, as its superuser."""
    connection = await asyncpg.connect(url, statement_cache_size=0)
    try:
        await connection.execute(_STATEMENTS["make_history"])
        applied = released_migrations()
        for each in applied:
            async with connection.transaction():
                await connection.execute("set local search_path = ''")
                await connection.execute(each.sql.replace(*_EXTENSION))
                record = (each.series, each.version, each.name, each.checksum)
                await connection.execute(_STATEMENTS["record"], *record)
    finally:
        await connection.close()
    return applied
