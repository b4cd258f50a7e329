"""The applied migrations of the database, beside the files of the project folder.

The table belongs to the project (role `postgres` writes it), so what it holds is text to look at: a name or a version of it never
becomes a path or SQL. It may be a view that calls functions of the project, so it is read as role `postgres` too.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from workers.database.transactions.interactive import statement
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext
from workers.project.project_folder import StoredMigration
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.areas.migrations", "history.sql")


class MigrationState(Struct, frozen=True):
    """A migration of the database, of the folder, or of both.

    `state`: applied (both agree), changed (the file is not what was applied), pending (not applied), late (not applied, and older
    than the last one that was), missing (no file), unknown (applied, but the history lacks the text to compare).
    """

    version: str
    name: str
    state: Literal["applied", "changed", "pending", "late", "missing", "unknown"]


async def read_history(context: OperationContext) -> list[StoredMigration]:
    """Return the applied migrations in order; none without a history. Raises: DatabaseError, Disconnected, PoolTimeout."""
    timeout_s = context.settings.statement_timeout_s
    [exists] = await context.database.read(statement(_SQL["exists"]), timeout_s=timeout_s)
    if decode_rows(exists, bool) != [True]:
        return []
    [rows] = await context.database.read_as_developer(statement(_SQL["stored"]), timeout_s=timeout_s)
    return decode_rows(rows, StoredMigration)


async def mark_applied(context: OperationContext, migrations: Iterable[StoredMigration]) -> None:
    """Record migrations as applied without running them, as role `postgres`. Raises: as `read_history`."""
    marks = [
        statement(
            _SQL["mark_applied"], migration.version, migration.name, msgspec.json.encode(migration.statements)
        )
        for migration in migrations
    ]
    make = [statement(_SQL["make"]), statement(_SQL["make_table"])]
    await context.database.write(*make, *marks, timeout_s=context.settings.statement_timeout_s)


async def mark_reverted(context: OperationContext, versions: Iterable[str]) -> None:
    """Delete versions from the history, as role `postgres`. Raises: as `read_history`."""
    statements = [statement(_SQL["mark_reverted"], version) for version in versions]
    await context.database.write(*statements, timeout_s=context.settings.statement_timeout_s)


def states(stored: Iterable[StoredMigration], local: Mapping[str, StoredMigration]) -> list[MigrationState]:
    """Return the state of every migration of the history and of the folder, in the order of their versions (pure).

    `local`: the files by version, with the statements that they have now.
    """
    applied = {migration.version: migration for migration in stored}
    last = max(applied, default="")
    listed = []
    for version in sorted({*applied, *local}):
        database, file = applied.get(version), local.get(version)
        state: Literal["applied", "changed", "pending", "late", "missing", "unknown"]
        if database is None:
            state = "late" if version < last else "pending"
        elif file is None:
            state = "missing"
        elif not database.statements:
            state = "unknown" if file.statements else "applied"
        else:
            state = "applied" if database.statements == file.statements else "changed"
        name = (file or database or StoredMigration(version, "", [])).name
        listed.append(MigrationState(version, name, state))
    return listed
