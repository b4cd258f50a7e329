"""Rows of a COPY TO STDOUT, on their way from the connection to one reader.

connection --rows--> CopiedRows (about `MOST` bytes, then the connection is paused) --joined rows--> reader
"""

import asyncio
from typing import Self

MOST = 2 * 1024 * 1024
"""Bytes that wait for the reader; more are left in the connection."""


class CopiedRows:
    """The connection adds rows; the reader iterates over them, joined as they have arrived. Rows are as COPY writes them."""

    def __init__(self, transport: asyncio.ReadTransport) -> None:
        self._transport = transport
        self._rows: list[bytes] = []
        self._size = 0
        self._is_paused = self._is_over = self._is_abandoned = False
        self._arrived = asyncio.Event()

    # Called by the connection

    def add(self, rows: list[bytes], /) -> None:
        """Add complete rows."""
        if self._is_abandoned:
            return
        piece = b"".join(rows)
        self._rows.append(piece)
        self._size += len(piece)
        self._arrived.set()
        if self._size > MOST and not self._is_paused and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()

    def end(self) -> None:
        """Note that no more rows come: the statement ended, with or without an error."""
        self._is_over = True
        self._arrived.set()

    # Called by the reader

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the rows that have arrived, joined."""
        while not self._rows:
            if self._is_over:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        rows, self._rows, self._size = b"".join(self._rows), [], 0
        self._resume()
        return rows

    def abandon(self) -> None:
        """Drop the rows that wait, and those that still arrive."""
        self._is_abandoned = True
        self._rows.clear()
        self._resume()

    def _resume(self) -> None:
        if self._is_paused and not self._transport.is_closing():
            self._transport.resume_reading()
        self._is_paused = False
