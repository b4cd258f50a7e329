"""A connection that streams the log: libpq's COPY_BOTH by the `pq` layer of psycopg, without blocking.

What comes are frames: `XLogData` with a message of pgoutput, and keepalives. What goes are status updates: how far we
have read, and how far all is safe (the slot is confirmed up to there). One is sent when the server asks, when more was
confirmed, and at least every ten seconds; also while nothing is read because the broker is away, so the server keeps
the connection. asyncpg cannot do it (it has no such state), and psycopg has no interface above this layer.
Source: PostgreSQL, "Streaming Replication Protocol", "libpq: Functions Associated with the COPY Command".
"""

import asyncio
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import pq
from psycopg.errors import Error

_XLOG = struct.Struct("!cQQq")
_KEEPALIVE = struct.Struct("!cQqB")
_STATUS = struct.Struct("!cQQQqB")
_EPOCH_S = 946_684_800
_MOST_FRAMES = 1000
_STATUS_EVERY_S = 10.0
_CONFIRM_EVERY_S = 1.0
_CONNECT_S = 10.0

SESSION = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "search_path": "",
    "statement_timeout": "0",
}
"""Settings under which texts of values have the form that `values.py` reads."""


class StreamLost(Exception):
    """The stream of the log cannot be had or has ended: the server's words, and its code if it gave one."""

    def __init__(self, reason: str, sqlstate: str = "") -> None:
        super().__init__(reason)
        self.sqlstate = sqlstate


@dataclass(frozen=True, slots=True)
class Data:
    """A message of the output plugin."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Alive:
    """All commits before this position were sent."""

    lsn: int


Frame = Data | Alive


class Stream:
    """The log as a stream of frames. Make one with `Stream.open`."""

    def __init__(self, connection: pq.abc.PGconn, confirmed: int) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._received = self._confirmed = confirmed
        self._timer = self._loop.call_later(_STATUS_EVERY_S, self._tell_regularly)
        self._soon: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Future[None] | None = None

    @classmethod
    async def open(
        cls, url: str, slot: str, publications: Sequence[str], start: int, confirmed: int
    ) -> "Stream":
        """Connect and begin to stream from a position, or from where the slot is confirmed if that is later.

        `confirmed` is the position before which everything is safe now.

        Raises: StreamLost.
        """
        connection = await _connect(url)
        try:
            names = ",".join(_identifier(name) for name in publications)
            await _run(
                connection,
                f"START_REPLICATION SLOT {_identifier(slot)} LOGICAL {lsn_text(start)} (proto_version '1',"
                f" publication_names {_literal(names)}, messages 'true')",
                pq.ExecStatus.COPY_BOTH,
            )
        except BaseException:
            connection.finish()
            raise
        return cls(connection, confirmed)

    async def take(self) -> list[Frame]:
        """Give what has arrived, waiting for the first frame. Raises: StreamLost when the stream has ended."""
        while True:
            if frames := self._arrived():
                return frames
            self._waiting = self._loop.create_future()
            await _readable(self._connection, self._waiting)
            try:
                self._connection.consume_input()
            except Error as error:
                raise _lost(error) from None

    def confirm(self, lsn: int) -> None:
        """Tell the server, within a second, that everything before a position is safe."""
        if lsn > self._confirmed:
            self._confirmed = lsn
            self._received = max(self._received, lsn)
            if self._soon is None:
                self._soon = self._loop.call_later(_CONFIRM_EVERY_S, self._tell)

    def close(self) -> None:
        """End the stream; what was confirmed last is told."""
        self._tell()
        self._timer.cancel()
        if self._soon is not None:
            self._soon.cancel()
        self._connection.finish()

    def _arrived(self) -> list[Frame]:
        frames: list[Frame] = []
        asks = False
        try:
            while len(frames) < _MOST_FRAMES:
                size, view = self._connection.get_copy_data(1)
                if size == 0:
                    break
                if size == -1:
                    raise self._end()
                data = bytes(view)
                if data[:1] == b"w":
                    frames.append(Data(data[_XLOG.size :]))
                elif data[:1] == b"k":
                    _, lsn, _, wants_reply = _KEEPALIVE.unpack_from(data)
                    self._received = max(self._received, lsn)
                    asks |= bool(wants_reply)
                    frames.append(Alive(lsn))
        except Error as error:
            raise _lost(error) from None
        if asks:
            self._tell()
        return frames

    def _end(self) -> StreamLost:
        result = self._connection.get_result()
        if result is None or result.status != pq.ExecStatus.FATAL_ERROR:
            return StreamLost("the server ended the stream")
        return _refused(self._connection, result)

    def _tell_regularly(self) -> None:
        self._tell(asks=True)
        self._timer = self._loop.call_later(_STATUS_EVERY_S, self._tell_regularly)

    def _tell(self, *, asks: bool = False) -> None:
        """Send a status update, and ask for a sign of life if wanted. A connection that is gone is noticed where frames are taken: it is woken, for the library
        may have closed the socket on which it waits.
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


