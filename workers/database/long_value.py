"""A value that is taken while it arrives: between the connection that brings it and who reads it.

- Flat memory: when more than `HOLD` bytes wait to be taken, nothing more is read from the connection until they are.
- The last piece is given only when the server has said that the transaction ended well. So a reader that has seen
  every byte has a value that stands, and one that meets an error has less than `size` bytes.
- The connection is in use until the server has said all of it. Who takes nothing for `patience` seconds although there
  is something to take loses the value, and the connection is closed: a slow reader may not keep it for ever.
- An abandoned value gives its connection back when the rest is in, which is read and thrown away; if more than
  `DRAINED` bytes are to come, the connection is closed. To cancel the statement would not help: its row is one message
  that the server sends to its end.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from workers.database.errors import Disconnected

HOLD = 512 * 1024
"""Bytes that may wait to be taken before reading pauses."""
DRAINED = 8 << 20
"""Bytes that are read for nothing rather than making a new connection, which takes about as long."""

_PIECE = 256 * 1024
"""Bytes up to which small pieces are given as one."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a long value may keep its connection, in seconds."""

    reader: float = 10.0
    """Without anything being taken."""
    rest: float = 5.0
    """After it was abandoned."""


class LongValue:
    """An asynchronous iterator over the pieces of a value of `size` bytes; to be read to its end, or closed.

    Iteration raises Disconnected or DatabaseError when the value does not come to its end. `drop` closes the connection.
    """

    def __init__(
        self, size: int, transport: asyncio.Transport, drop: Callable[[str], None], patience: Patience
    ) -> None:
        self.size = size
        self._transport = transport
        self._drop = drop
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._coming = size
        self._held: deque[bytes] = deque()
        self._held_size = 0
        self._is_over = False
        self._failure: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._at_end: Callable[[], None] | None = None
        self._taken_at = self._loop.time()
        self._timer = self._loop.call_later(patience.reader, self._look)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Give the next piece. Raises: Disconnected, DatabaseError."""
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
        """Read no more. Harmless when all was read."""
        self.abandon()

    def abandon(self) -> None:
        """Say that nobody wants the rest of it."""
        if self._failure is None:
            self._fail(Disconnected("the value is not wanted any more"))
            if self._is_over:
                return
            if self._coming > DRAINED:
                self._drop("the reader of a long value went away")
            else:
                self._timer.cancel()
                self._timer = self._loop.call_later(
                    self._patience.rest, self._drop, "a long value did not end"
                )
                self._resume()

    def when_over(self, call: Callable[[], None]) -> None:
        """Have something called when the connection is free again, or lost."""
        if self._is_over:
            call()
        else:
            self._at_end = call

    # The connection's side

    def put(self, pieces: list[bytes], coming: int) -> None:
        """Add what has come; `coming` bytes have not."""
        self._coming = coming
        if self._failure is not None:
            return
        if not self._held:
            self._taken_at = self._loop.time()
        self._held += pieces
        self._held_size += sum(map(len, pieces))
        if coming and self._held_size > HOLD and not self._transport.is_closing():
            self._transport.pause_reading()
        self._wake()

    def end(self, failure: Exception | None) -> None:
        """Say that the exchange has ended: well, or with a failure that makes the value worthless."""
        if self._is_over:
            return
        self._resume()  # TLS gives what it has read even while reading is paused, so the end may come in a pause
        self._is_over = True
        self._timer.cancel()
        if failure is not None and self._failure is None:
            self._fail(failure)
        self._wake()
        if self._at_end is not None:
            self._at_end()

    # Within

    def _take(self) -> bytes:
        """Take what may be given of what is there, up to a piece's size; nothing if that is nothing."""
        held, taken, size = self._held, list[bytes](), 0
        kept = 1 if self._coming == 0 and not self._is_over else 0  # the last one waits for the end
        while len(held) > kept and (not taken or size + len(held[0]) <= _PIECE):
            taken.append(held.popleft())
            size += len(taken[-1])
        if taken:
            self._taken_at = self._loop.time()
            self._held_size -= size
            if self._held_size <= HOLD // 2:
                self._resume()
        return taken[0] if len(taken) == 1 else b"".join(taken)

    def _resume(self) -> None:
        if not self._is_over and not self._transport.is_closing():
            self._transport.resume_reading()

    def _fail(self, failure: Exception) -> None:
        self._failure = failure
        self._held.clear()
        self._held_size = 0
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _look(self) -> None:
        """Give the reader up if it has taken nothing for too long, though there was something."""
        limit, left = self._patience.reader, self._patience.reader
        if self._held and self._waiter is None:
            left -= self._loop.time() - self._taken_at
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
            return
        reason = f"the reader of a long value took nothing for {limit:g} s"
        self._fail(Disconnected(reason))
        self._drop(reason)
