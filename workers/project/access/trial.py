"""The difference of access that a migration makes: it runs in a transaction that is rolled back, as the role that migrations run as.

    begin -> catalog -> savepoint -> the migration -> catalog, rows, policies as callers -> rollback to savepoint -> rows, policies as callers -> rollback

Two databases are compared by reading both. In neither case is anything written, but for temporary tables of a session that stores which row is of
which class.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import asyncpg
import msgspec

from workers.project.access.callers import Caller, callers_of
from workers.project.access.catalog import AccessCatalog, count_users, read_catalog, read_users
from workers.project.access.compare import Comparison
from workers.project.access.model import AccessDifference, AccessQuestion
from workers.project.access.report import summary_of, users_note
from workers.project.access.row_classes import RowNotes
from workers.project.errors import ProjectRejected
from workers.project.project_connection import open_project_connection
from workers.project.project_folder import Script
from workers.project.script_runner import ProjectConnection, try_script

LOCK_TIMEOUT = "2s"


async def access_of_migrations(
    url: str, scripts: Sequence[Script], question: AccessQuestion, *, timeout_s: float
) -> AccessDifference:
    """Return who gains and who loses access by migrations, run in their order. Nothing is changed.

    Tables that they alter are locked meanwhile. Raises: ProjectRejected for statements that need no transaction, users that are not there, and when
    `timeout_s` is over; ScriptFailed; the driver's errors.
    """
    async with (
        _limited(timeout_s),
        open_project_connection(url) as project,
        open_project_connection(url) as notes,
    ):
        connection = project.connection
        async with _rolled_back(connection):
            await connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
            before = await read_catalog(connection, question.search_path)
            callers, remarks = await _callers(connection, before, question)
            await connection.execute("savepoint headwater_change")
            await _run(project, scripts)
            after = await read_catalog(connection, question.search_path)
            comparison = Comparison(before, after, callers, question, RowNotes(notes.connection))
            await comparison.read_after(connection)
            await connection.execute("rollback to savepoint headwater_change")
            await connection.execute("set local search_path = ''")
            await comparison.read_before(connection)
            return _with_notes(await comparison.difference(), remarks)


async def access_between(
    before_url: str, after_url: str, question: AccessQuestion, *, timeout_s: float
) -> AccessDifference:
    """Return who gains and who loses access in one database compared with another. Rows that both have are compared, by key.

    Raises: ProjectRejected for users that are not there, and when `timeout_s` is over; the driver's errors.
    """
    async with (
        _limited(timeout_s),
        open_project_connection(before_url) as was,
        open_project_connection(after_url) as now,
        open_project_connection(before_url) as notes,
        _rolled_back(was.connection),
        _rolled_back(now.connection),
    ):
        before = await read_catalog(was.connection, question.search_path)
        after = await read_catalog(now.connection, question.search_path)
        callers, remarks = await _callers(was.connection, before, question)
        comparison = Comparison(
            before, after, callers, question, RowNotes(notes.connection), has_two_databases=True
        )
        await comparison.read_after(now.connection)
        await comparison.read_before(was.connection)
        return _with_notes(await comparison.difference(), remarks)


@asynccontextmanager
async def _rolled_back(connection: asyncpg.Connection) -> AsyncIterator[None]:
    transaction = connection.transaction(isolation="repeatable_read")
    await transaction.start()
    try:
        yield
    finally:
        if not connection.is_closed():
            await transaction.rollback()


@asynccontextmanager
async def _limited(timeout_s: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError:
        raise ProjectRejected(
            f"The comparison took longer than {timeout_s:.0f} s. Give it more time (--timeout), try fewer users (--users), or run it in a branch."
        ) from None


async def _callers(
    connection: asyncpg.Connection, before: AccessCatalog, question: AccessQuestion
) -> tuple[list[Caller], list[str]]:
    users = await read_users(connection, question.users, question.sample)
    if missing := sorted({*question.users} - {user.id for user in users}):
        raise ProjectRejected(f"There is no user {missing[0]}: --user takes the id of a user in auth.users.")
    remarks = []
    if not question.users and (total := await count_users(connection)) > len(users):
        remarks.append(users_note(len(users), total))
    return callers_of(before.roles, users, question), remarks


async def _run(project: ProjectConnection, scripts: Sequence[Script]) -> None:
    for script in scripts:
        await project.reset()
        await project.connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
        await try_script(project, script)
    await project.reset()


def _with_notes(difference: AccessDifference, remarks: Sequence[str]) -> AccessDifference:
    noted = msgspec.structs.replace(difference, notes=[*remarks, *difference.notes])
    return msgspec.structs.replace(noted, summary=summary_of(noted))
