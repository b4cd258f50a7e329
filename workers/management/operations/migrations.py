"""Operations on migrations: apply a text, list what is applied and what the folder has, correct the history, write missing files."""

import asyncio
from typing import Annotated, Literal

from msgspec import Struct

from workers.management.areas.migrations.access import try_access
from workers.management.areas.migrations.apply import (
    MAX_MIGRATION_CHARACTERS,
    AppliedChange,
    SavedFile,
    apply_migration,
    folder_migrations,
    migration_error,
    save_file,
)
from workers.management.areas.migrations.history import (
    MigrationState,
    mark_applied,
    mark_reverted,
    read_history,
    states,
)
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments
from workers.project.access.model import AccessDifference
from workers.project.errors import ProjectError
from workers.project.migration_file import files_to_write
from workers.project.project_folder import ProjectMigration, StoredMigration

_MOST_VERSIONS = 1000
_MOST_USERS, _MOST_NAMED = 1000, 100


class NewMigration(Struct, frozen=True, forbid_unknown_fields=True):
    """SQL to apply as a migration. `despite_pending`: although the folder has migrations that were not applied.

    `record_only`: it was applied by other means, and is recorded and saved without running.
    """

    name: str
    text: str
    despite_pending: bool = False
    record_only: bool = False


class AccessQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """SQL to try, and who is tried: users by id, or a sample of so many; `channels` are topics of private channels."""

    text: str
    users: Annotated[list[str], limits.entries(_MOST_NAMED, least=0)] = []
    sample: Annotated[int, limits.number(0, _MOST_USERS)] = 100
    channels: Annotated[list[str], limits.entries(_MOST_NAMED, least=0)] = []


class MigrationList(Struct, frozen=True):
    """The migrations in order; `folder_is_known`: whether this process sees the project folder at all."""

    migrations: list[MigrationState]
    folder_is_known: bool


class MigrationReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A migration by its version."""

    version: str


class MigrationTexts(Struct, frozen=True):
    """What was applied, and the text of the file as it is now (null without a file)."""

    version: str
    name: str
    statements: list[str]
    file: str | None


class HistoryRepair(Struct, frozen=True, forbid_unknown_fields=True):
    """Versions to record as applied, or to strike from the history. Nothing runs."""

    status: Literal["applied", "reverted"]
    versions: Annotated[list[str], limits.entries(_MOST_VERSIONS)]


class RepairedHistory(Struct, frozen=True):
    """The versions that were changed."""

    status: str
    versions: list[str]


class FetchedFiles(Struct, frozen=True):
    """Files that were written, or could not be, and notices about migrations without a text."""

    files: list[SavedFile]
    notices: list[str]


async def apply_one(context: OperationContext, arguments: NewMigration) -> AppliedChange:
    """Apply SQL as the next migration: in one transaction as role `postgres`, recorded in the history, saved as a file.

    A single statement that cannot run in a transaction (`create index concurrently`) runs without one.
    """
    return await apply_migration(
        context,
        arguments.name,
        arguments.text,
        despite_pending=arguments.despite_pending,
        runs=not arguments.record_only,
    )


async def compare_access(context: OperationContext, arguments: AccessQuery) -> AccessDifference:
    """Show who gains and who loses access by SQL, in a transaction that is rolled back. Tables that it alters are locked meanwhile.

    Nothing changes; it needs the rights of developer and writing, because it takes locks. At most 30 seconds.
    """
    if not context.actor.may_write:
        raise ManagementError(403, "no_right", "A trial takes locks, so it needs the right to write")
    if not 1 <= len(arguments.text) <= MAX_MIGRATION_CHARACTERS or "\0" in arguments.text:
        raise invalid_arguments(f"`text` must have 1 to {MAX_MIGRATION_CHARACTERS} characters, and no NUL")
    if not 0 <= arguments.sample <= _MOST_USERS:
        raise invalid_arguments(f"`sample` must be 0 to {_MOST_USERS}")
    for name, values in (("users", arguments.users), ("channels", arguments.channels)):
        if len(values) > _MOST_NAMED or any(len(value) > 200 or "\0" in value for value in values):
            raise invalid_arguments(
                f"`{name}` must have at most {_MOST_NAMED} texts of at most 200 characters"
            )
    return await try_access(context, arguments.text, arguments.users, arguments.sample, arguments.channels)


async def list_migrations(context: OperationContext, arguments: NoArguments) -> MigrationList:
    """Return the migrations of the database and of the project folder, and where they differ."""
    del arguments
    local = await _local(context)
    listed = states(await read_history(context), local)
    folder = context.settings.project_folder
    return MigrationList(listed, folder is not None and folder.is_dir())


async def get_migration(context: OperationContext, arguments: MigrationReference) -> MigrationTexts:
    """Return the statements of a migration, and its file."""
    stored = {migration.version: migration for migration in await read_history(context)}
    files = {migration.version: migration for migration in await folder_migrations(context)}
    migration, file = stored.get(arguments.version), files.get(arguments.version)
    if migration is None and file is None:
        raise not_found(f"migration {arguments.version}")
    text = await asyncio.to_thread(_text, file) if file is not None else None
    name = file.name if file is not None else migration.name if migration is not None else ""
    return MigrationTexts(arguments.version, name, migration.statements if migration else [], text)


async def repair(context: OperationContext, arguments: HistoryRepair) -> RepairedHistory:
    """Record versions as applied, or strike them from the history, without running anything."""
    versions = list(dict.fromkeys(arguments.versions))
    if not 1 <= len(versions) <= _MOST_VERSIONS:
        raise invalid_arguments(f"`versions` must name 1 to {_MOST_VERSIONS} migrations")
    if wrong := [version for version in versions if not (version.isascii() and version.isdigit())]:
        raise invalid_arguments(
            f"{wrong[0][:40]!r} is no version: the digits that the name of a migration begins with"
        )
    context.before = [migration.version for migration in await read_history(context)]
    if arguments.status == "reverted":
        if unknown := sorted(set(versions) - set(context.before)):
            raise not_found(f"migration {unknown[0]} in the history")
        await mark_reverted(context, versions)
    else:
        local = await _local(context)
        if unknown := [version for version in versions if version not in local]:
            raise not_found(f"file of version {unknown[0]} in supabase/migrations")
        await mark_applied(context, [local[version] for version in versions])
    context.after = [migration.version for migration in await read_history(context)]
    return RepairedHistory(arguments.status, versions)


async def fetch_files(context: OperationContext, arguments: NoArguments) -> FetchedFiles:
    """Write the migrations that only the history has into the project folder, as `headwater migration fetch` does."""
    del arguments
    folder = context.settings.project_folder
    if folder is None or not folder.is_dir():
        raise ManagementError(
            409,
            "no_folder",
            "This process sees no project folder",
            hint="Run `headwater migration fetch` where the folder is.",
        )
    texts, notices = files_to_write(await read_history(context), await folder_migrations(context))
    files = [await save_file(context, file_name, text) for file_name, text in texts.items()]
    return FetchedFiles(files, notices)


async def _local(context: OperationContext) -> dict[str, StoredMigration]:
    """Return the files of the folder by version, with their statements. Raises: ManagementError."""
    migrations = await folder_migrations(context)
    try:
        read = await asyncio.to_thread(lambda: [_with_statements(migration) for migration in migrations])
    except ProjectError as error:
        raise migration_error(error) from None
    return {migration.version: migration for migration in read}


def _with_statements(migration: ProjectMigration) -> StoredMigration:
    statements = [item.text for item in migration.script().statements()]
    return StoredMigration(migration.version, migration.name, statements)


def _text(migration: ProjectMigration) -> str:
    try:
        return migration.script().text
    except ProjectError as error:
        raise migration_error(error) from None


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "migrations.apply", "Apply SQL as a migration", NewMigration, AppliedChange, Right.DEVELOPER,
            apply_one, changes=True, max_body_bytes=8 * 1024 * 1024,
        ),
        Operation(
            "migrations.access", "Show who gains and who loses access by SQL", AccessQuery, AccessDifference,
            Right.DEVELOPER, compare_access, max_body_bytes=8 * 1024 * 1024,
        ),
        Operation(
            "migrations.list", "List migrations, applied and in the folder", NoArguments, MigrationList,
            Right.READER, list_migrations,
        ),
        Operation(
            "migrations.get", "Show a migration", MigrationReference, MigrationTexts, Right.READER, get_migration
        ),
        Operation(
            "migrations.repair", "Correct the history of migrations", HistoryRepair, RepairedHistory,
            Right.DEVELOPER, repair, changes=True,
        ),
        Operation(
            "migrations.fetch", "Write missing migrations into the project folder", NoArguments, FetchedFiles,
            Right.DEVELOPER, fetch_files, changes=True,
        ),
    ]  # fmt: skip
