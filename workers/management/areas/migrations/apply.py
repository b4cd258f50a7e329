"""Applies a text as a migration as role `postgres`, and saves it as a file of the project folder.

The pool may run on another machine than the folder, or as a user who cannot write there. The text is always in the history, so
`headwater migration fetch` and the operation `migrations.fetch` write the file later. A file that exists is never changed.
"""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, field

from schemas.database_logins import DEVELOPER
from workers.database.sessions.urls import with_settings
from workers.management.areas.migrations.history import read_history
from workers.management.interface.backends.database import ROLE_OF_LOGIN
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.operation import OperationContext
from workers.project.errors import ProjectError, ProjectRejected, ScriptFailed, SplitRejected
from workers.project.migration_file import write_migration
from workers.project.project_folder import ProjectMigration, read_migrations
from workers.project.text_migration import TextMigration, TrialReport, apply_text, try_text

_LOCK_WAIT = "5s"
"""Longest time to wait for a lock: whoever waits for one makes all later users of the table wait too."""
_TRIAL_S = 5
_NO_FOLDER = "this process knows no project folder"
MAX_MIGRATION_CHARACTERS = 4_000_000


class SavedFile(Struct, frozen=True):
    """Whether a migration is a file of the project folder; `path` is relative to the project, `reason` why it is not written."""

    path: str
    is_written: bool
    reason: str | None = None


class AppliedChange(Struct, frozen=True):
    """A migration that was applied: its version, text and file, and the notices that its statements raised."""

    version: str
    name: str
    text: str
    file: SavedFile
    notices: list[str] = field(default_factory=list)


async def apply_migration(
    context: OperationContext, name: str, text: str, *, despite_pending: bool = False, runs: bool = True
) -> AppliedChange:
    """Apply a text as the next migration and save its file; without `runs` it is only recorded and saved.

    Raises: ManagementError, Disconnected.
    """
    if not 1 <= len(name) <= 200 or "\0" in name:
        raise invalid_arguments("`name` must have 1 to 200 characters: it says what the migration does")
    if not text.strip() or len(text) > MAX_MIGRATION_CHARACTERS or "\0" in text:
        raise invalid_arguments(f"`text` must have 1 to {MAX_MIGRATION_CHARACTERS} characters, and no NUL")
    local = await folder_migrations(context)
    if not despite_pending:
        await _check_pending(context, local)
    notices: list[str] = []
    try:
        async with context.database.place():
            url = await migration_url(context)
            versions = [item.version for item in local]
            now = datetime.now(UTC)
            applied = await apply_text(url, name, text, now, versions, notices.append, runs=runs)
    except ProjectError as error:
        raise migration_error(error) from None
    context.after = {"version": applied.version, "name": applied.name}
    return AppliedChange(
        applied.version, applied.name, applied.text, await _save(context, applied), notices[:100]
    )


async def try_migration(context: OperationContext, text: str) -> TrialReport:
    """Run a text in a transaction that is rolled back, for 5 seconds at most. Raises: ManagementError, Disconnected."""
    limits = [("statement_timeout", f"{_TRIAL_S}s"), ("lock_timeout", "1s")]
    try:
        async with context.database.place():
            return await try_text(await migration_url(context), text, limits)
    except ProjectError as error:
        raise migration_error(error) from None


async def migration_url(context: OperationContext) -> str:
    """Return the URL of the login that may become role `postgres` and nothing more, with the limits of an operation.

    `reset role` in a migration returns to `postgres`, as with the official command line.
    """
    settings = {
        "role": ROLE_OF_LOGIN[DEVELOPER],
        "statement_timeout": f"{round(context.settings.statement_timeout_s * 1000)}ms",
        "lock_timeout": _LOCK_WAIT,
    }
    return with_settings(await context.database.session_url(DEVELOPER), settings)


async def folder_migrations(context: OperationContext) -> list[ProjectMigration]:
    """Return the migrations of the project folder; none without a folder. Raises: ManagementError (409) for two of one version."""
    folder = context.settings.project_folder
    if folder is None:
        return []
    try:
        migrations, _ = await asyncio.to_thread(read_migrations, folder)
    except ProjectError as error:
        raise migration_error(error) from None
    except OSError:
        return []
    return migrations


def migration_error(error: ProjectError) -> ManagementError:
    """Return the error of a text that was not applied, with the server's SQLSTATE as its code where it has one."""
    if isinstance(error, ScriptFailed):
        code = error.sqlstate or "XX000"
        status = 403 if code == "42501" else 409 if code.startswith(("23", "40", "55")) else 400
        hint = "Another transaction uses the table; try again later." if code == "55P03" else ""
        return ManagementError(status, code, str(error), hint=hint)
    if isinstance(error, SplitRejected):
        return ManagementError(400, "invalid_sql", str(error))
    return ManagementError(
        409 if isinstance(error, ProjectRejected) else 400, "migration_rejected", str(error)
    )


async def file_obstacle(context: OperationContext) -> str | None:
    """Return why a migration would not become a file of the project folder; None if it would."""
    folder = context.settings.project_folder
    if folder is None or not await asyncio.to_thread(folder.is_dir):
        return _NO_FOLDER
    is_writable = await asyncio.to_thread(_is_writable, folder)
    return None if is_writable else "the platform may not write into the project folder"


def _is_writable(folder: Path) -> bool:
    """Return whether migrations can be written into a folder; its folder `migrations` need not be there yet."""
    migrations = folder / "migrations"
    return os.access(migrations if migrations.exists() else folder, os.W_OK | os.X_OK)


async def save_file(context: OperationContext, file_name: str, text: str) -> SavedFile:
    """Write a new file of the project folder, if this process knows the folder and may write there."""
    path = f"supabase/migrations/{file_name}"
    folder = context.settings.project_folder
    if folder is None:
        return SavedFile(path, False, f"{_NO_FOLDER}; run `headwater migration fetch`")
    try:
        await asyncio.to_thread(write_migration, folder, file_name, text)
    except OSError as error:
        reason = error.strerror or str(error)
        return SavedFile(path, False, f"{reason}; run `headwater migration fetch` as the folder's user")
    return SavedFile(path, True)


async def _save(context: OperationContext, applied: TextMigration) -> SavedFile:
    text = applied.text if applied.text.endswith("\n") else applied.text + "\n"
    return await save_file(context, applied.file_name, text)


async def _check_pending(context: OperationContext, local: list[ProjectMigration]) -> None:
    """Refuse to apply a migration before older ones that wait in the folder. Raises: ManagementError (409)."""
    applied = {migration.version for migration in await read_history(context)}
    pending = [item.path.name for item in local if item.version not in applied]
    if pending:
        names = ", ".join(pending[:5])
        raise ManagementError(
            409,
            "pending_migrations",
            f"The project folder has migrations that were not applied: {names}",
            hint="Apply them first (`headwater migration up`), or repeat this with `despite_pending`.",
        )
