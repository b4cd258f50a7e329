"""Runs a file of SQL: all its statements and its entry in the history in one transaction.

- `reset all` runs first, so that settings of the previous file do not affect this one.
- If a file ends the transaction itself (`commit;`), its next statement begins another one, as in psql.
- A file of a single statement that cannot run in a transaction (`create index concurrently`) runs without one. Among
  other statements the word `concurrently` is removed from what makes, drops or rebuilds an index.
- Any other statement that cannot run in a transaction (`vacuum`), and a `call` or `do` whose code ends transactions
  itself, commits the file's statements before it and runs alone, as in psql.
- The rows of `copy ... from stdin` are sent unchanged.
- What a file may expect of the hosted platform is met for it (foreign_expectations.py).
- Some statements that only a superuser may run are run for role postgres (superuser_statements.py).
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, replace

import asyncpg

from workers.project.errors import ProjectRejected, ScriptFailed, StatementPlace
from workers.project.foreign_expectations import (
    DELETE_NOTICE,
    PGSODIUM_NOTICE,
    SAFEUPDATE_NOTICE,
    WEBHOOKS_NOTICE,
    deletes_allowed,
    deletes_stored_rows,
    make_pg_net,
    make_pgsodium_key,
    makes_webhooks,
    names_pgsodium_key,
    safeupdate_setting,
)
from workers.project.project_folder import Script
from workers.project.sql_splitter import ScriptStatement
from workers.project.superuser_statements import (
    SuperuserStatement,
    is_supported,
    parse_superuser_statement,
    run_superuser_statement,
)
from workers.sql import compose

_CONCURRENTLY = re.compile(r"\bconcurrently\b", re.IGNORECASE)
_BY_ITSELF = re.compile(
    r"(create (unique )?index|drop index|reindex (index|table|schema|database|system)) concurrently|vacuum\b"
    r"|alter system\b|(create|drop) (database|tablespace|subscription)\b|alter table .*\bconcurrently\b"
)
_CONCURRENT = re.compile(r"(create (unique )?index|drop index|reindex \w+) concurrently")
_ENDS = (("commit",), ("rollback",), ("end",), ("abort",))
_RUNS_CODE = (("call",), ("do",))
_NEW_ROLE = (("create", "role"), ("create", "user"), ("create", "group"))


@dataclass(frozen=True, slots=True)
class ProjectConnection:
    """An open connection and the role that a project's statements run as; None: the login's own role."""

    connection: asyncpg.Connection
    role: str | None = None
    report: Callable[[str], None] = lambda _: None
    """Receives notices about files."""

    async def reset(self) -> None:
        """Reset all settings and return to the role."""
        become = f"set role {compose.quoted(self.role)}" if self.role else "reset role"
        await self.connection.execute(f"reset all; {become}")


RecordScript = Callable[[list[str]], Awaitable[None]]
"""Records the script in the history inside its transaction; the argument is the statements' texts."""


async def run_script(
    project: ProjectConnection, script: Script, record: RecordScript, *, keep_roles: bool = False
) -> None:
    """Run a file. `keep_roles`: creating a role that exists is not an error.

    Raises: SplitRejected before anything runs; ScriptFailed, and then only what the file itself committed remains.
    """
    statements = script.statements()
    texts = [statement.text for statement in statements]
    await project.reset()
    if len(statements) == 1 and _needs_no_transaction(statements[0]):
        await _run(
            project.connection, StatementPlace(script.name, 1, statements[0]), "Nothing of the file was kept."
        )
        async with project.connection.transaction():
            await project.reset()
            await record(texts)
        return
    try:
        await project.connection.execute("begin")
        if names_pgsodium_key(statements) and await make_pgsodium_key(project.connection):
            project.report(PGSODIUM_NOTICE.format(name=script.name))
        if makes_webhooks(statements) and await make_pg_net(project.connection):
            project.report(WEBHOOKS_NOTICE.format(name=script.name))
        await _run_all(project, script.name, statements, keep_roles=keep_roles)
        await project.connection.execute(
            "reset role" if project.role is None else f"set role {compose.quoted(project.role)}"
        )
        await record(texts)
        await project.connection.execute("commit")
    finally:
        # The error of a connection that was lost names the statement; another one here would hide it.
        if not project.connection.is_closed() and project.connection.is_in_transaction():
            await project.connection.execute("rollback")


async def try_script(project: ProjectConnection, script: Script) -> None:
    """Run a file in an open transaction, which the caller rolls back; settings that the file makes stay in force.

    Raises: SplitRejected, ScriptFailed; ProjectRejected for a statement that would end the transaction, or cannot run in one.
    """
    statements = script.statements()
    for number, statement in enumerate(statements, start=1):
        words = statement.words
        ends = words[:1] in _ENDS or words[:2] == ("prepare", "transaction")
        needs_none = _needs_no_transaction(statement) and not _CONCURRENT.match(" ".join(words))
        if ends or needs_none:
            raise _not_tried(StatementPlace(script.name, number, statement))
    if names_pgsodium_key(statements):
        await make_pgsodium_key(project.connection)
    if makes_webhooks(statements):
        await make_pg_net(project.connection)
    await _run_all(project, script.name, statements, keep_roles=False, is_trial=True)


