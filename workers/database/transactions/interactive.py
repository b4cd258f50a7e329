"""A transaction whose next statement depends on the result of the last one and on work done in between.

    async with pool.transaction(settings) as transaction:
        user = await transaction.one("select ... where email = $1", UserRow, email)
        ...                                   # hash a password, call another service
        await transaction.run(Statement(...), Statement(...))

The settings travel with the first statements; the end is a write of its own, unless `run_last` sends it along. The end of the block commits; an exception
rolls back and is raised on. A connection is occupied from the first statement to the end, so slow work belongs before or
after the block.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import msgspec

from broker.observability.tracing import STATE
from workers.database.errors import DatabaseError, SessionEnded
from workers.database.protocol.exchange import transaction_changed
from workers.database.protocol.postgres_connection import PostgresConnection
from workers.database.protocol.rows import Rows
from workers.database.transactions.copy_out import copied_rows
from workers.database.transactions.model import Statement, TransactionEnd, TransactionSpec
from workers.database.transactions.open_transaction import roll_back_if_open, run_more
from workers.database.transactions.perform import perform_open
from workers.database.transactions.repeat import repeat_if_ended
from workers.database.transactions.sql_span import in_sql_span
from workers.database.transactions.statement_lines import StatementLines
from workers.database.transactions.unknown_outcome import or_unknown

T = TypeVar("T")

Value = str | bytes | int | bool | None
"""A parameter. It is sent as text, which Postgres converts to the type that the statement expects there."""


class CommitSharing(Protocol):
    """Lets transactions wait for the disk together (connection_pool/shared_commits.py)."""

    def without_wait(self, spec: TransactionSpec) -> TransactionSpec | None:
        """Return a transaction that is to be stored with others; None if it waits for itself."""
        ...

    def stored(self, connection: PostgresConnection) -> Awaitable[None]:
        """Take over the connection of a transaction that committed without waiting; what is returned ends when it is stored."""
        ...


class Transaction:
    """One transaction; `acquire` returns its connection when the first statement needs it."""

    def __init__(
        self,
        acquire: Callable[[], Awaitable[PostgresConnection]],
        give_back: Callable[[PostgresConnection], None],
        settings: Sequence[tuple[str, str]],
        lines: StatementLines | None = None,
        *,
        isolation: str | None = None,
        read_only: bool = False,
        commits: CommitSharing | None = None,
    ) -> None:
        self.connection: PostgresConnection | None = None
        """The connection, once the first statement has acquired it."""
        self._acquire, self._give_back = acquire, give_back
        self._settings, self._isolation, self._read_only = settings, isolation, read_only
        self._lines = lines or StatementLines("", shows_text=False)
        self._commits, self._is_shared = commits, False
        self._is_committed = False

    async def run(self, *statements: Statement) -> list[Rows]:
        """Run statements in one write and return the rows of each. Raises: DatabaseError, Disconnected, PoolTimeout."""
        return await self._run(statements, commits=False)

    async def run_last(self, *statements: Statement) -> list[Rows]:
        """Run statements and commit in one write, and return the rows of each statement. No further statement may follow.

        Raises: as `run`.
        """
        if self.connection is None:  # the settings travel with the first statements, which cannot commit
            return await self.run(*statements)
        rows = await self._run(statements, commits=True)
        self._is_committed = True
        await self._stored()
        return rows

    async def _run(self, statements: Sequence[Statement], *, commits: bool) -> list[Rows]:
        if self._is_committed:
            raise RuntimeError("the transaction was committed with its last statements")
        if self.connection is not None:
            running = run_more(self.connection, statements, commits=commits)
            if commits:
                running = or_unknown(running)
        else:
            running = repeat_if_ended(lambda: self._begin(statements))
        if STATE.tracing is not None:
            running = in_sql_span(STATE.tracing, statements, running)
        started_at = time.monotonic()
        try:
            rows = await running
        except DatabaseError as error:
            self._lines.failed(statements, time.monotonic() - started_at, error)
            raise
        self._lines.ended(statements, time.monotonic() - started_at)
        return rows

    def copy(self, statement: Statement) -> AsyncGenerator[bytes]:
        """Run a COPY TO STDOUT behind the first statements, and yield its rows (copy_out.py). Raises, while they are read: as `run`."""
        if self.connection is None:
            raise RuntimeError("a COPY cannot be the first statement")
        return copied_rows(self.connection, statement)

    async def _begin(self, statements: Sequence[Statement]) -> list[Rows]:
        """Begin the transaction with its first statements, on a connection that is kept unless its session had ended."""
        self.connection = await self._acquire()
        spec = TransactionSpec(
            self._settings,
            statements,
            read_only=self._read_only,
            isolation=self._isolation,
            end=TransactionEnd.DECIDE,
        )
        shared = None if self._commits is None else self._commits.without_wait(spec)
        self._is_shared = shared is not None
        try:
            return await perform_open(self.connection, shared or spec)
        except SessionEnded:
            self._give_back(self.connection)
            self.connection = None
            raise

    async def rows(self, text: str, *values: Value) -> Rows:
        """Run one statement and return its rows. Raises: as `run`."""
        return (await self.run(statement(text, *values)))[0]

    async def one(self, text: str, kind: type[T], *values: Value) -> T | None:
        """Run a statement whose rows are one JSON value each; return the first as `kind`, None without rows.

        Raises: as `run`; msgspec.ValidationError if the value is not a `kind`.
        """
        return decode_first(await self.rows(text, *values), kind)

    async def all(self, text: str, kind: type[T], *values: Value) -> list[T]:
        """Run a statement whose rows are one JSON value each; return all. Raises: as `one`."""
        rows = await self.rows(text, *values)
        return [msgspec.json.decode(row[0] or b"null", type=kind) for row in rows]

    async def commit(self) -> None:
        """Commit, unless `run_last` has done it. Raises: DatabaseError, Disconnected."""
        if self.connection is None or self._is_committed:
            return
        running = self.connection.command("commit")
        if STATE.tracing is not None:
            running = in_sql_span(STATE.tracing, (Statement("commit"),), running)
        reply = await running
        if reply.error is not None:
            await roll_back_if_open(self.connection)
            raise reply.error
        if reply.tag != b"COMMIT":
            raise transaction_changed()
        await self._stored()

    async def _stored(self) -> None:
        """Hand the connection over, and wait until the transaction is stored, if it committed without waiting for that."""
        if self._is_shared and self._commits is not None and self.connection is not None:
            connection, self.connection = self.connection, None
            await or_unknown(self._commits.stored(connection))

    async def roll_back(self) -> None:
        """Roll back. A statement that is still running is stopped by the pool when it takes the connection back."""
        if self.connection is not None and not self.connection.is_busy:
            await roll_back_if_open(self.connection)


def statement(text: str, *values: Value) -> Statement:
    """Return a statement for `Transaction.run`."""
    return Statement(text, [encoded(value) for value in values])


def decode_first(rows: Rows, kind: type[T]) -> T | None:
    """Return the first of rows that are one JSON value each; None without rows. Raises: msgspec.ValidationError."""
    if not rows or rows[0][0] is None:
        return None
    return msgspec.json.decode(rows[0][0], type=kind)


def encoded(value: Value) -> bytes | None:
    """Return a parameter in Postgres' text format."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return str(value).encode()
