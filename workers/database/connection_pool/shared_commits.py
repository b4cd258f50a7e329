"""Lets transactions that write at the same time wait for the disk together.

    transaction 1  ... commit (no wait) ──┐
    transaction 2  ... commit (no wait) ──┼──> one commit that waits ──> all are answered
    transaction 3  ... commit (no wait) ──┘

A commit that waits for the disk costs Postgres more than a short statement: each server process sleeps, is woken, and writes or
waits for who writes. So where several transactions of a pool write at once, each commits with `synchronous_commit = off`, gives its
connection back, and is answered when a later transaction of the same pool has been stored. That one commits as the server is
configured (its own disk, or standbys too), and the log up to its commit holds all earlier ones.

- Nothing is answered before it is stored. What differs: others may read rows for about a millisecond before they are stored, as they may
  read rows that standbys do not have yet. Whoever has read them and writes is stored after them.
- Transactions that wait are a group. While one is being stored the next one collects; the first of it keeps its connection for it.
- If the storing transaction fails, whether its group is stored is unknown, as when a connection is lost during a commit.
- A transaction that is not known to write (`TransactionSpec.writes`) waits for itself, if it has to: it may be a read, whose commit waits for
  nothing. So does one that sets `synchronous_commit` itself (a role's setting), and one that writes alone.
- Before the first group the sequence is looked for that storing transactions set (`headwater.commits`). Without it nothing is shared, nor where
  commits wait for standbys: what others can see there, the standbys have, and the reader of the log relies on that.

Source: PostgreSQL, "Asynchronous Commit"; XLogFlush of a commit writes all of the log before it.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context

import msgspec

from workers.database.errors import DatabaseError, Disconnected, ServerSilent
from workers.database.protocol.backend_reader import IDLE
from workers.database.protocol.postgres_connection import PostgresConnection
from workers.database.protocol.rows import Rows
from workers.database.transactions.model import Statement, TransactionEnd, TransactionSpec
from workers.database.transactions.open_transaction import roll_back_if_open
from workers.database.transactions.perform import perform

SETTING = "synchronous_commit"
_WITHOUT_WAIT = (SETTING, "off")
_FROM = 8
"""Number of transactions that write at once from which on they wait together."""
_HAS_NO_STANDBYS = "pg_catalog.current_setting('synchronous_standby_names') = ''"
_FIND = TransactionSpec(
    (),
    [
        Statement(
            "select s.oid from pg_catalog.pg_class s join pg_catalog.pg_namespace n on n.oid = s.relnamespace"
            " where s.relname = 'commits' and s.relkind = 'S' and n.nspname = 'headwater'"
            " and pg_catalog.has_sequence_privilege(s.oid, 'update')"
            " and pg_catalog.current_setting('synchronous_standby_names') = ''"
        )
    ],
    read_only=True,
)
_MESSAGE = f"select pg_catalog.pg_logical_emit_message(true, 'headwater.commits', ''), {_HAS_NO_STANDBYS}"
"""What stores a group whose sequence is gone. It reaches all readers of the log, so it is not what groups are stored by."""


class SharedCommits:
    """The groups of one pool. `take_back` gets the connections that are no longer needed."""

    def __init__(self, take_back: Callable[[PostgresConnection], None]) -> None:
        self.writing = 0
        """Number of transactions that write, or wait until they are stored."""
        self._take_back = take_back
        self._loop = asyncio.get_running_loop()
        self._context = Context()  # not that of a request: its claims and its time are not those of the group
        self._store_text: str | None = None
        """The statement of the storing transaction; "" where there is none, None before it was looked for."""
        self._group: list[asyncio.Future[None]] = []
        self._connection: PostgresConnection | None = None
        """The connection that the collecting group keeps."""
        self._storing: asyncio.Task[None] | None = None

    def without_wait(self, spec: TransactionSpec) -> TransactionSpec | None:
        """Return a transaction that is to be stored with others; None if it waits for itself."""
        if self.writing < _FROM or not self._store_text or spec.end is TransactionEnd.ROLLBACK:
            return None
        if any(name == SETTING for name, _ in spec.settings):
            return None
        return msgspec.structs.replace(spec, settings=[*spec.settings, _WITHOUT_WAIT])

    def stored(self, connection: PostgresConnection) -> asyncio.Future[None]:
        """Take over the connection of a transaction that committed without waiting; return what ends when it is stored.

        The future raises: ServerSilent if that is unknown, which a request is answered with 504 (transactions/unknown_outcome.py).
        """
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._group.append(waiter)
        self._keep(connection)
        return waiter

    def release(self, connection: PostgresConnection) -> None:
        """Take back the connection of a transaction that waited for itself, after the trial if one is due."""
        is_due = self._store_text is None and self.writing >= _FROM and connection.is_settled
        if is_due and self._storing is None:
            self._keep(connection)
        else:
            self._take_back(connection)

    def _keep(self, connection: PostgresConnection) -> None:
        if self._connection is not None:
            self._take_back(connection)
            return
        self._connection = connection
        if self._storing is None:
            self._store_group()

    def _store_group(self) -> None:
        connection, group = self._connection, self._group
        assert connection is not None  # the first of a group left it
        self._connection, self._group = None, []
        self._storing = self._loop.create_task(self._store(connection, group), context=self._context)

    async def _store(self, connection: PostgresConnection, group: list[asyncio.Future[None]]) -> None:
        """Commit something after the group's commits, and wait until it is stored."""
        problem = "the task was cancelled"
        try:
            if self._store_text is None:
                self._store_text = _store_text((await perform(connection, _FIND))[0])
            if group:
                await self._write_something(connection)
            problem = ""
        except (DatabaseError, Disconnected) as error:
            problem = str(error)
        finally:
            self._storing = None
            self._take_back(connection)
            for waiter in group:
                if waiter.done():
                    continue
                if problem:
                    unknown = f"whether the transaction is stored is unknown: {problem}"
                    waiter.set_exception(ServerSilent(unknown))
                else:
                    waiter.set_result(None)
            if self._connection is not None:
                self._store_group()

    async def _write_something(self, connection: PostgresConnection) -> None:
        """Write something and commit; share no further commits where that is no longer possible. Raises: DatabaseError, Disconnected."""
        if self._store_text:
            try:
                if not await _has_no_standbys(connection, self._store_text):
                    self._store_text = ""
            except DatabaseError:
                self._store_text = ""
            else:
                return
        await _has_no_standbys(connection, _MESSAGE)


def _store_text(found: Rows) -> str:
    """Return the statement that writes something small (schemas/migrations/platform/0039_shared_commits.sql)."""
    if not found:
        return ""
    return f"select pg_catalog.setval({int(found[0][0] or 0)}::pg_catalog.oid, 1), {_HAS_NO_STANDBYS}"


async def _has_no_standbys(connection: PostgresConnection, text: str) -> bool:
    """Run a statement that writes, and commit as the server is configured. Raises: DatabaseError, Disconnected.

    What an earlier caller set for the session (`synchronous_commit`, too) is undone. Without that, it is a plain transaction: no guards,
    no role, as any role may do it. Where something else was left behind, `perform` cleans the session.
    """
    out: list[bytes] = []
    try:
        out += [connection.statements.prepare(part, out).bare for part in ("reset all", text)]
    except BaseException:
        connection.statements.confirm_parsed(0)
        raise
    reply = await connection.exchange(out)
    if reply.error is None and connection.status == IDLE:
        rows = reply.results[1]
    else:
        await roll_back_if_open(connection)
        (rows,) = await perform(connection, TransactionSpec((), [Statement(text)]))
    return rows[0][1] == b"t"
