"""Run a file of SQL: all its statements and what is written about them in one transaction.

- `reset all` comes first: no setting of the file before reaches into this one.
- A file that ends the transaction itself (`commit;`) begins the next one with its next statement, as it does in psql.
- A file of one statement that cannot run in a transaction (`create index concurrently`) runs outside of one. Among
  other statements the word `concurrently` is left out: the file is one transaction before it is anything else.
- The rows of `copy ... from stdin` are sent as they stand.
- What only a superuser may do is done for role postgres where that is safe (lent_rights.py).
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass

import asyncpg

from workers.project.errors import ScriptFailed, Where
from workers.project.folder import Script
from workers.project.lent_rights import Lent, is_lent, read_lent, run_lent
from workers.project.split import Statement
from workers.sql import compose

_CONCURRENTLY = re.compile(r"\bconcurrently\b", re.IGNORECASE)
_BY_ITSELF = re.compile(
    r"(create (unique )?index|drop index|reindex (index|table|schema|database|system)) concurrently|vacuum\b"
    r"|alter system\b|(create|drop) (database|tablespace|subscription)\b|alter table .*\bconcurrently\b"
)
_CONCURRENT = re.compile(r"(create (unique )?index|drop index|reindex \w+) concurrently")
_NEW_ROLE = (("create", "role"), ("create", "user"), ("create", "group"))


@dataclass(frozen=True, slots=True)
class Door:
    """An open connection and the role that a project's statements run as; None: that of the login."""

    connection: asyncpg.Connection
    role: str | None = None

    async def clear(self) -> None:
        """Be ourselves again, with no setting left."""
        become = f"set role {compose.quoted(self.role)}" if self.role else "reset role"
        await self.connection.execute(f"reset all; {become}")


Write = Callable[[list[str]], Awaitable[None]]
"""Writes down what ran, given the statements' texts, inside the transaction."""


async def run_script(door: Door, script: Script, write: Write, *, keep_roles: bool = False) -> None:
    """Run a file. `keep_roles`: to create a role that is there already is no error.

    Raises: SplitRefused before anything runs; ScriptFailed, and then nothing of the file stays but what it committed.
    """
    statements = script.statements()
    texts = [statement.text for statement in statements]
    await door.clear()
    if len(statements) == 1 and _stands_alone(statements[0]):
        await _run(door.connection, Where(script.name, 1, statements[0]), "Nothing of the file was kept.")
        async with door.connection.transaction():
            await door.clear()
            await write(texts)
        return
    try:
        await _run_all(door, script.name, statements, keep_roles=keep_roles)
        await door.connection.execute(
            "reset role" if door.role is None else f"set role {compose.quoted(door.role)}"
        )
        await write(texts)
        await door.connection.execute("commit")
    finally:
        if door.connection.is_in_transaction():
            await door.connection.execute("rollback")


async def _run_all(door: Door, name: str, statements: Iterable[Statement], *, keep_roles: bool) -> None:
    connection, committed = door.connection, 0
    await connection.execute("begin")
    for number, statement in enumerate(statements, start=1):
        if not connection.is_in_transaction():
            committed = number - 1
            await connection.execute("begin")
        if statement.words[:1] in (("begin",), ("start",)):
            continue  # one is open already
        kept = (
            f"The file itself committed its statements up to {committed}; the rest was undone."
            if committed
            else "Nothing of the file was kept."
        )
        where = Where(name, number, _plain(statement))
        if keep_roles and statement.words[:2] in _NEW_ROLE:
            await _run_unless_there(connection, where, kept)
        elif lent := read_lent(statement):
            await _run_or_lend(connection, where, lent, kept)
        else:
            await _run(connection, where, kept)
    if not connection.is_in_transaction():
        await connection.execute("begin")


async def _run_unless_there(connection: asyncpg.Connection, where: Where, aftermath: str) -> None:
    await connection.execute("savepoint headwater")
    try:
        await connection.execute(where.statement.text)
    except asyncpg.DuplicateObjectError:
        await connection.execute("rollback to savepoint headwater")
    except asyncpg.PostgresError as error:
        raise ScriptFailed(where, error, aftermath) from None
    await connection.execute("release savepoint headwater")


async def _run_or_lend(connection: asyncpg.Connection, where: Where, lent: Lent, aftermath: str) -> None:
    await connection.execute("savepoint headwater")
    try:
        try:
            await connection.execute(where.statement.text)
        except asyncpg.InsufficientPrivilegeError:
            await connection.execute("rollback to savepoint headwater")
            if not await is_lent(connection, lent):
                raise
            await run_lent(connection, lent)
    except asyncpg.PostgresError as error:
        raise ScriptFailed(where, error, aftermath) from None
    await connection.execute("release savepoint headwater")


async def _run(connection: asyncpg.Connection, where: Where, aftermath: str) -> None:
    statement = where.statement
    try:
        if statement.rows is None:
            await connection.execute(statement.text)
        else:
            # The public form builds a statement of its own; this takes the file's (asyncpg's minor version is pinned).
            await connection._copy_in(statement.text, _pieces(statement.rows), None)  # type: ignore[attr-defined]  # not in the stubs
    except asyncpg.PostgresError as error:
        raise ScriptFailed(where, error, aftermath) from None


async def _pieces(rows: str) -> AsyncIterator[bytes]:
    yield rows.encode()


def _stands_alone(statement: Statement) -> bool:
    """Tell whether a statement cannot run in a transaction (pure)."""
    return _BY_ITSELF.match(" ".join(statement.words)) is not None


def _plain(statement: Statement) -> Statement:
    """Give a statement without `concurrently`, with all that follows in its place (pure)."""
    if not _CONCURRENT.match(" ".join(statement.words)):
        return statement
    text = statement.text
    body = _CONCURRENTLY.sub(lambda found: " " * len(found[0]), text[statement.head :], count=1)
    return Statement(
        text[: statement.head] + body, statement.offset, statement.line, statement.head, statement.words
    )
