"""Applies the migrations of a folder that the database lacks, in a session that is role `postgres` and nothing more."""

from collections.abc import Callable, Sequence

import asyncpg

from workers.database.errors import Disconnected
from workers.project import history
from workers.project.errors import HistoryDisagrees
from workers.project.project_connection import OWNER, open_connection
from workers.project.project_folder import ProjectMigration
from workers.project.push import apply_migrations, planned_migrations
from workers.project.script_runner import ProjectConnection

_LOST = (asyncpg.InterfaceError, asyncpg.InternalClientError, asyncpg.PostgresConnectionError, OSError)


async def apply_folder(
    url: str,
    local: Sequence[ProjectMigration],
    report: Callable[[str], None],
    applied: list[ProjectMigration],
    *,
    include_late: bool,
    up_to: str | None,
) -> None:
    """Apply the pending migrations in order; each that was applied is appended to `applied`, also before an error.

    Raises: HistoryDisagrees; ProjectError for a file that fails; Disconnected.
    """
    try:
        async with open_connection(url) as connection:
            project = ProjectConnection(connection, OWNER, report)
            await history.lock(connection)
            await project.reset()
            await history.make_history(connection)
            comparison = history.compare(local, await history.applied_versions(connection))
            if reason := history.disagreement(comparison, include_all=include_late):
                raise HistoryDisagrees(reason)
            for migration in planned_migrations(comparison, up_to):
                await apply_migrations(project, [migration], lambda _: None)
                applied.append(migration)
    except _LOST as error:
        raise Disconnected(str(error) or type(error).__name__) from None
