"""A connection that streams the log: libpq's COPY_BOTH by the `pq` layer of psycopg, without blocking.

The server sends frames: `XLogData` with a message of pgoutput, and keepalives. We send status updates: how far we have read, and
up to where everything is published (the slot is confirmed up to there). One is sent when the server requests it, within a second
after more was confirmed, and at least every ten seconds; also while nothing is read because the broker is away, so that the
server keeps the connection.

A server that has sent all it has sends a keepalive before it waits for more of the log, unless the reader has received more than
that. Under load this is one for nearly every commit, of any table, published or not. So status updates report a position that the
log never reaches as received (`_AHEAD`), and ask for a keepalive a second after the last progress. The server drops nothing before
what is confirmed. Not where commits wait for this reader as a synchronous standby: there a received position ends the wait of
`synchronous_commit = remote_write`.
Source: PostgreSQL, "Streaming Replication Protocol", "libpq: Functions Associated with the COPY Command".
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import pq
from psycopg.errors import Error

from workers.database.sessions.copy_both import KEEPALIVE, XLOG_DATA, CopyBothStream
from workers.database.sessions.replication import (
    StreamLost,
    connect,
    identifier,
    literal,
    lost,
    lsn_text,
    stream,
)

_MOST_FRAMES = 1000
_CONFIRM_EVERY_S = 1.0
_AHEAD = 1 << 48
"""Bytes before the end of the log: 256 TiB."""


@dataclass(frozen=True, slots=True)
class LogData:
    """A message of the output plugin."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Keepalive:
    """Keepalive of the server: all commits before this position were sent."""

    lsn: int


Frame = LogData | Keepalive


class LogStream(CopyBothStream[Frame]):
    """The log as a stream of frames. Created with `LogStream.open`."""

    def __init__(self, connection: pq.abc.PGconn, confirmed: int) -> None:
        super().__init__(connection, confirmed)
        self._soon: asyncio.TimerHandle | None = None
        self._is_asked = False
        """Whether the server has requested a status update since the last confirmation; one that shuts down waits for it."""
        self._keepalives = True
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

    def set_keepalives(self, *, wanted: bool) -> None:
        """Ask for a keepalive whenever the server has sent all it has, as at the start, or for one a second while the log grows."""
        if wanted != self._keepalives:
            self._keepalives = wanted
            self._send_status()

    def confirm(self, lsn: int) -> None:
        """Confirm to the server, within a second, that everything before a position is published."""
        if lsn > self._confirmed:
            self._confirmed = lsn
            self._received = max(self._received, lsn)
            if self._is_asked:
                self._is_asked = False
                self._send_status()
            if self._soon is None:
                self._soon = self._loop.call_later(_CONFIRM_EVERY_S, self._send_confirmation)

    def close(self) -> None:
        """Send the last confirmation and close the connection."""
        self._send_status()
        super().close()

    @property
    def _written(self) -> int:
        return self._received if self._keepalives else self._received + _AHEAD

    def _send_confirmation(self) -> None:
        self._send_status(asks=not self._keepalives)

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
                    frames.append(LogData(data[XLOG_DATA.size :]))
                elif data[:1] == b"k":
                    _, lsn, _, wants_reply = KEEPALIVE.unpack_from(data)
                    self._received = max(self._received, lsn)
                    asks |= bool(wants_reply)
                    frames.append(Keepalive(lsn))
        except Error as error:
            self._lost = lost(error)
        if self._lost is not None and not frames:
            raise self._lost
        if asks:
            self._is_asked = True
            self._send_status()
        return frames

    def _send_status(self, *, asks: bool = False) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        super()._send_status(asks=asks)
