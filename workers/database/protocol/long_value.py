"""A long value of a row that is read while it arrives.

    connection --put, end--> LongValue --async iteration--> reader (the body of a response)

- Flat memory: while more than `MAX_BUFFERED` bytes wait for the reader, the connection's transport is paused.
- The last piece is held back until the server has reported that the transaction ended without an error. So a reader that
  received every byte has a valid value, and a reader that gets an error has received less than `size` bytes.
- The connection stays in use until all of the value has arrived. A reader that takes nothing for
  `LongValueTimeouts.idle` seconds although bytes are available loses the value, and the connection is closed.
- After `abandon` the rest is read and thrown away, and the connection returns to the pool; if more than `MAX_DRAINED`
  bytes are still to arrive, the connection is closed instead. Cancelling the statement would not help: a row is one
  message, and the server sends it to its end.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from workers.database.errors import Disconnected

MAX_BUFFERED = 512 * 1024
"""Bytes that may wait for the reader before the transport is paused."""
MAX_DRAINED = 8 << 20
"""Bytes that are read and thrown away rather than opening a new connection, which takes about as long."""

_PIECE = 256 * 1024
"""Small pieces are joined up to this many bytes."""


@dataclass(frozen=True, slots=True)
class LongValueTimeouts:
    """How long a long value may occupy its connection, in seconds."""

    idle: float = 10.0
    """While bytes are available and the reader takes none."""
    after_abandon: float = 5.0
    """After the value was abandoned."""


class LongValue:
    """An asynchronous iterator over the pieces of a value of `size` bytes. Read it to its end, or close it.

    Iteration raises Disconnected or DatabaseError if the value does not arrive completely. `drop` closes the connection.
    """

    def __init__(
        self,
        size: int,
        transport: asyncio.Transport,
        drop: Callable[[str], None],
        timeouts: LongValueTimeouts,
    ) -> None:
        self.size = size
        self._transport = transport
        self._drop = drop
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self._coming = size
        self._buffered: deque[bytes] = deque()
        self._buffered_size = 0
        self._is_over = False
        self._failure: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._on_over: Callable[[], None] | None = None
        self._taken_at = self._loop.time()
        self._timer = self._loop.call_later(timeouts.idle, self._check_reader)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the next piece. Raises: Disconnected, DatabaseError."""
        while True:
            if self._failure is not None:
                raise self._failure
            if piece := self._take():
                return piece
            if self._is_over:
                raise StopAsyncIteration
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    async def aclose(self) -> None:
        """Stop reading. Does nothing if all was read."""
        self.abandon()

    def abandon(self) -> None:
        """Stop reading: the rest is read and thrown away, or the connection is closed."""
        if self._failure is None:
            self._fail(Disconnected("the value was abandoned"))
            if self._is_over:
                return
            if self._coming > MAX_DRAINED:
                self._drop("the reader of a long value went away")
            else:
                self._timer.cancel()
                self._timer = self._loop.call_later(
                    self._timeouts.after_abandon,
                    self._drop,
                    "a long value did not end in time after it was abandoned",
                )
                self._resume()

    def when_over(self, call: Callable[[], None]) -> None:
        """Call back once the connection is free again, or lost."""
        if self._is_over:
            call()
        else:
            self._on_over = call

    # Called by the connection

    def put(self, pieces: list[bytes], coming: int) -> None:
        """Add pieces that arrived; `coming` bytes have not arrived yet."""
        self._coming = coming
        if self._failure is not None:
            return
        if not self._buffered:
            self._taken_at = self._loop.time()
        self._buffered += pieces
        self._buffered_size += sum(map(len, pieces))
        if coming and self._buffered_size > MAX_BUFFERED and not self._transport.is_closing():
            self._transport.pause_reading()
        self._wake()

    def end(self, failure: Exception | None) -> None:
        """Note that the exchange has ended; `failure` makes the value invalid, None makes it valid."""
        if self._is_over:
            return
        self._resume()  # TLS delivers what it has already read even while reading is paused, so the end may arrive in a pause
        self._is_over = True
        self._timer.cancel()
        if failure is not None and self._failure is None:
            self._fail(failure)
        self._wake()
        if self._on_over is not None:
            self._on_over()

    # Internal

    def _take(self) -> bytes:
        """Take the bytes that may be passed on now, up to `_PIECE` joined bytes; b"" if there are none."""
        buffered, pieces, size = self._buffered, list[bytes](), 0
        # The last piece waits for the end of the transaction.
        held_back = 1 if self._coming == 0 and not self._is_over else 0
        while len(buffered) > held_back and (not pieces or size + len(buffered[0]) <= _PIECE):
            pieces.append(buffered.popleft())
            size += len(pieces[-1])
        if pieces:
            self._taken_at = self._loop.time()
            self._buffered_size -= size
            if self._buffered_size <= MAX_BUFFERED // 2:
                self._resume()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _resume(self) -> None:
        if not self._is_over and not self._transport.is_closing():
            self._transport.resume_reading()

    def _fail(self, failure: Exception) -> None:
        self._failure = failure
        self._buffered.clear()
        self._buffered_size = 0
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _check_reader(self) -> None:
        """Fail the value if its reader has taken nothing for too long although bytes were available."""
        limit, left = self._timeouts.idle, self._timeouts.idle
        if self._buffered and self._waiter is None:
            left -= self._loop.time() - self._taken_at
        if left > 0:
            self._timer = self._loop.call_later(left, self._check_reader)
            return
        reason = f"the reader of a long value took nothing for {limit:g} s"
        self._fail(Disconnected(reason))
        self._drop(reason)
