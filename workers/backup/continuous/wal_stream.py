"""The write-ahead log as the server sends it to standbys (physical replication): positions, bytes and the server's clock.

The server sends what it has flushed to disk, in frames `XLogData`, and keepalives.
Source: PostgreSQL, "Streaming Replication Protocol".
"""

from dataclasses import dataclass

from psycopg.errors import Error

from workers.database.sessions.copy_both import KEEPALIVE, XLOG_DATA, CopyBothStream, clock_s
from workers.database.sessions.replication import (
    connect,
    identifier,
    lost,
    lsn_text,
    stream,
)

NAME = "headwater archive"
_MOST_BYTES = 4 * 1024 * 1024
"""Bytes that one call of `take` returns at most, roughly."""


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


class WalStream(CopyBothStream[LogBytes | LogEnd]):
    """A running stream. Created with `WalStream.open`."""

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

    def confirm(self, lsn: int) -> None:
        """Confirm to the server that everything before a position is stored, and request a keepalive."""
        self._confirmed = max(self._confirmed, lsn)
        self._send_status(asks=True)

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
                    _, start, server_end, clock = XLOG_DATA.unpack_from(data)
                    content = data[XLOG_DATA.size :]
                    self._received = start + len(content)
                    size_of_frames += len(content)
                    frames.append(LogBytes(start, content, server_end, clock_s(clock)))
                elif data[:1] == b"k":
                    _, lsn, clock, wants_reply = KEEPALIVE.unpack_from(data)
                    asks |= bool(wants_reply)
                    frames.append(LogEnd(lsn, clock_s(clock)))
        except Error as error:
            raise lost(error) from None
        if asks:
            self._send_status()
        return frames
