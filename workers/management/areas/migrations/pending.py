"""Applies the migrations of the project folder that were not applied, in the session of role `postgres`.

It does what `headwater migration up` does: in the order of their versions, one transaction each, each recorded in the history. The
first file that fails stops the run; what was applied before it stays.
"""

from workers.management.areas.migrations.apply import folder_migrations, migration_error, migration_url
from workers.management.interface.errors import ManagementError
from workers.management.interface.operation import OperationContext
from workers.project.errors import HistoryDisagrees, ProjectError
from workers.project.pending_migrations import apply_folder
from workers.project.project_folder import ProjectMigration

_LONG = (
    "A migration that runs longer than management.statement_timeout: `headwater migration up` has no limit."
)


async def apply_pending(
    context: OperationContext, notices: list[str], *, include_late: bool, up_to: str | None
) -> list[ProjectMigration]:
    """Apply the pending migrations and return them; `notices` gets what their statements raise.

    Raises: ManagementError (409 if the history disagrees with the folder), Disconnected.
    """
    local = await folder_migrations(context)
    applied: list[ProjectMigration] = []
    try:
        async with context.database.place():
            url = await migration_url(context)
            await apply_folder(url, local, notices.append, applied, include_late=include_late, up_to=up_to)
    except HistoryDisagrees as error:
        raise ManagementError(409, "history_disagrees", str(error)) from None
    except ProjectError as error:
        raise _after(migration_error(error), applied) from None
    return applied


def _after(error: ManagementError, applied: list[ProjectMigration]) -> ManagementError:
    """Return an error that also says which migrations were applied before it."""
    hints = [error.hint] if error.hint else []
    if error.code == "57014":
        hints.append(_LONG)
    if applied:
        hints.append(
            f"Applied before it, and still applied: {', '.join(item.path.name for item in applied)}."
        )
    return ManagementError(error.status, error.code, str(error), hint=" ".join(hints))