def _not_tried(where: StatementPlace) -> ProjectRejected:
    words = " ".join(where.statement.words[:2])
    return ProjectRejected(
        f"{where.file}, statement {where.number} (`{words}`) cannot run in a transaction, so it cannot be tried in one. Try it in a branch: "
        "`headwater branch create try-it`, `headwater start --branch try-it --detach`, then `headwater branch diff try-it --access`."
    )


async def _run_all(
    project: ProjectConnection,
    name: str,
    statements: Iterable[ScriptStatement],
    *,
    keep_roles: bool,
    is_trial: bool = False,
) -> None:
    connection, committed = project.connection, 0
    for number, statement in enumerate(statements, start=1):
        if not connection.is_in_transaction():
            committed = number - 1
            await connection.execute("begin")
        if statement.words[:1] in (("begin",), ("start",)):
            continue  # a transaction is already open
        aftermath = _aftermath(committed)
        where = StatementPlace(name, number, without_concurrently(statement))
        if _needs_no_transaction(where.statement) and not _CONCURRENT.match(" ".join(statement.words)):
            await connection.execute("commit")
            await _run(connection, where, _aftermath(number - 1))
        elif keep_roles and statement.words[:2] in _NEW_ROLE:
            await _run_unless_there(connection, where, aftermath)
        elif deletes_stored_rows(statement):
            project.report(DELETE_NOTICE.format(name=name, number=number))
            async with deletes_allowed(connection):
                await _run(connection, where, aftermath)
        elif setting := safeupdate_setting(statement):
            project.report(SAFEUPDATE_NOTICE.format(name=name, number=number))
            await _run(connection, StatementPlace(name, number, replace(statement, text=setting)), aftermath)
        elif statement.words[:1] in _RUNS_CODE:
            await _run_code(connection, where, aftermath, is_trial=is_trial)
        elif superuser_statement := parse_superuser_statement(statement):
            await _run_or_substitute(connection, where, superuser_statement, aftermath)
        else:
            await _run(connection, where, aftermath)
    if not connection.is_in_transaction():
        await connection.execute("begin")


def _aftermath(committed: int) -> str:
    """Return what remains of a file that failed after its first statements were committed (pure)."""
    if not committed:
        return "Nothing of the file was kept."
    return f"The file itself committed its statements up to {committed}; the rest was undone."


async def _run_code(
    connection: asyncpg.Connection, where: StatementPlace, aftermath: str, *, is_trial: bool
) -> None:
    """Run a `call` or `do` in the file's transaction; if its code ends transactions, commit the file's and run it alone."""
    await connection.execute("savepoint headwater")
    try:
        await connection.execute(where.statement.text)
        await connection.execute("release savepoint headwater")
    except asyncpg.InvalidTransactionTerminationError:
        await connection.execute("rollback to savepoint headwater")
        if is_trial:
            raise _not_tried(where) from None
        await connection.execute("commit")
        await _run(connection, where, _aftermath(where.number - 1))
    except asyncpg.PostgresError as error:
        raise ScriptFailed(where, error, aftermath) from None


async def _run_unless_there(connection: asyncpg.Connection, where: StatementPlace, aftermath: str) -> None:
    await connection.execute("savepoint headwater")
    try:
        await connection.execute(where.statement.text)
    except asyncpg.DuplicateObjectError:
        await connection.execute("rollback to savepoint headwater")
    except asyncpg.PostgresError as error:
        raise ScriptFailed(where, error, aftermath) from None
    await connection.execute("release savepoint headwater")


async def _run_or_substitute(
    connection: asyncpg.Connection,
    where: StatementPlace,
    superuser_statement: SuperuserStatement,
    aftermath: str,
) -> None:
    await connection.execute("savepoint headwater")
    try:
        try:
            await connection.execute(where.statement.text)
        except asyncpg.InsufficientPrivilegeError:
            await connection.execute("rollback to savepoint headwater")
            if not await is_supported(connection, superuser_statement):
                raise
            await run_superuser_statement(connection, superuser_statement)
    except asyncpg.PostgresError as error:
        raise ScriptFailed(where, error, aftermath) from None
    await connection.execute("release savepoint headwater")


async def _run(connection: asyncpg.Connection, where: StatementPlace, aftermath: str) -> None:
    statement = where.statement
    try:
        if statement.rows is None:
            await connection.execute(statement.text)
        else:
            # The public method builds its own statement; this one accepts the file's (asyncpg's minor version is pinned).
            await connection._copy_in(statement.text, _pieces(statement.rows), None)  # type: ignore[attr-defined]  # not in the stubs
    except asyncpg.PostgresError as error:
        raise ScriptFailed(where, error, aftermath) from None


async def _pieces(rows: str) -> AsyncIterator[bytes]:
    yield rows.encode()


def _needs_no_transaction(statement: ScriptStatement) -> bool:
    """Return whether a statement cannot run in a transaction (pure)."""
    return _BY_ITSELF.match(" ".join(statement.words)) is not None


def without_concurrently(statement: ScriptStatement) -> ScriptStatement:
    """Return a statement with `concurrently` replaced by blanks, so that error positions stay the same (pure)."""
    if not _CONCURRENT.match(" ".join(statement.words)):
        return statement
    text = statement.text
    body = _CONCURRENTLY.sub(lambda match: " " * len(match[0]), text[statement.head :], count=1)
    return ScriptStatement(
        text[: statement.head] + body, statement.offset, statement.line, statement.head, statement.words
    )
