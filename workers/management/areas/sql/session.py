"""One connection for SQL that a person wrote: it runs statements one at a time, and is closed after them.

Nothing of the session outlives it: settings, the role, temporary tables, advisory locks, LISTEN, prepared statements and an
open transaction all end with the connection. So such SQL never runs in a connection of a pool.

Each statement is a message Parse of its own, and the server accepts one statement in it. So a text in which we saw one
statement is never run as two, whatever it contains: the transaction status after it is that of this statement.

    Parse, Describe, Bind, Execute, Sync  ->  columns, rows in batches, tag | failure, ready

While more than `_MOST_QUEUED` bytes wait for the reader, the transport is paused; so memory stays flat, and the server
computes no faster than the reader takes. Not used by several tasks at a time.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from struct import Struct

from workers.database.errors import DatabaseError, Disconnected
from workers.database.protocol import connecting, frontend_messages
from workers.database.protocol.backend_reader import IDLE
from workers.database.protocol.connecting import ServerBackend
from workers.database.protocol.rows import ProtocolViolation
from workers.management.areas.sql.messages import (
    CopyBegun,
    ReadyForStatement,
    ResultEvent,
    ResultReader,
    RowBatch,
    ServerFailure,
    ValueRow,
)

_MOST_QUEUED = 1024 * 1024
_CONNECT_S = 10.0
_COPY_DONE = b"c\0\0\0\4"
_pack_size = Struct("!I").pack


class SqlSession(asyncio.Protocol):
    """A session; `open` one, `execute` statements, then `close` it."""

    def __init__(self, transport: asyncio.Transport, longest_message: int) -> None:
        self.status = IDLE
        """Transaction status after the last statement."""
        self.lost: Disconnected | None = None
        self.is_running = False
        """A statement was sent and its answer was not read to the end."""
        self.backend: ServerBackend | None = None
        self._transport = transport
        self._reader = ResultReader(longest_message)
        self._queue: deque[tuple[int, list[ResultEvent]]] = deque()
        self._queued = 0
        self._is_paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, url: str, application_name: str, *, longest_message: int) -> "SqlSession":
        """Connect. Raises: Disconnected; ValueError if the URL cannot be read."""
        connected = await connecting.connect(url, _CONNECT_S, application_name, checks_client=True)
        session = cls(connecting.transport_of(connected), longest_message)
        session.backend = connecting.replace_protocol(connected, session)
        return session

    @property
    def process_id(self) -> int:
        """Process id of the server's backend."""
        return self.backend.process_id if self.backend else 0

    async def execute(
        self,
        text: str,
        params: Sequence[bytes | None] = (),
        *,
        max_rows: int = 0,
        copy_rows: str | None = None,
    ) -> AsyncIterator[ResultEvent]:
        """Run one statement and yield its events; the last is `ReadyForStatement`. Read them to the end, or close the session.

        `max_rows`: the server stops a reading statement after this number of rows, 0 for no limit. `copy_rows` are sent to a
        `COPY ... FROM STDIN`; without them it fails.
        Raises: Disconnected if the session ended before the answer; DatabaseError for a text that Postgres cannot store.
        """
        self._check()
        execute = frontend_messages.run(frontend_messages.bind_head(b""), params)
        if max_rows:
            execute = execute[:-4] + _pack_size(max_rows)  # Execute ends with the number of rows
        self.is_running = True
        self._transport.write(
            b"".join(
                (
                    frontend_messages.parse(b"", text),
                    frontend_messages.describe(b""),
                    execute,
                    frontend_messages.SYNC,
                )
            )
        )
        while True:
            for event in await self._next():
                if isinstance(event, CopyBegun) and event.is_input:
                    self._answer_copy(copy_rows)
                if isinstance(event, ReadyForStatement):
                    self.status, self.is_running = event.status, False
                yield event
                if not self.is_running:
                    return

    async def command(self, text: str, params: Sequence[bytes | None] = ()) -> list[ValueRow]:
        """Run a statement of ours to its end and return its rows. Raises: DatabaseError, Disconnected."""
        rows: list[ValueRow] = []
        failure: DatabaseError | None = None
        async for event in self.execute(text, params):
            if isinstance(event, RowBatch):
                rows += event.rows
            elif isinstance(event, ServerFailure):
                failure = event.error
        if failure is not None:
            raise failure
        return rows

    async def cancel(self) -> None:
        """Ask the server to cancel what runs. Raises: OSError."""
        if self.backend is not None:
            await self.backend.cancel()

    def abort(self) -> None:
        """Close the connection in any state; the server ends the session and rolls back."""
        self._set_lost(Disconnected("the session was closed"))
        self._transport.abort()

    async def close(self) -> None:
        """Close the session, and wait until the connection is gone."""
        if self.lost is None:
            self._transport.write(frontend_messages.TERMINATE)
            self._set_lost(Disconnected("the session was closed"))
            self._transport.close()
        await asyncio.shield(self._closed)

    def _answer_copy(self, rows: str | None) -> None:
        """Send the rows of a COPY, or make it fail. The Sync that was sent with it was ignored, so another one follows."""
        if rows is None:
            reason = b"rows of COPY FROM STDIN must follow the statement and end with a line \\.\0"
            ends = b"f" + _pack_size(len(reason) + 4) + reason
        else:
            data = rows.encode()
            ends = b"d" + _pack_size(len(data) + 4) + data + _COPY_DONE
        self._transport.write(ends + frontend_messages.SYNC)

    async def _next(self) -> list[ResultEvent]:
        """Return the events that have arrived. Raises: Disconnected after the last ones of a lost session."""
        while not self._queue:
            self._check()
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        size, events = self._queue.popleft()
        self._queued -= size
        if self._is_paused and self._queued <= _MOST_QUEUED // 2 and not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()
        return events

    def _check(self) -> None:
        if self.lost is not None and not self._queue:
            raise Disconnected(self.lost.message, self.lost.code)

    # Called by the event loop

    def data_received(self, data: bytes) -> None:
        """Queue what the server sent."""
        try:
            events = self._reader.feed(data)
        except ProtocolViolation as error:
            self._set_lost(Disconnected(f"the server violated the protocol: {error}"))
            self._transport.abort()
            return
        if not events:
            return
        self._queue.append((len(data), events))
        self._queued += len(data)
        if self._queued > _MOST_QUEUED and not self._is_paused and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the session ended."""
        if not self._closed.done():
            self._closed.set_result(None)
        self._set_lost(Disconnected("the session ended" if exc is None else str(exc)))

    def _set_lost(self, reason: Disconnected) -> None:
        self.lost = self.lost or reason
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
