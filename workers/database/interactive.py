"""A transaction whose next statement depends on what the last one gave, and on work done in between.

    async with pool.transaction(settings) as transaction:
        user = await transaction.one("select ... where email = $1", UserRow, email)
        ...                                   # a hash, a call to somebody else
        await transaction.run(Statement(...), Statement(...))

Settings ride with the first statements, the end is a write of its own. The block's end commits; an exception rolls back
and passes. A connection is held from the first statement to the end: long work belongs before or after the block.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from broker.observability.tracing import STATE
from workers.database.dialogue import go_on, leave
from workers.database.pipeline import Pipeline, broken_off
from workers.database.session import End, Rows, Statement, Work
from workers.database.traced import traced
from workers.database.transaction import perform_open

T = TypeVar("T")

Value = str | bytes | int | bool | None
"""A parameter: it is sent as text, which Postgres reads as the type that stands there."""


class Transaction:
    """One transaction; `acquire` gives its connection when the first statement needs it."""

    def __init__(
        self, acquire: Callable[[], Awaitable[Pipeline]], settings: Sequence[tuple[str, str]]
    ) -> None:
        self.pipeline: Pipeline | None = None
        """The connection, once there is one."""
        self._acquire = acquire
        self._settings = settings

    async def run(self, *statements: Statement) -> list[Rows]:
        """Run statements in one write and give the rows of each. Raises: DatabaseError, Disconnected."""
        if self.pipeline is not None:
            doing = go_on(self.pipeline, statements)
        else:
            self.pipeline = await self._acquire()
            doing = perform_open(self.pipeline, Work(self._settings, statements, end=End.DECIDE))
        if STATE.tracing is not None:
            doing = traced(STATE.tracing, statements, doing)
        return await doing

    async def rows(self, text: str, *values: Value) -> Rows:
        """Run one statement and give its rows. Raises: as `run`."""
        return (await self.run(statement(text, *values)))[0]

    async def one(self, text: str, kind: type[T], *values: Value) -> T | None:
        """Run a statement whose rows are one JSON value each; give the first as `kind`, None if there is none.

        Raises: as `run`; msgspec.ValidationError if the row is no `kind`.
        """
        return first(await self.rows(text, *values), kind)

    async def all(self, text: str, kind: type[T], *values: Value) -> list[T]:
        """Run a statement whose rows are one JSON value each; give all. Raises: as `one`."""
        found = await self.rows(text, *values)
        return [msgspec.json.decode(row[0] or b"null", type=kind) for row in found]

    async def commit(self) -> None:
        """End the transaction and keep its work. Raises: DatabaseError, Disconnected."""
        if self.pipeline is None:
            return
        doing = self.pipeline.command("commit")
        if STATE.tracing is not None:
            doing = traced(STATE.tracing, (Statement("commit"),), doing)
        reply = await doing
        if reply.error is not None:
            await leave(self.pipeline)
            raise reply.error
        if reply.tag != b"COMMIT":
            raise broken_off()

    async def roll_back(self) -> None:
        """End the transaction and undo its work. A statement that was left running is the pool's to stop."""
        if self.pipeline is not None and not self.pipeline.is_busy:
            await leave(self.pipeline)


def statement(text: str, *values: Value) -> Statement:
    """Make a statement for `Transaction.run`."""
    return Statement(text, [encoded(value) for value in values])


def first(rows: Rows, kind: type[T]) -> T | None:
    """Give the first of rows that are one JSON value each; None if there is none. Raises: msgspec.ValidationError."""
    if not rows or rows[0][0] is None:
        return None
    return msgspec.json.decode(rows[0][0], type=kind)


def encoded(value: Value) -> bytes | None:
    """Give a parameter as Postgres reads it."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return str(value).encode()
