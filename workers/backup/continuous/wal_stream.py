"""The write-ahead log as the server sends it to standbys (physical replication): positions, bytes and the server's clock.

The server sends what it has flushed to disk, in frames `XLogData`, and keepalives. It keeps what a replication slot has not confirmed. A status
update is sent at least every ten seconds, also while nothing is read because the store is slow, so that the server keeps the connection.
Source: PostgreSQL, "Streaming Replication Protocol".
"""

import asyncio
import struct
import time
from dataclasses import dataclass

from psycopg import pq
from psycopg.errors import Error

from workers.database.sessions.replication import (
    StreamLost,
    connect,
    error_of_result,
    identifier,
    lost,
    lsn_text,
    readable,
    stream,
)

NAME = "headwater archive"
_XLOG = struct.Struct("!cQQq")
_KEEPALIVE = struct.Struct("!cQqB")
_STATUS = struct.Struct("!cQQQqB")
_EPOCH_S = 946_684_800
_MOST_BYTES = 4 * 1024 * 1024
"""Bytes that one call of `take` returns at most, roughly."""
_STATUS_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class LogBytes:
    """A part of the log: position of its first byte, its bytes, the server's clock in seconds since 1970.

    `server_end` is where the server's log ended when it sent this: more than the end of the bytes if the reader lags.
    """

    start: int
    data: bytes
    server_end: int
    time: float


@dataclass(frozen=True, slots=True)
class LogEnd:
    """The end of the server's log at a moment, in seconds since 1970 by its clock."""

    lsn: int
    time: float


class WalStream:
    """A running stream. Created with `WalStream.open`."""

    def __init__(self, connection: pq.abc.PGconn, start: int) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._received = self._confirmed = start
        self._timer = self._loop.call_later(_STATUS_EVERY_S, self._send_status_regularly)
        self._waiting: asyncio.Future[None] | None = None

    @classmethod
    async def open(cls, url: str, slot: str, start: int, timeline: int) -> "WalStream":
        """Connect and start to stream from a position. Raises: StreamLost."""
        connection = await connect(url, kind="true", name=NAME)
        try:
            await stream(
                connection,
                f"START_REPLICATION SLOT {identifier(slot)} PHYSICAL {lsn_text(start)} TIMELINE {timeline}",
            )
        except BaseException:
            connection.finish()
            raise
        return cls(connection, start)

    async def take(self) -> list[LogBytes | LogEnd]:
        """Return what has arrived, waiting for the first. Raises: StreamLost when the stream has ended."""
        while True:
            if frames := self._arrived():
                return frames
            self._waiting = self._loop.create_future()
            await readable(self._connection, self._waiting)
            try:
                self._connection.consume_input()
            except Error as error:
                raise lost(error) from None

    def confirm(self, lsn: int) -> None:
        """Confirm to the server that everything before a position is stored, and request a keepalive."""
        self._confirmed = max(self._confirmed, lsn)
        self._send_status(asks=True)

    def close(self) -> None:
        """Close the connection. Closing it again does nothing."""
        self._timer.cancel()
        self._connection.finish()

    def _arrived(self) -> list[LogBytes | LogEnd]:
        frames: list[LogBytes | LogEnd] = []
        size_of_frames, asks = 0, False
        try:
            while size_of_frames < _MOST_BYTES:
                size, view = self._connection.get_copy_data(1)
                if size == 0:
                    break
                if size == -1:
                    raise self._end()
                data = bytes(view)
                if data[:1] == b"w":
                    _, start, server_end, clock = _XLOG.unpack_from(data)
                    content = data[_XLOG.size :]
                    self._received = start + len(content)
                    size_of_frames += len(content)
                    frames.append(LogBytes(start, content, server_end, _seconds(clock)))
                elif data[:1] == b"k":
                    _, lsn, clock, wants_reply = _KEEPALIVE.unpack_from(data)
                    asks |= bool(wants_reply)
                    frames.append(LogEnd(lsn, _seconds(clock)))
        except Error as error:
            raise lost(error) from None
        if asks:
            self._send_status()
        return frames

    def _end(self) -> StreamLost:
        result = self._connection.get_result()
        if result is None or result.status != pq.ExecStatus.FATAL_ERROR:
            return StreamLost("the server ended the stream")
        return error_of_result(result)

    def _send_status_regularly(self) -> None:
        self._send_status()
        self._timer = self._loop.call_later(_STATUS_EVERY_S, self._send_status_regularly)

    def _send_status(self, *, asks: bool = False) -> None:
        """Send a status update; on a lost connection wake the reader, whose socket libpq may have closed."""
        now_us = int((time.time() - _EPOCH_S) * 1_000_000)
        try:
            self._connection.put_copy_data(
                _STATUS.pack(b"r", self._received, self._confirmed, self._confirmed, now_us, asks)
            )
            self._connection.flush()
        except Error:
            is_lost = True
        else:
            is_lost = self._connection.status == pq.ConnStatus.BAD
        if is_lost and self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


def _seconds(clock_us: int) -> float:
    return clock_us / 1_000_000 + _EPOCH_S
