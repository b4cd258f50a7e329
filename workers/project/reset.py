"""Recreates the database: the platform's schemas, then roles, migrations and seeds of the project.

The new database is filled under its final name (replace_database.py: in place), because a project's migrations may say
`alter database postgres set ...`. Commits are not flushed to disk one by one; the last step flushes all. A reset that was
killed is undone by the next start, reset or restore.
"""

from functools import partial

from schemas.settings.tree import Settings
from workers.database.migrations.migrate import migrate
from workers.project import history
from workers.project.carried_rows import carry_rows
from workers.project.errors import ProjectRejected
from workers.project.project_connection import ProjectUrls, in_database, open_project_connection
from workers.project.push import ProjectFiles, Report, apply_migrations, apply_roles, apply_seeds
from workers.project.replace_database import database_of, names_beside, replace_in_place
from workers.project.vault_secrets import fill_vault

_SETTING = "synchronous_commit=off"
"""Setting of the sessions that fill the new database."""


async def reset(
    urls: ProjectUrls,
    settings: Settings,
    files: ProjectFiles,
    report: Report,
    *,
    up_to: str | None = None,
    seeds: bool = True,
) -> None:
    """Recreate the database. If anything fails, the old one is restored.

    Raises: ProjectRejected if it cannot be started; ProjectError, MigrationError and the driver's errors.
    """
    if not urls.is_embedded:
        raise ProjectRejected(
            "Only the embedded database is reset. Of an outside one, drop and create it by your own means "
            "and start the platform again."
        )
    if up_to is not None and all(migration.version != up_to for migration in files.migrations):
        raise ProjectRejected(f"There is no migration {up_to} in the folder.")
    fill = partial(_fill, urls, settings, files, report, up_to=up_to, seeds=seeds)
    await replace_in_place(urls.owner, fill, report)


async def _fill(
    urls: ProjectUrls,
    settings: Settings,
    files: ProjectFiles,
    report: Report,
    *,
    up_to: str | None,
    seeds: bool,
) -> None:
    await migrate(_without_flush(urls.owner), settings)
    report("The platform's schemas are there")
    await carry_rows(in_database(urls.owner, names_beside(database_of(urls.owner)).before), urls.owner)
    async with open_project_connection(_without_flush(urls.project), report) as project:
        await history.make_history(project.connection)
        await fill_vault(project, files.secrets, report, report)
        if files.roles:
            await apply_roles(project, files.roles, report)
        migrations = [
            migration for migration in files.migrations if up_to is None or migration.version <= up_to
        ]
        await apply_migrations(project, migrations, report, keep_roles=True)
        if seeds:
            await apply_seeds(project, files.seeds, report)


def _without_flush(url: str) -> str:
    """Return a URL with `synchronous_commit=off`."""
    return f"{url}{'&' if '?' in url else '?'}{_SETTING}"
