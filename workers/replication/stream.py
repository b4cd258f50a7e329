"""A connection that streams the log: libpq's COPY_BOTH by the `pq` layer of psycopg, without blocking.

The server sends frames: `XLogData` with a message of pgoutput, and keepalives. We send status updates: how far we have read, and
up to where everything is published (the slot is confirmed up to there). One is sent when the server requests it, within a second
after more was confirmed, and at least every ten seconds; also while nothing is read because the broker is away, so that the
server keeps the connection.
Source: PostgreSQL, "Streaming Replication Protocol", "libpq: Functions Associated with the COPY Command".
"""

import asyncio
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import pq
from psycopg.errors import Error

from workers.database.sessions.replication import (
    StreamLost,
    connect,
    error_of_result,
    identifier,
    literal,
    lost,
    lsn_text,
    readable,
    stream,
)

_XLOG = struct.Struct("!cQQq")
_KEEPALIVE = struct.Struct("!cQqB")
_STATUS = struct.Struct("!cQQQqB")
_EPOCH_S = 946_684_800
_MOST_FRAMES = 1000
_STATUS_EVERY_S = 10.0
_CONFIRM_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class LogData:
    """A message of the output plugin."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Keepalive:
    """Keepalive of the server: all commits before this position were sent."""

    lsn: int


Frame = LogData | Keepalive


class LogStream:
    """The log as a stream of frames. Created with `LogStream.open`."""

    def __init__(self, connection: pq.abc.PGconn, confirmed: int) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._received = self._confirmed = confirmed
        self._timer = self._loop.call_later(_STATUS_EVERY_S, self._send_status_regularly)
        self._soon: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._lost: StreamLost | None = None
        """Why the stream has ended, while frames that came before the end are being handled."""

    @classmethod
    async def open(
        cls, url: str, slot: str, publications: Sequence[str], start: int, confirmed: int
    ) -> "LogStream":
        """Connect and start to stream from a position, or from where the slot is confirmed if that is later.

        `confirmed` is the position before which everything is published now.

        Raises: StreamLost.
        """
        connection = await connect(url)
        try:
            names = ",".join(identifier(name) for name in publications)
            await stream(
                connection,
                f"START_REPLICATION SLOT {identifier(slot)} LOGICAL {lsn_text(start)} (proto_version '1',"
                f" publication_names {literal(names)}, messages 'true')",
            )
        except BaseException:
            connection.finish()
            raise
        return cls(connection, confirmed)

    async def take(self) -> list[Frame]:
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

    def confirm(self, lsn: int) -> None:
        """Confirm to the server, within a second, that everything before a position is published."""
        if lsn > self._confirmed:
            self._confirmed = lsn
            self._received = max(self._received, lsn)
            if self._soon is None:
                self._soon = self._loop.call_later(_CONFIRM_EVERY_S, self._send_status)

    def close(self) -> None:
        """Send the last confirmation and close the connection."""
        self._send_status()
        self._timer.cancel()
        if self._soon is not None:
            self._soon.cancel()
        self._connection.finish()

    def _arrived(self) -> list[Frame]:
        """Return what has arrived. Frames before the end of the stream come first, and the end with the next call.

        A reader continues where it was: with fewer publications it would not receive again what it did not see.
        """
        if self._lost is not None:
            raise self._lost
        frames: list[Frame] = []
        asks = False
        try:
            while len(frames) < _MOST_FRAMES:
                size, view = self._connection.get_copy_data(1)
                if size == 0:
                    break
                if size == -1:
                    self._lost = self._end()
                    break
                data = bytes(view)
                if data[:1] == b"w":
                    frames.append(LogData(data[_XLOG.size :]))
                elif data[:1] == b"k":
                    _, lsn, _, wants_reply = _KEEPALIVE.unpack_from(data)
                    self._received = max(self._received, lsn)
                    asks |= bool(wants_reply)
                    frames.append(Keepalive(lsn))
        except Error as error:
            self._lost = lost(error)
        if self._lost is not None and not frames:
            raise self._lost
        if asks:
            self._send_status()
        return frames

    def _end(self) -> StreamLost:
        result = self._connection.get_result()
        if result is None or result.status != pq.ExecStatus.FATAL_ERROR:
            return StreamLost("the server ended the stream")
        return error_of_result(result)

    def _send_status_regularly(self) -> None:
        self._send_status(asks=True)
        self._timer = self._loop.call_later(_STATUS_EVERY_S, self._send_status_regularly)

    def _send_status(self, *, asks: bool = False) -> None:
        """Send a status update; `asks` requests a keepalive.

        On a lost connection wake the reader (`take`), which raises the error: libpq may already have closed its socket, so
        that the event loop would never report it as readable.
        """
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
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
