"""Databases for tests: the project as its migrations and seeds make it, on a shadow server, copied as often as tests run side by side.

    migrations, seeds, pgTAP --> postgres --> headwater_test_1 ... headwater_test_N

A copy has the settings and rights of the database `postgres`, which `create database` leaves out. The live database is not touched.
"""

import asyncpg

from schemas.project_tasks import name_of_test_database, password_of_tests
from schemas.settings.tree import Settings
from workers.project.diff.shadow_comparison import DATABASE, prepare_shadow, recreate_database
from workers.project.errors import ProjectRejected
from workers.project.project_connection import (
    ProjectUrls,
    in_database,
    open_as_superuser,
    open_project_connection,
    password_of,
)
from workers.project.push import ProjectFiles, Report, apply_migrations, apply_seeds
from workers.project.vault_secrets import fill_vault
from workers.sql import compose
from workers.sql.files import read_statements

_SQL = read_statements("workers.project", "databases_for_tests.sql")


async def make_databases_for_tests(
    urls: ProjectUrls, settings: Settings, files: ProjectFiles, report: Report, count: int
) -> None:
    """Make the copies on the shadow server, to which role postgres may log in with `password_of_tests`.

    Raises: ProjectError, MigrationError, the driver's errors.
    """
    if not urls.shadow:
        raise ProjectRejected("HEADWATER_SHADOW_URL is needed: a superuser of a server that may be emptied")
    await recreate_database(urls.shadow, settings)
    async with open_project_connection(in_database(urls.shadow, DATABASE), report) as project:
        await prepare_shadow(project, files)
        await fill_vault(project, files.secrets, report, report)
        await apply_migrations(project, files.migrations, report, keep_roles=True)
        await apply_seeds(project, files.seeds, report)
        await project.connection.execute(_SQL["pgtap"])
    async with open_as_superuser(in_database(urls.shadow, "template1")) as aside:
        await _let_in(aside, password_of_tests(password_of(urls.shadow)))
        for number in range(1, count + 1):
            name = name_of_test_database(number)
            await aside.execute(f"create database {compose.quoted(name)} template {DATABASE}")
            await aside.execute(_SQL["settings"], DATABASE, name)
            await aside.execute(_SQL["rights"], DATABASE, name)


async def _let_in(aside: asyncpg.Connection, password: str) -> None:
    """Let role postgres log in, and end what may still be connected to the database that is copied."""
    await aside.execute(await aside.fetchval(_SQL["password"], password))
    await aside.execute(_SQL["alone"], DATABASE)
