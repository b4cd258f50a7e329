"""One connection that sends all of a transaction in one write and reads all of its answer.

asyncpg connects (names, TLS, SCRAM); then its transport is given to our protocol, which speaks Parse/Bind/Execute/Sync
itself, because asyncpg cannot put several statements under one Sync (architecture, decisions 7 and 8). What is private
in asyncpg and used here: `Connection._transport`, `_protocol`, `_addr`, `_params`, `_aborted` and `connect_utils._cancel`;
the minor version is pinned and test_pipeline.py holds each of them.

Rules: one exchange at a time, or several that were sent together (`exchange_each`). An exchange whose caller went away
goes on until the server is ready; who owns the connection asks `is_settled` before it is used again. A connection that
broke, or spoke no sense, is never used again.
An exchange may be answered before its end, with a long value (workers/database/long_value.py): it is under way until
the value's row and all that follows have come. The rows of one result may be gathered as a body instead
(workers/database/row_body.py): then the exchange is answered at its end.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, Self

import asyncpg
from asyncpg import connect_utils

from workers.database import wire
from workers.database.errors import DatabaseError, Disconnected, database_error, read_fields
from workers.database.long_value import LongValue, Patience
from workers.database.row_body import BodySpace, RowBody
from workers.database.session import GatheredRows, Rows
from workers.database.statements import STATEMENTS_KEPT, Statements

_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}
"""A server that vanished without a word is noticed after a minute (Linux; elsewhere the system's own times)."""

_NOTIFICATION, _PARAMETER = b"AS"
_CANCELLED = "57014"


class Reply(NamedTuple):
    """The answer to one exchange."""

    results: list[Rows]
    """Rows of each statement that was completed."""
    error: DatabaseError | None
    tag: bytes
    """Tag of the last completed command."""
    columns: list[int]
    """Number of result columns of each statement that was described."""
    long: LongValue | None = None
    """The last value of the last row, which holds None for it: the exchange goes on with it."""
    status: int = wire.IDLE
    """The state of the transaction after it."""


class Part(NamedTuple):
    """One of several exchanges that are sent together: its messages, as `exchange` takes them, and who waits for its answer."""

    messages: Sequence[bytes]
    long_in: int
    waiter: asyncio.Future[Reply]
    separator: bytes | None = None


class Pipeline(asyncio.Protocol):
    """A connection to the server: `exchange` messages, `cancel` what runs, `close`.

    `born_at`, `idle_since`, `holder` (whose share it takes, None while it is idle) and `taken_at` are kept here for the pool that
    owns the connection, which also says with how much `patience` long values are given, and which `body_space` gathered rows
    may use.
    """

    def __init__(self, transport: asyncio.Transport, prepared: bool) -> None:
        self.statements = Statements(STATEMENTS_KEPT if prepared else 0)
        self.parameters: dict[str, str] = {}
        """Server parameters reported since the connection was taken over."""
        self.lost: Disconnected | None = None
        """Why the connection is of no more use."""
        self.is_suspect = False
        """Some caller left a LISTEN behind: better not to be used again."""
        self.has_temporary = False
        """Some caller made temporary objects in this session (workers/database/transaction.py)."""
        self.born_at = self.idle_since = self.taken_at = 0.0
        self.holder: str | None = None
        self.patience = Patience()
        self.body_space = BodySpace()
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._reader = wire.Reader()
        self._waiter: asyncio.Future[Reply] | None = None
        self._next: deque[tuple[asyncio.Future[Reply], int, bytes | None]] = deque()
        self._over: Callable[[], None] | None = None
        self._long: LongValue | None = None
        self._body: RowBody | None = None
        self._onlooker: asyncio.Future[None] | None = None
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._backend: tuple[object, object, int, int] | None = None
        self._on_lost: Callable[[Pipeline], None] | None = None
        self._on_notice: Callable[[dict[str, str]], None] | None = None

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        prepared: bool = True,
        timeout: float = 10.0,
        application_name: str = "headwater",
        on_lost: "Callable[[Pipeline], None] | None" = None,
        on_notice: Callable[[dict[str, str]], None] | None = None,
    ) -> Self:
        """Connect to the server of a `postgresql://` URL.

        `prepared=False` parses every statement anew, for poolers between us and the server.
        Raises: Disconnected; ValueError if the URL cannot be read.
        """
        settings = {"application_name": application_name}
        if prepared:  # a pooler in between refuses settings that it does not know
            settings["client_connection_check_interval"] = _CHECK_CLIENT_MS
        connection = await _connected(url, timeout, settings)
        transport: asyncio.Transport = connection._transport  # type: ignore[attr-defined]  # see the module's docstring
        pipeline = cls(transport, prepared)
        pipeline._take_over(connection)
        pipeline._on_lost, pipeline._on_notice = on_lost, on_notice
        return pipeline

    def _take_over(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        """Set our protocol in the place of asyncpg's, which then knows nothing of the connection any more."""
        if connection.is_closed() or self._transport.is_closing():
            raise Disconnected("the server closed the connection")
        private = connection._protocol  # type: ignore[attr-defined]  # see the module's docstring
        address, params = connection._addr, connection._params  # type: ignore[attr-defined]  # the same
        self._backend = (address, params, private.backend_pid, private.backend_secret)
        self._transport.set_protocol(self)
        connection._aborted = True  # type: ignore[attr-defined]  # the same: asyncpg must neither close it nor warn
        line = self._transport.get_extra_info("socket")
        if line is not None and line.family != socket.AF_UNIX:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _KEEPALIVE.items():
                if hasattr(socket, name):
                    line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    @property
    def process_id(self) -> int:
        """Process id of the server's backend."""
        return self._backend[2] if self._backend else 0

    @property
    def is_settled(self) -> bool:
        """Whether the connection lives, nothing runs on it and no transaction is open."""
        return self._waiter is None and self._reader.status == wire.IDLE and self.lost is None

    @property
    def is_busy(self) -> bool:
        """Whether an exchange is under way."""
        return self._waiter is not None

    @property
    def status(self) -> int:
        """Give the state of the transaction: wire.IDLE, IN_TRANSACTION or FAILED."""
        return self._reader.status

    def exchange(
        self, messages: Sequence[bytes], long_in: int = -1, separator: bytes | None = None
    ) -> Awaitable[Reply]:
        """Send messages with one Sync behind them, in one write, and give the answer.

        `long_in` is the number of the result whose first row may end in a long value; with a separator its rows are gathered
        as a body, and the result is `GatheredRows`. Cancelling the caller does not stop the server: see `cancel`.
        Raises: Disconnected; DatabaseError if the server closed the connection with an error.
        """
        return self._send(b"".join([*self.statements.leave(), *messages, wire.SYNC]), long_in, separator)

    def exchange_each(self, parts: Sequence[Part], over: Callable[[], None]) -> None:
        """Send several exchanges in one write: each ends with a Sync, and so is a transaction of its own.

        They are answered in turn; a waiter may be done before, when nobody wants its answer any more. Nothing in them
        may be new to the connection. `over` is called when the last is answered, or the connection is lost.
        Raises: Disconnected.
        """
        self._refuse_if_unfit()
        data = self.statements.leave()
        for part in parts:
            data += part.messages
            data.append(wire.SYNC)
            self._next.append((part.waiter, part.long_in, part.separator))
        self._over = over
        self._turn_to_next()
        self._transport.write(b"".join(data))

    @property
    def unanswered(self) -> int:
        """How many exchanges are under way."""
        return len(self._next) + (self._waiter is not None)

    @property
    def gives_long(self) -> bool:
        """Whether a long value is under way."""
        return self._long is not None

    def forget(self) -> None:
        """Tell nobody any more when what was sent together is over."""
        self._over = None

    def _turn_to_next(self) -> None:
        self._waiter, result, separator = self._next.popleft()
        self._look_in(result, separator)
        if self._body is not None and self._waiter.done():
            self._body.abandon()

    def _look_in(self, result: int, separator: bytes | None) -> None:
        """Say in which result of the next answer a long value may be, or the rows of a body."""
        if separator is None:
            self._reader.long_in = result
        else:
            self._body = RowBody(separator, self.body_space, self._transport)
            self._reader.gather_in, self._reader.gathering = result, self._body

    def _refuse_if_unfit(self) -> None:
        if self.lost is not None:
            raise Disconnected(self.lost.message, self.lost.code)
        if self._waiter is not None:
            raise RuntimeError("an exchange is under way on this connection")

    def command(self, text: str) -> Awaitable[Reply]:
        """Send one simple query, which may hold several commands, and give the answer. Raises: as `exchange`."""
        return self._send(wire.query(text))

    async def _send(self, data: bytes, long_in: int = -1, separator: bytes | None = None) -> Reply:
        self._refuse_if_unfit()
        waiter: asyncio.Future[Reply] = self._loop.create_future()
        self._waiter = waiter
        self._look_in(long_in, separator)
        self._transport.write(data)
        try:
            return await waiter
        except asyncio.CancelledError:
            # The answer may be there: its exception is looked at, so that asyncio does not complain of it.
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None and self._long:
                self._long.abandon()
            if self._waiter is waiter and self._body is not None:
                self._body.abandon()
            raise

    async def cancel(self) -> None:
        """Ask the server, over a connection of its own, to give up what runs; return when it has been told.

        Raises: OSError or Disconnected if it cannot be reached.
        """
        if self._backend is None:
            return
        address, params, process_id, secret = self._backend
        with suppress(ConnectionResetError):  # some servers end the extra connection so: the request was read
            await connect_utils._cancel(  # type: ignore[attr-defined]  # see the module's docstring
                loop=self._loop, addr=address, params=params, backend_pid=process_id, backend_secret=secret
            )

    async def ready(self) -> None:
        """Wait until the exchange under way has ended, one way or the other; another may follow. One waits at a time."""
        if self._waiter is not None:
            self._onlooker = self._loop.create_future()
            await self._onlooker

    def close(self) -> None:
        """Say goodbye and close; an exchange under way fails."""
        if self.lost is None:
            self._transport.write(wire.TERMINATE)
            self._give_up(Disconnected("the connection was closed"))
            self._transport.close()

    async def closed(self) -> None:
        """Wait until a connection that was closed or lost is gone from the event loop, which TLS takes a while for."""
        await asyncio.shield(self._ended)

    def terminate(self, reason: str) -> None:
        """Drop the connection without a word, whatever state it is in."""
        self._give_up(Disconnected(reason))
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read what the server says."""
        reader = self._reader
        while data:
            try:
                is_ready = reader.feed(data)
            except wire.Garbled as error:
                self.terminate(f"the server's answer made no sense: {error}")
                return
            if reader.pieces:
                self._pass_on()
            if reader.asides:
                self._heed_asides()
            if reader.is_copying:
                self._refuse_copy()
                return
            data = b""
            if is_ready:
                data, reader.rest = reader.rest, b""
                self._finish()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail what was under way: with the server's last words, if it had any."""
        if not self._ended.done():
            self._ended.set_result(None)
        if self._reader.failure is not None and self.lost is None:
            error = database_error(read_fields(self._reader.failure))
            self._give_up(Disconnected(error.message, error.code), error)
        else:
            self._give_up(Disconnected("the server closed the connection" if exc is None else str(exc)))

    def _pass_on(self) -> None:
        """Give what came of a long value to its reader; with the first of it, the exchange is answered."""
        reader, waiter = self._reader, self._waiter
        pieces, reader.pieces = reader.pieces, []
        if (long := self._long) is None:
            long = self._long = LongValue(reader.long_size, self._transport, self.terminate, self.patience)
            if waiter is None or waiter.done():
                long.abandon()
            else:
                results = [*reader.results, list(reader.rows)]
                waiter.set_result(Reply(results, None, b"", reader.columns, long))
        long.put(pieces, reader.long_left)

    def _finish(self) -> None:
        reader, waiter, long = self._reader, self._waiter, self._long
        error = None if reader.failure is None else database_error(read_fields(reader.failure))
        if self._body is not None:
            self._end_body(error)
        reply = Reply(reader.results, error, reader.tag, reader.columns, status=self.status)
        self.statements.settle(reader.parsed)
        reader.clear()
        self._waiter = self._long = None
        if self._next:
            self._turn_to_next()
        if self._onlooker is not None:
            self._dismiss_onlooker()
        if long is not None:
            long.end(self._verdict(reply))
        if waiter is not None and not waiter.done():
            waiter.set_result(reply)
        if self._over is not None and self._waiter is None:
            self._say_over()

    def _end_body(self, error: DatabaseError | None) -> None:
        """Put the body to its result, unless the statement failed."""
        reader, body = self._reader, self._body
        self._body = None
        if body is None:
            return
        if error is None and reader.gather_in < len(reader.results):
            reader.results[reader.gather_in] = GatheredRows(reader.results[reader.gather_in], body)
        else:
            body.abandon()

    def _verdict(self, reply: Reply) -> DatabaseError | None:
        """Tell what is wrong with the end of an exchange that gave a long value; None if the value stands.

        The limit of a statement's time goes on while its row is sent, however slowly that is taken. Then the server
        says so behind the whole row. The row was made within its time, and a transaction that only reads has nothing
        else to do: so that is no fault where no end of an explicit transaction was left out by it.
        """
        error = reply.error
        if error is None and (self.status != wire.IDLE or reply.tag == b"ROLLBACK"):
            return broken_off()
        if error is not None and error.code == _CANCELLED and self.status == wire.IDLE:
            return None
        return error

    def _refuse_copy(self) -> None:
        """End the connection: a COPY swallows the Sync that was sent behind it, so there is no clean way back."""
        error = DatabaseError("0A000", "COPY cannot be used here")
        self._give_up(Disconnected("a statement began a COPY"), error)
        self._transport.abort()

    def _give_up(self, reason: Disconnected, error: DatabaseError | None = None) -> None:
        """Mark the connection as lost and tell who waits, once."""
        waiter, self._waiter = self._waiter, None
        if self.lost is not None:
            return
        self.lost = reason
        if waiter is not None and not waiter.done():
            waiter.set_exception(error or Disconnected(reason.message, reason.code))
        for later, _, _ in self._next:
            if not later.done():
                later.set_exception(Disconnected(reason.message, reason.code))
        self._next.clear()
        self._dismiss_onlooker()
        if self._on_lost is not None:
            self._on_lost(self)
        long, self._long = self._long, None
        body, self._body = self._body, None
        if body is not None:
            body.abandon()
        if long is not None:
            long.end(error or Disconnected(reason.message, reason.code))
        if self._over is not None:
            self._say_over()

    def _say_over(self) -> None:
        over, self._over = self._over, None
        if over is not None:
            over()

    def _dismiss_onlooker(self) -> None:
        onlooker, self._onlooker = self._onlooker, None
        if onlooker is not None and not onlooker.done():
            onlooker.set_result(None)

    def _heed_asides(self) -> None:
        for kind, body in self._reader.asides:
            if kind == _PARAMETER:
                name, _, value = body.decode("utf-8", "replace").rstrip("\0").partition("\0")
                self.parameters[name] = value
            elif kind == _NOTIFICATION:
                self.is_suspect = True
            elif self._on_notice is not None:
                self._on_notice(read_fields(body))
        self._reader.asides.clear()


def broken_off() -> DatabaseError:
    """Give the error of a transaction that did not end as asked: what it said it did may not have been kept."""
    return DatabaseError("2D000", "the transaction was begun or ended by one of its own statements")


_CHECK_CLIENT_MS = "500"
"""How often the server looks whether we are still there while a statement runs: the work of a dead worker ends."""


async def _connected(
    url: str, timeout: float, settings: dict[str, str]
) -> "asyncpg.Connection[asyncpg.Record]":
    """Let asyncpg connect; its errors become ours. The URL, which may hold a password, is never repeated."""
    try:
        return await asyncpg.connect(
            url,
            timeout=timeout,
            statement_cache_size=0,
            server_settings=settings,
        )
    except asyncpg.PostgresError as error:
        raise Disconnected(str(error), error.sqlstate) from None
    except (ValueError, asyncpg.InterfaceError) as error:
        if isinstance(error, ValueError):
            raise ValueError("the database URL cannot be read") from None
        raise Disconnected(str(error)) from None
    except TimeoutError:
        raise Disconnected(f"the server did not answer within {timeout:g} seconds") from None
    except OSError as error:
        raise Disconnected(str(error) or type(error).__name__) from None