def lsn_text(lsn: int) -> str:
    """Spell a position as Postgres does: `16/B374D848`."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def parse_lsn(text: str) -> int:
    """Read what `lsn_text` spells."""
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)


async def _connect(url: str) -> pq.abc.PGconn:
    """Connect for replication of the URL's database; no word of the URL reaches the error."""
    options = " ".join(f"-c {name}={_escaped(value)}" for name, value in SESSION.items())
    more = {
        "replication": "database",
        "client_encoding": "UTF8",
        "application_name": "headwater changes",
        "options": options,
        "tcp_user_timeout": "20000",
        "keepalives_idle": "15",
    }
    given = {
        option.keyword: option.val for option in pq.Conninfo.parse(url.encode()) if option.val is not None
    }
    given |= {name.encode(): value.encode() for name, value in more.items()}
    conninfo = b" ".join(
        b"%b='%b'" % (name, value.replace(b"\\", b"\\\\").replace(b"'", b"\\'"))
        for name, value in given.items()
    )
    connection = pq.PGconn.connect_start(conninfo)
    try:
        async with asyncio.timeout(_CONNECT_S):
            while True:
                match connection.connect_poll():
                    case pq.PollingStatus.READING:
                        await _readable(connection)
                    case pq.PollingStatus.WRITING:
                        await _writable(connection)
                    case pq.PollingStatus.OK:
                        break
                    case _:
                        raise StreamLost(_words(connection))
    except TimeoutError:
        connection.finish()
        raise StreamLost("the server does not answer") from None
    except BaseException:
        connection.finish()
        raise
    connection.nonblocking = 1
    return connection


async def _run(connection: pq.abc.PGconn, command: str, expected: pq.ExecStatus) -> None:
    connection.send_query(command.encode())
    while connection.flush():
        await _writable(connection)
    while connection.is_busy():
        await _readable(connection)
        try:
            connection.consume_input()
        except Error as error:
            raise _lost(error) from None
    result = connection.get_result()
    if result is None or result.status != expected:
        raise _refused(connection, result) if result is not None else StreamLost("the server said nothing")


def _refused(connection: pq.abc.PGconn, result: pq.abc.PGresult) -> StreamLost:
    primary = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"the server gave no reason"
    code = result.error_field(pq.DiagnosticField.SQLSTATE) or b""
    return StreamLost(primary.decode(errors="replace"), code.decode(errors="replace"))


def _lost(error: Error) -> StreamLost:
    return StreamLost(str(error).strip().partition("\n")[0] or "the connection ended")


def _words(connection: pq.abc.PGconn) -> str:
    return connection.get_error_message().strip().partition("\n")[0] or "the server cannot be reached"


async def _readable(connection: pq.abc.PGconn, ready: "asyncio.Future[None] | None" = None) -> None:
    """Wait until there is something to read, or `ready` is done otherwise. Raises: StreamLost."""
    loop = asyncio.get_running_loop()
    socket, ready = _socket(connection), ready or loop.create_future()
    loop.add_reader(socket, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(socket)


async def _writable(connection: pq.abc.PGconn) -> None:
    loop = asyncio.get_running_loop()
    socket, ready = _socket(connection), loop.create_future()
    loop.add_writer(socket, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_writer(socket)


def _socket(connection: pq.abc.PGconn) -> int:
    """Give the socket of a connection. Raises: StreamLost when the library has closed it."""
    try:
        return connection.socket
    except Error as error:
        raise _lost(error) from None


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
