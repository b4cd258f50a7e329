"""A running stream of the log (COPY_BOTH): what has arrived is read without blocking, and status updates are sent.

A status update says how far the log was received and up to where it is confirmed. One is sent when the server requests it and at
least every ten seconds, also while nothing is read because the reader's own target is slow, so that the server keeps the
connection. The server keeps what a replication slot has not confirmed.
Source: PostgreSQL, "Streaming Replication Protocol", "libpq: Functions Associated with the COPY Command".
"""

import asyncio
import struct
import time
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from psycopg import pq
from psycopg.errors import Error

from workers.database.sessions.replication import StreamLost, error_of_result, lost, readable

XLOG_DATA = struct.Struct("!cQQq")
"""Head of a part of the log: b"w", its position, the end of the server's log, the server's clock."""
KEEPALIVE = struct.Struct("!cQqB")
"""A keepalive: b"k", the end of the server's log, the server's clock, whether it requests a status update."""
_STATUS = struct.Struct("!cQQQqB")
_EPOCH_S = 946_684_800
_STATUS_EVERY_S = 10.0

F = TypeVar("F")


class CopyBothStream(ABC, Generic[F]):
    """A stream of frames `F` that begins at a position. A subclass reads the frames that have arrived."""

    def __init__(self, connection: pq.abc.PGconn, position: int) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._received = self._confirmed = position
        self._timer = self._loop.call_later(_STATUS_EVERY_S, self._send_status_regularly)
        self._waiting: asyncio.Future[None] | None = None

    async def take(self) -> list[F]:
        """Return the frames that have arrived, waiting for the first. Raises: StreamLost when the stream has ended."""
        while True:
            if frames := self._arrived():
                return frames
            self._waiting = self._loop.create_future()
            await readable(self._connection, self._waiting)
            try:
                self._connection.consume_input()
            except Error as error:
                raise lost(error) from None

    def close(self) -> None:
        """Close the connection. Closing it again does nothing."""
        self._timer.cancel()
        self._connection.finish()

    @abstractmethod
    def _arrived(self) -> list[F]:
        """Return what has arrived. Raises: StreamLost."""

    def _end(self) -> StreamLost:
        """Return why the server ended the stream."""
        result = self._connection.get_result()
        if result is None or result.status != pq.ExecStatus.FATAL_ERROR:
            return StreamLost("the server ended the stream")
        return error_of_result(result)

    @property
    def _written(self) -> int:
        """The position that a status update reports as received; what the server may drop depends on `_confirmed` alone."""
        return self._received

    def _send_status_regularly(self) -> None:
        self._send_status(asks=True)
        self._timer = self._loop.call_later(_STATUS_EVERY_S, self._send_status_regularly)

    def _send_status(self, *, asks: bool = False) -> None:
        """Send a status update; `asks` requests a keepalive.

        On a lost connection wake the reader (`take`), which raises the error: libpq may already have closed its socket, so
        that the event loop would never report it as readable.
        """
        now_us = int((time.time() - _EPOCH_S) * 1_000_000)
        try:
            self._connection.put_copy_data(
                _STATUS.pack(b"r", self._written, self._confirmed, self._confirmed, now_us, asks)
            )
            self._connection.flush()
        except Error:
            is_lost = True
        else:
            is_lost = self._connection.status == pq.ConnStatus.BAD
        if is_lost and self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


def clock_s(clock_us: int) -> float:
    """Return a clock of the protocol, in microseconds since 2000, as seconds since 1970."""
    return clock_us / 1_000_000 + _EPOCH_S
