"""One connection that sends a whole transaction in one write and reads its whole answer (a pipelined exchange).

How the protocol is pipelined: a client may send any number of Parse, Bind and Execute messages and one Sync after them,
without waiting. The server runs them in order as one implicit transaction (unless a `begin` is among them) and answers each.
After an error it skips all messages up to the Sync, and the implicit transaction is rolled back. ReadyForQuery ends the
answer and reports whether a transaction is still open. Describe is sent only for statements with binary result columns.

- At most one exchange is under way on a connection, or several that were sent together (`exchange_several`); their answers
  arrive in the order of their Syncs, so `_pending` holds the futures of the later ones.
- A caller that is cancelled does not stop the server: the exchange continues until ReadyForQuery. The connection's owner
  checks `is_settled` before it gives the connection to the next caller, and may send a cancel request.
- A connection that broke, or whose server violated the protocol, sets `lost` and is never used again.
- An exchange may be answered before its end by a long value (long_value.py): the connection then stays in use until the
  value's row and all following messages have arrived. Gathered rows (row_body.py) are answered at the end.

Hot path: `begin_exchange`, `data_received`, `_finish`. They run once per transaction; keep them free of extra tasks,
timers and copies.

Source: PostgreSQL, "Frontend/Backend Protocol", 3.0, "Extended Query", "Pipelining".
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Self

from workers.database.errors import DatabaseError, Disconnected, database_error, read_fields
from workers.database.protocol import connecting, frontend_messages
from workers.database.protocol.backend_reader import IDLE, BackendReader
from workers.database.protocol.connecting import ServerBackend
from workers.database.protocol.copied_rows import CopiedRows
from workers.database.protocol.exchange import (
    ExchangeReply,
    PipelinedExchange,
    end_of_session,
    error_after_long_value,
)
from workers.database.protocol.long_value import LongValue, LongValueTimeouts
from workers.database.protocol.prepared_statements import MAX_PREPARED, PreparedStatements
from workers.database.protocol.row_body import BodySpace, GatheredRows, RowBody
from workers.database.protocol.rows import ProtocolViolation

_NOTIFICATION, _PARAMETER = b"AS"


class PostgresConnection(asyncio.Protocol):
    """A connection to the server: `exchange` messages, `cancel` what runs, `close`.

    The pool that owns the connection keeps its own notes here: `opened_at`, `idle_since`, `acquired_at` and `holder` (the
    caller whose share it counts for, None while idle). It also sets `long_value_timeouts` and `body_space`.
    """

    def __init__(self, transport: asyncio.Transport, prepared: bool) -> None:
        self.statements = PreparedStatements(MAX_PREPARED if prepared else 0)
        self.parameters: dict[str, str] = {}
        """Server parameters reported since the connection was taken over."""
        self.lost: Disconnected | None = None
        """Why the connection cannot be used any more; None while it can."""
        self.must_retire = False
        """A caller left a LISTEN behind or the prepared statements are in doubt: close instead of reusing."""
        self.has_temporary = False
        """A caller created temporary objects in this session (transactions/perform.py)."""
        self.was_heard = False
        """Whether the server sent anything since this was last set to False (connection_pool/silence_watch.py)."""
        self.opened_at = self.idle_since = self.acquired_at = 0.0
        self.holder: str | None = None
        self.long_value_timeouts = LongValueTimeouts()
        self.body_space = BodySpace()
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._reader = BackendReader()
        self._waiter: asyncio.Future[ExchangeReply] | None = None
        self._pending: deque[tuple[asyncio.Future[ExchangeReply], int, bytes | None]] = deque()
        self._on_all_answered: Callable[[], None] | None = None
        self._long: LongValue | None = None
        self._body: RowBody | None = None
        self._answer_waiter: asyncio.Future[None] | None = None
        self._transport_closed: asyncio.Future[None] = self._loop.create_future()
        self._backend: ServerBackend | None = None
        self._on_lost: Callable[[PostgresConnection], None] | None = None
        self._on_notice: Callable[[dict[str, str]], None] | None = None

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        prepared: bool = True,
        timeout: float = 10.0,
        application_name: str = "headwater",
        on_lost: "Callable[[PostgresConnection], None] | None" = None,
        on_notice: Callable[[dict[str, str]], None] | None = None,
    ) -> Self:
        """Connect to the server of a `postgresql://` URL.

        `prepared=False` parses every statement for each execution, for poolers that do not keep prepared statements.
        Raises: Disconnected; ValueError if the URL cannot be read.
        """
        connected = await connecting.connect(url, timeout, application_name, checks_client=prepared)
        connection = cls(connecting.transport_of(connected), prepared)
        connection._backend = connecting.replace_protocol(connected, connection)
        connection._on_lost, connection._on_notice = on_lost, on_notice
        return connection

    @property
    def process_id(self) -> int:
        """Process id of the server's backend."""
        return self._backend.process_id if self._backend else 0

    @property
    def is_settled(self) -> bool:
        """Whether the connection can be used for the next exchange: not lost, no exchange under way, no open transaction."""
        return self._waiter is None and self._reader.status == IDLE and self.lost is None

    @property
    def is_busy(self) -> bool:
        """Whether an exchange is under way."""
        return self._waiter is not None

    @property
    def status(self) -> int:
        """Transaction status: IDLE, IN_TRANSACTION or FAILED (backend_reader.py)."""
        return self._reader.status

    async def exchange(
        self, messages: Sequence[bytes], result: int = -1, separator: bytes | None = None
    ) -> ExchangeReply:
        """Send messages and one Sync in one write, and return the answer.

        `result` is the index of the result whose first row may end in a long value; with a `separator` the rows of that
        result are gathered as a body instead, and the result is `GatheredRows`. Cancelling the caller does not stop the
        server: see `cancel`.
        Raises: Disconnected, SessionEnded; DatabaseError if the server ended the session with an error after a first result.
        """
        return await self._reply(self.begin_exchange(messages, result, separator))

    def copy_out(self, messages: Sequence[bytes]) -> tuple[CopiedRows, Awaitable[ExchangeReply]]:
        """Send messages that run one COPY TO STDOUT; return its rows, and the reply that comes behind them.

        Whoever does not read all rows abandons them. The answer is awaited or cancelled. Raises, where it is awaited: as `exchange`.
        """
        copied = CopiedRows(self._transport)
        return copied, self._copy_out(messages, copied)

    async def _copy_out(self, messages: Sequence[bytes], copied: CopiedRows) -> ExchangeReply:
        try:
            self._check_is_usable()
            self._reader.copy_sink = copied
            return await self.exchange(messages)
        except asyncio.CancelledError:
            copied.abandon()
            raise
        finally:
            copied.end()

    def exchange_several(
        self, exchanges: Sequence[PipelinedExchange], on_all_answered: Callable[[], None]
    ) -> None:
        """Send several exchanges in one write. Each ends with its own Sync, so each is a transaction of its own.

        Replies arrive in order. A waiter may be done before its reply if its caller gave up. All statements must already be
        prepared on this connection. `on_all_answered` is called after the last reply, or when the connection is lost.
        Raises: Disconnected.
        """
        self._check_is_usable()
        data = self.statements.take_due_closes()
        for exchange in exchanges:
            data += exchange.messages
            data.append(frontend_messages.SYNC)
            self._pending.append((exchange.waiter, exchange.result, exchange.separator))
        self._on_all_answered = on_all_answered
        self._start_next_pending()
        self._transport.write(b"".join(data))

    @property
    def unanswered(self) -> int:
        """Number of exchanges under way."""
        return len(self._pending) + (self._waiter is not None)

    @property
    def is_sending_long_value(self) -> bool:
        """Whether a long value is arriving."""
        return self._long is not None

    def drop_callback(self) -> None:
        """Do not call `on_all_answered` of the exchanges that were sent together."""
        self._on_all_answered = None

    def _start_next_pending(self) -> None:
        self._waiter, result, separator = self._pending.popleft()
        self._prepare_reader(result, separator)
        if self._body is not None and self._waiter.done():
            self._body.abandon()

    def _prepare_reader(self, result: int, separator: bytes | None) -> None:
        """Set in the reader which result of the next answer may have a long value, or rows to gather."""
        if separator is None:
            self._reader.long_value_result = result
        else:
            self._body = RowBody(separator, self.body_space, self._transport)
            self._reader.gathered_result, self._reader.row_sink = result, self._body

    def _check_is_usable(self) -> None:
        if self.lost is not None:
            raise Disconnected(self.lost.message, self.lost.code)
        if self._waiter is not None:
            raise RuntimeError("an exchange is under way on this connection")

    async def command(self, text: str) -> ExchangeReply:
        """Send one simple query, which may contain several commands, and return the answer. Raises: as `exchange`."""
        return await self._reply(self._begin(frontend_messages.query(text)))

    def begin_exchange(
        self, messages: Sequence[bytes], result: int = -1, separator: bytes | None = None
    ) -> "asyncio.Future[ExchangeReply]":
        """Do what `exchange` does, without a coroutine. Hot path.

        If the task that awaits the future is cancelled, it must call `give_up_reply`. Raises, here or where the future is awaited: as `exchange`.
        """
        closes = self.statements.take_due_closes()
        return self._begin(b"".join([*closes, *messages, frontend_messages.SYNC]), result, separator)

    def give_up_reply(self, waiter: "asyncio.Future[ExchangeReply]") -> None:
        """Drop the reply of `begin_exchange`, which may have arrived in the loop iteration in which its caller was cancelled."""
        # `exception()` is read so that asyncio does not log it as never retrieved.
        if waiter.done() and not waiter.cancelled() and waiter.exception() is None and self._long:
            self._long.abandon()
        if self._waiter is waiter and self._body is not None:
            self._body.abandon()

    def _begin(
        self, data: bytes, result: int = -1, separator: bytes | None = None
    ) -> "asyncio.Future[ExchangeReply]":
        """Send bytes that end with a Sync, and return the future of the answer. Raises: Disconnected."""
        self._check_is_usable()
        waiter: asyncio.Future[ExchangeReply] = self._loop.create_future()
        self._waiter = waiter
        self._prepare_reader(result, separator)
        self._transport.write(data)
        return waiter

    async def _reply(self, waiter: "asyncio.Future[ExchangeReply]") -> ExchangeReply:
        try:
            return await waiter
        except asyncio.CancelledError:
            self.give_up_reply(waiter)
            raise

    async def cancel(self) -> None:
        """Send a cancel request on another connection; return once the server has read it.

        The request may arrive after the statement has ended, and then cancels the next one on this connection.
        Raises: OSError or Disconnected if the server cannot be reached.
        """
        if self._backend is not None:
            await self._backend.cancel()

    async def wait_for_answer(self) -> None:
        """Wait until the exchange under way has ended, with or without an error; the next may follow. One caller at a time."""
        if self._waiter is not None:
            self._answer_waiter = self._loop.create_future()
            await self._answer_waiter

    def close(self) -> None:
        """Send Terminate and close; an exchange under way fails."""
        if self.lost is None:
            self._transport.write(frontend_messages.TERMINATE)
            self._set_lost(Disconnected("the connection was closed"))
            self._transport.close()

    async def closed(self) -> None:
        """Wait until the transport of a closed or lost connection has left the event loop, which takes a while with TLS."""
        await asyncio.shield(self._transport_closed)

    def terminate(self, reason: str | Disconnected) -> None:
        """Abort the connection without Terminate, in any state."""
        self._set_lost(Disconnected(reason) if isinstance(reason, str) else reason)
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read messages of the server. One call may contain the ends of several answers (`exchange_several`)."""
        reader = self._reader
        self.was_heard = True
        while data:
            try:
                is_ready = reader.feed(data)
            except ProtocolViolation as error:
                self.terminate(f"the server violated the protocol: {error}")
                return
            if reader.long_pieces:
                self._pass_long_pieces()
            if reader.async_messages:
                self._handle_async_messages()
            if reader.is_copying:
                self._reject_copy()
                return
            data = b""
            if is_ready:
                data, reader.remaining = reader.remaining, b""
                self._finish()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail what was under way, with the server's last error if it sent one."""
        if not self._transport_closed.done():
            self._transport_closed.set_result(None)
        self._set_lost(*end_of_session(self._reader, exc))

    def _pass_long_pieces(self) -> None:
        """Pass arrived pieces to the long value's reader; the first ones also answer the exchange."""
        reader, waiter = self._reader, self._waiter
        pieces, reader.long_pieces = reader.long_pieces, []
        if (long := self._long) is None:
            long = self._long = LongValue(
                reader.long_size, self._transport, self.terminate, self.long_value_timeouts
            )
            if waiter is None or waiter.done():
                long.abandon()
            else:
                results = [*reader.results, list(reader.rows)]
                waiter.set_result(ExchangeReply(results, None, b"", reader.columns, long))
        long.put(pieces, reader.long_left)

    def _finish(self) -> None:
        """Answer the exchange whose ReadyForQuery has arrived and turn to the next one."""
        reader, waiter, long = self._reader, self._waiter, self._long
        error = None if reader.failure is None else database_error(read_fields(reader.failure))
        if (body := self._body) is not None:
            self._body = None
            if error is None and reader.gathered_result < len(reader.results):
                rows = reader.results[reader.gathered_result]
                reader.results[reader.gathered_result] = GatheredRows(rows, body)
            else:  # the statement failed
                body.abandon()
        reply = ExchangeReply(reader.results, error, reader.tag, reader.columns, None, reader.status)
        self.statements.confirm_parsed(reader.parsed)
        reader.clear()
        # Turn to the next exchange before any callback runs, because callbacks may send.
        self._waiter = self._long = None
        if self._pending:
            self._start_next_pending()
        if self._answer_waiter is not None:
            self._wake_answer_waiter()
        if long is not None:
            long.end(error_after_long_value(reply))
        if waiter is not None and not waiter.done():
            waiter.set_result(reply)
        if self._on_all_answered is not None and self._waiter is None:
            self._call_all_answered()

    def _reject_copy(self) -> None:
        """Abort the connection. A COPY swallows the Sync that was already sent, so the exchange cannot be ended cleanly."""
        error = DatabaseError("0A000", "COPY cannot be used here")
        self._set_lost(Disconnected("a statement began a COPY"), error)
        self._transport.abort()

    def _set_lost(self, reason: Disconnected, error: DatabaseError | None = None) -> None:
        """Mark the connection as lost and fail every waiter, once."""
        waiter, self._waiter = self._waiter, None
        if self.lost is not None:
            return
        self.lost = reason
        if waiter is not None and not waiter.done():
            waiter.set_exception(error or type(reason)(reason.message, reason.code))
        for pending, _, _ in self._pending:
            if not pending.done():
                pending.set_exception(type(reason)(reason.message, reason.code))
        self._pending.clear()
        self._wake_answer_waiter()
        if self._on_lost is not None:
            self._on_lost(self)
        long, self._long = self._long, None
        body, self._body = self._body, None
        if body is not None:
            body.abandon()
        if long is not None:
            long.end(error or Disconnected(reason.message, reason.code))
        if self._on_all_answered is not None:
            self._call_all_answered()

    def _call_all_answered(self) -> None:
        callback, self._on_all_answered = self._on_all_answered, None
        if callback is not None:
            callback()

    def _wake_answer_waiter(self) -> None:
        waiter, self._answer_waiter = self._answer_waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _handle_async_messages(self) -> None:
        for kind, body in self._reader.async_messages:
            if kind == _PARAMETER:
                name, _, value = body.decode("utf-8", "replace").rstrip("\0").partition("\0")
                self.parameters[name] = value
            elif kind == _NOTIFICATION:
                self.must_retire = True
            elif self._on_notice is not None:
                self._on_notice(read_fields(body))
        self._reader.async_messages.clear()
