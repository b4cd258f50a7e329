"""The rows of one statement as a stream that holds its session until it is read or closed.

The first answer of the server is awaited before the stream is returned, so that an error of the statement is an error of the
request. What fails later breaks the stream off. A slow reader slows the server (session.py); memory stays flat.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

from workers.database.errors import DatabaseError
from workers.management.areas.sql.messages import (
    CommandTag,
    ReadyForStatement,
    ResultColumn,
    ResultColumns,
    ResultEvent,
    RowBatch,
    ServerFailure,
    ValueRow,
)
from workers.management.areas.sql.sessions import HeldSession

_PIECE = 128 * 1024


class RowEncoder(Protocol):
    """How rows become bytes: `start` once, `rows` for each batch, `end` once."""

    def start(self) -> bytes:
        """Return the bytes before the rows."""
        ...

    def rows(self, rows: list[ValueRow]) -> bytes:
        """Return the bytes of rows. Raises: ValueError for a value that is too long."""
        ...

    def end(self) -> bytes:
        """Return the bytes after the rows."""
        ...


class RowStream:
    """The bytes of a result, for `StreamedResult.chunks`. It ends its session when it was read, failed or is closed."""

    def __init__(
        self,
        held: HeldSession,
        events: AsyncIterator[ResultEvent],
        encoder: RowEncoder,
        first: list[ResultEvent],
    ) -> None:
        self._held, self._events, self._encoder = held, events, encoder
        self._first = first
        self._state = 0
        self._failure: DatabaseError | None = None

    @classmethod
    async def open(
        cls,
        held: HeldSession,
        text: str,
        params: Sequence[bytes | None],
        encoder_of: Callable[[list[ResultColumn]], RowEncoder],
        timeout_s: float,
    ) -> "RowStream":
        """Start a statement and wait for its first rows or its end. Raises: DatabaseError, Disconnected, TimeoutError."""
        try:
            async with asyncio.timeout(timeout_s):
                events = held.session.execute(text, params)
                columns: list[ResultColumn] = []
                first: list[ResultEvent] = []
                async for event in events:
                    if isinstance(event, ServerFailure):
                        raise event.error
                    if isinstance(event, ResultColumns):
                        columns = event.columns
                    elif isinstance(event, RowBatch | CommandTag | ReadyForStatement):
                        first.append(event)
                        break
            return cls(held, events, encoder_of(columns), first)
        except BaseException:
            await asyncio.shield(held.end())
            raise

    def __aiter__(self) -> "RowStream":
        return self

    async def __anext__(self) -> bytes:
        """Return the next piece. Raises: DatabaseError, Disconnected, ValueError for a value that is too long."""
        try:
            return await self._piece()
        except BaseException:
            await self.aclose()
            raise

    async def _piece(self) -> bytes:
        if self._state == 2:
            raise StopAsyncIteration
        parts = [] if self._state else [self._encoder.start()]
        self._state = 1
        size = 0
        while size < _PIECE:
            event = self._first.pop() if self._first else await anext(self._events, None)
            if isinstance(event, ServerFailure):
                raise event.error
            if isinstance(event, RowBatch):
                parts.append(self._encoder.rows(event.rows))
                size += len(parts[-1])
            elif event is None or isinstance(event, ReadyForStatement):
                parts.append(self._encoder.end())
                self._state = 2
                await asyncio.shield(self._held.end())
                break
        return b"".join(parts)

    async def aclose(self) -> None:
        """End the session. Does nothing if all was read."""
        self._state = 2
        await asyncio.shield(self._held.end())
